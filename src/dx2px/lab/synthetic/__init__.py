"""Synthetic cohorts with a planted truth.

Every stay is synthetic: there is no patient behind it. Its diagnoses come in co-morbidity groups, its procedures from a
known relation between diagnoses and procedures, and the cause of each procedure is recorded, with the probability of
every other possible cause. So one can measure whether an explanation finds the true causes. The links are planted for
measuring; they are not medicine, though a core of them follows everyday practice to keep examples readable.

    core, practice ─▶ lexicon ─▶ comorbidity, relation ─▶ world ─▶ stays ─▶ truth ─▶ synthesis
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
