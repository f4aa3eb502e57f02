"""The words of an explanation's figure and page: names of codes and plans, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dx2px.answers import Diagnosis, PlanKind, Procedure
from dx2px.answers.results import Answer, EvidenceRow
from dx2px.codes import Notation

HEADING = "How diagnoses lead to procedures"
OTHER_EVIDENCE = "other evidence"
PLAN_NAMES: dict[PlanKind, str] = {
    "coupling": "The model's own coupling π",
    "transport": "The paper's transport plan T",
    "penalised-transport": "The model's own transport plan, with penalties on the marginals",
    "leave-one-out": "How far scores fall without a diagnosis",
}
PARTLY = "The strong part of a bar goes to the procedures shown."
NOT_LINEAR = "Colour grows with the square root, so that small values show."
LEAST = 0.01  # of significance or of some procedure, for other evidence to be drawn as a row


@dataclass(frozen=True)
class Row:
    """A diagnosis or other evidence that the model used, with a note beside its title, if there is one."""

    code: str  # empty for evidence without a code
    title: str
    note: str
    significance: float
    place: int  # in the plan
    other: bool = False  # whether it is other evidence

    @property
    def name(self) -> str:
        """The code, if there is one, and the title."""
        return f"{self.code} {self.title}".strip()


def rows_of(explanation: Answer) -> list[Row]:
    """The rows of the plan, in its order."""
    names = names_of(explanation)
    used = [one for one in explanation.diagnoses if one.status != "unknown"]
    rows = [
        Row(names.write(one.code), one.title, _note(one, names), one.significance, place)
        for place, one in enumerate(used)
    ]
    further = (one for one in explanation.evidence if one.code in explanation.plan.evidence)
    rows += [_evidence(one, names, place) for place, one in enumerate(further, start=len(rows))]
    return rows


def drawn_and_folded(explanation: Answer) -> tuple[list[Row], list[Row]]:
    """The rows to draw, and the other evidence that counts for less than `LEAST` everywhere."""
    rows, mass = rows_of(explanation), explanation.plan.mass
    if mass is None:
        return rows, []
    most = np.maximum([row.significance for row in rows], explanation.plan.shares.max(axis=1))
    folded = [row for row in rows if row.other and most[row.place] < LEAST]
    return [row for row in rows if row not in folded], folded


def folded_words(folded: list[Row]) -> str:
    """One line for the evidence that is not drawn."""
    return f"below {percent(LEAST)} everywhere: {'; '.join(row.name for row in folded)}"


def reason_names(explanation: Answer) -> dict[str, str]:
    """How each diagnosis and each piece of other evidence is named as a reason, by its code."""
    names = names_of(explanation)
    found = {one.code: f"{names.write(one.code)} {one.title}" for one in explanation.diagnoses}
    for one in explanation.evidence:
        row = _evidence(one, names, 0)
        found[one.code] = f"{row.name}, {row.note}" if row.note else row.name
    return found


def names_of(explanation: Answer) -> Notation:
    """How the codes of an explanation are written."""
    codes = [one.code for one in explanation.diagnoses]
    codes += [one.code for one in explanation.procedures]
    codes += [one.code for one in explanation.evidence if one.kind == "coded"]
    return Notation.of(codes)


def subtitle(explanation: Answer) -> str:
    """Which plan of which method, over which codes."""
    codes = names_of(explanation).name
    plan = PLAN_NAMES[explanation.plan.kind]
    return " · ".join([plan, f"method {explanation.source.method}", *([f"{codes} codes"] if codes else [])])


def remarks(explanation: Answer) -> list[str]:
    """How to read the figure, how far to trust it, which codes the model could not use, and which do not fit."""
    plan, names = explanation.plan, names_of(explanation)
    texts = [plan.reading + (f" {PARTLY}" if plan.kind == "coupling" else ""), plan.faithfulness]
    if plan.transport is not None and not plan.transport.converged:
        texts.append(
            f"The transport did not converge: its marginals are off by {plan.transport.marginal_error:.2g}."
        )
    asked: dict[str, Sequence[Diagnosis | EvidenceRow | Procedure]] = {
        "diagnoses": explanation.diagnoses,
        "coded procedures": explanation.evidence,
        "procedures": explanation.procedures,
    }
    for what, codes in asked.items():
        unknown = [names.write(one.code) for one in codes if one.status == "unknown"]
        if unknown:
            texts.append(f"The model does not know these {what}, which are left out: {', '.join(unknown)}.")
    return [*texts, *(one.text for one in explanation.remarks)]


def sent(explanation: Answer) -> list[float]:
    """The part of each row's significance that goes to the procedures shown."""
    plan = explanation.plan
    if plan.mass is None or plan.kind != "coupling":
        return [1.0] * len(rows_of(explanation))
    rows = zip(plan.mass.sum(axis=1).tolist(), rows_of(explanation), strict=True)
    return [min(1.0, mass / row.significance) if row.significance > 0 else 0.0 for mass, row in rows]


def percent(share: float) -> str:
    """A share in per cent, short."""
    if share < 0.0005:
        return "< 0.1 %" if share > 0 else "0 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def _note(diagnosis: Diagnosis, names: Notation) -> str:
    mapped, stand_in = diagnosis.mapped_from, diagnosis.stand_in
    both = Notation.of((diagnosis.code, *mapped))
    notes = ["principal diagnosis"] if diagnosis.principal else []
    if mapped:
        notes.append(f"from {', '.join(map(both.write, mapped))}")
    if stand_in is not None:
        used = "its one code" if stand_in.codes == 1 else f"mean of its {stand_in.codes} codes"
        notes.append(f"new to the model: {used} under {names.write(stand_in.code)}")
    return "; ".join(notes)


def _evidence(one: EvidenceRow, names: Notation, place: int) -> Row:
    coded = one.kind == "coded"
    return Row(
        names.write(one.code) if coded else "",
        one.title,
        "coded" if coded else "",
        one.significance,
        place,
        other=True,
    )
