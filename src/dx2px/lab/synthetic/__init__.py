"""Synthetic cohorts with a planted truth.

Every stay is synthetic: there is no patient behind it. Its diagnoses come in co-morbidity groups, its procedures from a
known relation between diagnoses and procedures, and the cause of each procedure is recorded, with the probability of
every other possible cause. So one can measure whether an explanation finds the true causes. A core of the links is
written by hand and the rest drawn among those that make medical sense, so that examples are readable; their strengths
are no hospital's.

    core, practice, sense ─▶ lexicon ─▶ comorbidity, relation ─▶ world ─▶ persons, stays ─▶ truth ─▶ synthesis
"""

from dx2px.lab.synthetic.config import PRESETS, SyntheticConfig
from dx2px.lab.synthetic.synthesis import SyntheticSummary, generate, synthesize
from dx2px.lab.synthetic.truth import Truth, causes_path, links_path

__all__ = [
    "PRESETS",
    "SyntheticConfig",
    "SyntheticSummary",
    "Truth",
    "causes_path",
    "generate",
    "links_path",
    "synthesize",
]
