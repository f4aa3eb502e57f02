"""The words of an explanation's figure, on paper and on a page: names of codes, of the plan, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from dx2px.codes import dotted
from dx2px.errors import CodeError
from dx2px.inference import Diagnosis, Explanation, PlanKind

HEADING = "What leads to what"
PLAN_NAMES: dict[PlanKind, str] = {
    "coupling": "the model's own coupling π",
    "transport": "the paper's transport plan T",
    "penalised-transport": "the model's own transport plan, with marginal penalties",
    "leave-one-out": "falls of the scores without a diagnosis",
}
PARTLY = "The strong part of a bar goes to the procedures shown."


@dataclass(frozen=True)
class Row:
    """A diagnosis that counts, with what to say beside its title, if anything."""

    code: str
    title: str
    note: str
    significance: float


def rows_of(explanation: Explanation) -> list[Row]:
    """The rows of the plan, in its order."""
    return [
        Row(shown_code(one.code), one.title, _note(one), one.significance)
        for one in explanation.diagnoses
        if one.status != "unknown"
    ]


def shown_code(code: str) -> str:
    """As people write it; what is no code stays as it was typed."""
    try:
        return dotted(code)
    except CodeError:
        return code


def subtitle(explanation: Explanation) -> str:
    """Which plan of which method."""
    return f"{PLAN_NAMES[explanation.plan.kind]} · method {explanation.source.method}"


def remarks(explanation: Explanation) -> list[str]:
    """How to read the figure, how far to trust it, and what the model could make nothing of."""
    plan = explanation.plan
    told = [plan.reading + (f" {PARTLY}" if plan.kind == "coupling" else ""), plan.faithfulness]
    if plan.transport is not None and not plan.transport.converged:
        told.append(
            f"The transport did not converge: its marginals are off by {plan.transport.marginal_error:.2g}."
        )
    for what, codes in (("diagnoses", explanation.diagnoses), ("procedures", explanation.procedures)):
        unknown = [shown_code(one.code) for one in codes if one.status == "unknown"]
        if unknown:
            told.append(f"Left out, since the model does not know them ({what}): {', '.join(unknown)}.")
    return told


def sent(explanation: Explanation) -> list[float]:
    """The part of each row's significance that goes to the procedures shown."""
    plan = explanation.plan
    if plan.mass is None or plan.kind != "coupling":
        return [1.0] * len(plan.diagnoses)
    rows = zip(plan.mass.sum(axis=1).tolist(), rows_of(explanation), strict=True)
    return [min(1.0, mass / row.significance) if row.significance > 0 else 0.0 for mass, row in rows]


def percent(share: float) -> str:
    """A share in per cent, short."""
    if share < 0.0005:
        return "< 0.1 %" if share > 0 else "0 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def shortened(text: str, longest: int) -> str:
    """A text cut at a word, with an ellipsis, to so many characters."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 1].rstrip()
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > longest // 2 else cut).rstrip(" ,;(") + "…"


def _note(diagnosis: Diagnosis) -> str:
    notes = [f"from {', '.join(map(shown_code, diagnosis.mapped_from))}"] if diagnosis.mapped_from else []
    if diagnosis.stand_in is not None:
        heading, codes = shown_code(diagnosis.stand_in.code), diagnosis.stand_in.codes
        stands = "its one code" if codes == 1 else f"mean of its {codes}"
        notes.append(f"new to the model: {stands} under {heading}")
    return "; ".join(notes)
