"""The model card: what a model was made from and how well it does, for people.

Its numbers are those of the entry `measured` in config.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dx2px.cohort import Cohort, CohortStream, Split
from dx2px.scoring.reliability import TOP
from dx2px.scoring.subgroups import SMALLEST, Subgroup
from dx2px.training.recommender import Recommender
from dx2px.version import __version__

FACT_NAMES = {
    "principal": "the principal diagnosis",
    "age": "the age, in bands",
    "sex": "the sex",
    "admission": "the type of admission",
}
_EXTERNAL, _LIMITS = "## External validation", "## Limits"
LIMITS = f"""\
{_LIMITS}

- The model reproduces coding habits in the data it learned from. Codes are written for billing, after the stay: it
  predicts what was coded, not what a patient needs. It is a research tool and gives no medical advice.
- A probability is the share of similar pairs of stay and procedure that were coded in this data. Elsewhere habits
  differ: measure it again (`dx2px evaluate`) before you rely on it.
- It knows only the codes of its vocabulary (known siblings stand in for others, and are marked), and nothing of
  {{unseen}}.
- Attention weights and transport plans describe the model, not the causes of a patient's treatment.
"""


def model_card(
    cohort: Cohort | CohortStream,
    method: Recommender,
    split: Split,
    learned: int,
    measured: Mapping[str, Any],
    groups: Sequence[Subgroup] = (),
    notes: str = "",
    facts: Sequence[str] | None = None,
) -> str:
    """The card as Markdown.

    Args:
        cohort: The cohort that the model was made from.
        method: The trained method.
        split: How the cohort was split.
        learned: Number of stays that it learned from.
        measured: Of the test part, as `dx2px.scoring.measured.measured_record` gives it.
        groups: How it does for groups of the test stays.
        notes: A text for the head of the card.
        facts: What it takes besides diagnoses and coded procedures; None if it takes only diagnoses.
    """
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
            f"{len(cohort.procedure_vocabulary):,} procedures. Learned from {learned:,} stays; "
            f"{measured['stays']:,} stays, held out by {split.by}, were the test.",
            "",
            "## Settings",
            "",
            *(f"- {name}: {_shown(value)}" for name, value in method.settings().items()),
            "",
            *_evidence_section(facts),
            *_test_section(measured),
            *_calibration_section(measured["calibration"]),
            *_subgroup_section(groups, facts or ()),
            LIMITS.format(unseen=_unseen(facts or ())),
        ]
    )


def with_external(card: str, lines: Sequence[Mapping[str, Any]]) -> str:
    """The card with how the model does elsewhere, as the entry `measured.external` says it, before its limits."""
    head, _, limits = card.partition(_LIMITS)
    head = head.partition(_EXTERNAL)[0]
    return head + "\n".join(_external_section(lines)) + _LIMITS + limits


def _external_section(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """How the model does on stays of other sources, as it is."""
    if not lines:
        return []
    tops = list(lines[0]["f1"])
    heads = ["cohort", "stays", *(f"F1@{top} %" for top in tops), "gap, points (by chance)", "verdict"]
    rows = [
        [
            line["cohort"],
            f"{line['stays']:,}",
            *(f"{line['f1'][top]:.1f}" for top in tops),
            _gap(line["gap"], line["gap_by_chance"]),
            line["verdict"],
        ]
        for line in lines
    ]
    table = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return [
        _EXTERNAL,
        "",
        "The model as it is, on stays of other sources. Known siblings stand in for diagnoses that it does not know; "
        "F1 is of what it can answer. The gap is the mean distance between predicted and observed, procedure by "
        "procedure, among probabilities of 30% and more.",
        "",
        table[0],
        "|---" * len(heads) + "|",
        *table[1:],
        "",
        "",
    ]


def _gap(mean: float | None, by_chance: float | None) -> str:
    return "–" if mean is None or by_chance is None else f"{100 * mean:.1f} ({100 * by_chance:.1f})"


def _evidence_section(facts: Sequence[str] | None) -> list[str]:
    """What the model takes besides diagnoses."""
    if facts is None:
        return []
    taken = ["procedures that are coded already", *(FACT_NAMES[name] for name in facts)]
    return [
        "## Evidence",
        "",
        "Besides diagnoses the model takes what is known of a stay:",
        "",
        *(f"- {name}" for name in taken),
        "",
    ]


def _test_section(measured: Mapping[str, Any]) -> list[str]:
    """Recall, precision and F1; beside them the F1 from diagnoses alone, if it was measured."""
    codes = measured.get("codes")
    heads = [
        "top",
        "recall %",
        "precision %",
        "F1 %",
        *([] if codes is None else ["F1 % from diagnoses alone"]),
    ]
    reading = "Means over the test stays."
    if codes is not None:
        reading += " No procedure counted as coded already; all else that is known of a stay was used."
    rows = [
        [top, *(f"{rates[name]:.1f}" for name in ("recall", "precision", "f1"))]
        + ([] if codes is None else [f"{codes[top]['f1']:.1f}"])
        for top, rates in measured["top"].items()
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return ["## Test", "", reading, "", lines[0], "|---" * len(heads) + "|", *lines[1:], ""]


def _unseen(facts: Sequence[str]) -> str:
    """What the model knows nothing of."""
    return ", ".join([*(name for name in ("age", "sex") if name not in facts), "place or time"])


def _subgroup_section(groups: Sequence[Subgroup], facts: Sequence[str]) -> list[str]:
    """How well the model does for groups of the test stays."""
    if not groups:
        return []
    seen = [name for name in dict.fromkeys(one.column for one in groups) if name in facts]
    sight = f"sees {', '.join(seen)}, but no other" if seen else "sees none"
    return [
        "## Groups of stays",
        "",
        f"Groups of the test stays; ± is half of a 90 % interval. Groups of fewer than {SMALLEST} stays are left out.",
        f"The model {sight} of these columns: differences show where what it sees says more, or less, about what is "
        "done.",
        "",
        "| column | group | stays | F1@5 % | recall@10 % |",
        "|---|---|---|---|---|",
        *(
            f"| {one.column} | {one.group} | {one.stays:,} | {one.f1:.1f} ± {one.f1_margin:.1f} | {one.recall:.1f} |"
            for one in groups
        ),
        "",
    ]


def _calibration_section(trust: Mapping[str, Any]) -> list[str]:
    """Whether the probabilities mean what they say, and the sets hold what they should, on the test stays."""
    sets = (f"{one['target']:.0%} → {one['recall']:.1%} ({one['set_size']:.1f})" for one in trust["coverage"])
    return [
        "## Calibration",
        "",
        "| pairs of stay and procedure | expected calibration error | slope |",
        "|---|---|---|",
        _agreement("all", trust["all"]),
        _agreement(f"the first {TOP} per stay", trust[f"top{TOP}"]),
        "",
        "Share of a stay's procedures that a set should hold → holds on average (procedures in the set): "
        f"{', '.join(sets)}.",
        "",
        *_procedures_section(trust["procedures"]),
    ]


def _procedures_section(found: Mapping[str, Any]) -> list[str]:
    """Whether the probabilities are right procedure by procedure."""
    lines = [f"Log loss per stay {found['log_loss']:.3f}, Brier score per stay {found['brier']:.3f}."]
    if found["measured"]:
        mean, wide, chance = (100 * found[name] for name in ("mean_gap", "p90_gap", "by_chance"))
        lines.append(
            f"Procedure by procedure, among probabilities of {found['noticed_from']:.0%} and more, predicted and "
            f"observed differ by {mean:.1f} points on average and by {wide:.1f} or less in nine of ten "
            f"({found['measured']} procedures with {found['least_stays']} such stays or more; {chance:.1f} points "
            "would be chance)."
        )
    if found["expected_over_observed"] is not None and found["ratio_by_chance"] is not None:
        ratios, chance = (
            f"{low:.2f} to {high:.2f}"
            for low, high in (found["expected_over_observed"], found["ratio_by_chance"])
        )
        lines.append(
            f"Expected over observed number of stays, 5 to 95 % of {found['counted']} procedures: {ratios} "
            f"({chance} would be chance)."
        )
    return [" ".join(lines), ""]


def _agreement(pairs: str, one: Mapping[str, Any]) -> str:
    return f"| {pairs} | {one['ece']:.4f} | {'–' if one['slope'] is None else format(one['slope'], '.2f')} |"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value)
