"""The model card: what a model was made from and how well it did, for people."""

from __future__ import annotations

from typing import Any

from dx2px.cohort import Cohort, Split
from dx2px.evaluation.metrics import Metrics
from dx2px.training.recommender import Recommender
from dx2px.version import __version__

LIMITS = """\
## Limits

- The model reproduces coding habits in the data it learned from. Codes are written for billing, after the stay: it
  predicts what was coded, not what a patient needs. It is a research tool and gives no medical advice.
- Its scores rank procedures; they are not probabilities of a procedure.
- It knows only the codes of its vocabulary, and nothing of age, sex, place or time.
- Attention weights and transport plans describe the model, not the causes of a patient's treatment.
"""


def model_card(cohort: Cohort, method: Recommender, split: Split, learned: int, test: Metrics) -> str:
    """The card as Markdown. Test numbers are means over the stays of the test part, in per cent."""
    rows = [
        f"| {L} | {test.mean('recall')[L]:.1f} | {test.mean('precision')[L]:.1f} | {test.mean('f1')[L]:.1f} |"
        for L in test.at
    ]
    source = cohort.provenance.get("source", "unknown")
    return "\n".join(
        [
            f"# Model card: {method.method}",
            "",
            f"Made by dx2px {__version__}. Recommends ICD procedures for the diagnoses of a hospital stay.",
            "",
            "## Data",
            "",
            f"Source `{source}`: {len(cohort):,} stays, {len(cohort.diagnosis_vocabulary):,} diagnoses, "
            f"{len(cohort.procedure_vocabulary):,} procedures. Learned from {learned:,} stays; {len(test):,} stays, "
            f"held out by {split.by}, were the test.",
            "",
            "## Settings",
            "",
            *(f"- {name}: {_shown(value)}" for name, value in method.settings().items()),
            "",
            "## Test",
            "",
            "| top | recall % | precision % | F1 % |",
            "|---|---|---|---|",
            *rows,
            "",
            LIMITS,
        ]
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value)
