"""The words of an explanation's figure and page: names of codes and plans, and what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from dx2px.answers import Diagnosis, Explanation, PlanKind
from dx2px.codes import Notation

HEADING = "How diagnoses lead to procedures"
PLAN_NAMES: dict[PlanKind, str] = {
    "coupling": "The model's own coupling π",
    "transport": "The paper's transport plan T",
    "penalised-transport": "The model's own transport plan, with penalties on the marginals",
    "leave-one-out": "How far scores fall without a diagnosis",
}
PARTLY = "The strong part of a bar goes to the procedures shown."


@dataclass(frozen=True)
class Row:
    """A diagnosis that the model used, with a note beside its title, if there is one."""

    code: str
    title: str
    note: str
    significance: float


def rows_of(explanation: Explanation) -> list[Row]:
    """The rows of the plan, in its order."""
    names = names_of(explanation)
    return [
        Row(names.write(one.code), one.title, _note(one, names), one.significance)
        for one in explanation.diagnoses
        if one.status != "unknown"
    ]


def names_of(explanation: Explanation) -> Notation:
    """How the codes of an explanation are written."""
    diagnoses, procedures = explanation.diagnoses, explanation.procedures
    return Notation.of([*(one.code for one in diagnoses), *(one.code for one in procedures)])


def subtitle(explanation: Explanation) -> str:
    """Which plan of which method, over which codes."""
    codes = names_of(explanation).name
    plan = PLAN_NAMES[explanation.plan.kind]
    return " · ".join([plan, f"method {explanation.source.method}", *([f"{codes} codes"] if codes else [])])


def remarks(explanation: Explanation) -> list[str]:
    """How to read the figure, how far to trust it, and which codes the model could not use."""
    plan, names = explanation.plan, names_of(explanation)
    texts = [plan.reading + (f" {PARTLY}" if plan.kind == "coupling" else ""), plan.faithfulness]
    if plan.transport is not None and not plan.transport.converged:
        texts.append(
            f"The transport did not converge: its marginals are off by {plan.transport.marginal_error:.2g}."
        )
    for what, codes in (("diagnoses", explanation.diagnoses), ("procedures", explanation.procedures)):
        unknown = [names.write(one.code) for one in codes if one.status == "unknown"]
        if unknown:
            texts.append(f"The model does not know these {what}, which are left out: {', '.join(unknown)}.")
    return texts


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


def _note(diagnosis: Diagnosis, names: Notation) -> str:
    mapped, stand_in = diagnosis.mapped_from, diagnosis.stand_in
    both = Notation.of((diagnosis.code, *mapped))
    notes = [f"from {', '.join(map(both.write, mapped))}"] if mapped else []
    if stand_in is not None:
        used = "its one code" if stand_in.codes == 1 else f"mean of its {stand_in.codes} codes"
        notes.append(f"new to the model: {used} under {names.write(stand_in.code)}")
    return "; ".join(notes)
