"""The model card: what a model was made from and how well it did, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dx2px.cohort import Cohort, CohortStream, Split
from dx2px.evaluation.metrics import Metrics
from dx2px.evaluation.reliability import TOP, Agreement, Reliability
from dx2px.evaluation.subgroups import SMALLEST, Subgroup
from dx2px.training.recommender import Recommender
from dx2px.version import __version__

LIMITS = """\
## Limits

- The model reproduces coding habits in the data it learned from. Codes are written for billing, after the stay: it
  predicts what was coded, not what a patient needs. It is a research tool and gives no medical advice.
- A probability is the share of like pairs of stay and procedure that were coded in this data. Elsewhere, where other
  habits hold, it must be measured anew (`dx2px evaluate`) before it is believed.
- It knows only the codes of its vocabulary (known siblings stand in for others, marked), and nothing of age, sex, place
  or time.
- Attention weights and transport plans describe the model, not the causes of a patient's treatment.
"""


def model_card(
    cohort: Cohort | CohortStream,
    method: Recommender,
    split: Split,
    learned: int,
    test: Metrics,
    trust: Reliability,
    groups: Sequence[Subgroup] = (),
    notes: str = "",
) -> str:
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
            *([notes, ""] if notes else []),
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
            *calibration_section(trust),
            *subgroup_section(groups),
            LIMITS,
        ]
    )


def subgroup_section(groups: Sequence[Subgroup]) -> list[str]:
    """How well it does for groups of the test stays."""
    if not groups:
        return []
    return [
        "## Groups of stays",
        "",
        f"Of the test part; ± is half of a 90 % interval. Groups below {SMALLEST} stays are left out. The model is not",
        "told these columns: differences show where diagnoses say more, or less, of what is done.",
        "",
        "| column | group | stays | F1@5 % | recall@10 % |",
        "|---|---|---|---|---|",
        *(
            f"| {one.column} | {one.group} | {one.stays:,} | {one.f1:.1f} ± {one.f1_margin:.1f} | {one.recall:.1f} |"
            for one in groups
        ),
        "",
    ]


def calibration_section(trust: Reliability) -> list[str]:
    """Whether its probabilities mean what they say, and its sets hold what they should, on the test stays."""
    sets = (f"{one.target:.0%} → {one.recall:.1%} ({one.set_size:.1f})" for one in trust.coverage)
    return [
        "## Calibration",
        "",
        "| pairs of stay and procedure | expected calibration error | slope |",
        "|---|---|---|",
        _agreement("all", trust.all),
        _agreement(f"the {TOP} most probable of each stay", trust.top),
        "",
        f"Share of a stay's procedures asked of a set → held, on average (procedures in the set): {', '.join(sets)}.",
        "",
    ]


def _agreement(pairs: str, one: Agreement) -> str:
    return f"| {pairs} | {one.ece:.4f} | {'–' if one.slope is None else format(one.slope, '.2f')} |"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value)
