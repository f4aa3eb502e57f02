"""How a model's answers are printed: tables of codes as people write them, then remarks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dx2px.cli.console import print_table, remark
from dx2px.codes import Notation
from dx2px.words import counted, shortened

if TYPE_CHECKING:
    from dx2px.answers import Diagnosis, Explanation, Neighbors, Plan, Procedure, Recommendation
    from dx2px.answers.results import Answer, EvidenceRow

Written = Mapping[str, Sequence[str]]  # families → the procedures that were typed and count as them
LONGEST = 36  # characters of a title beside its numbers
WIDEST = 8  # procedures side by side on a terminal
FIRST = 3  # codes of a family that are named
REASONS = 3  # diagnoses named per procedure, at most
LEAST_SHARE = 0.01  # of a diagnosis that is named as a reason
_KINDS = {
    "coded": "coded",
    "background": "background",
    "principal": "principal",
    "person": "age, sex",
    "admission": "admission",
}
BLURRED = 11  # counts up to this one are not told
NOT_ADVICE = "This reflects how stays were coded; it is not medical advice."


def show_recommendation(
    found: Recommendation, typed: Collection[str] = (), written: Written | None = None
) -> None:
    """Print diagnoses with their significance, and procedures with their reasons.

    `typed` are the diagnoses asked about; `written` has the procedures that were typed, by the families they count as.
    """
    from dx2px.answers.results import shown_probability

    _show_diagnoses(found)
    _show_procedures(found)
    _report_order(found)
    _report_alternatives(found)
    _report_support(found)
    _report_families(found, written or {})
    _report_mapping(found, typed)
    _report_diagnoses(found.diagnoses)
    _report_coded(found, written or {})
    _report_remarks(found)
    if found.coverage is not None:
        one = found.coverage
        remark(
            f"The set holds {one.target:.0%} of a stay's coded procedures, on average over stays like those it was "
            f"fitted on. It has the {one.set_size} procedures with a probability of at least "
            f"{shown_probability(one.threshold)}, and in any case the most probable."
        )
    if any(one.probability is None for one in found.recommendations):
        remark("This model has no calibration, so it ranks procedures without probabilities: train it again.")


def show_explanation(found: Explanation, typed: Collection[str] = (), written: Written | None = None) -> None:
    """Print the plan as a table if it is narrow enough, then the procedures with their reasons."""
    known = [one for one in found.procedures if one.status == "known"]
    if found.plan.mass is not None and len(known) <= WIDEST:
        _show_plan(found, known)
    else:
        _show_diagnoses(found)
    _show_procedures(found)
    _report_order(found)
    _report_alternatives(found)
    _report_support(found)
    _report_plan(found.plan)
    _report_families(found, written or {})
    _report_mapping(found, typed)
    _report_diagnoses(found.diagnoses)
    _report_coded(found, written or {})
    _report_remarks(found)


def show_neighbors(found: Neighbors) -> None:
    """Print the nearest diagnoses and the nearest procedures."""
    asked = Notation.of([found.code]).write(found.code)
    for kind, near in (("diagnoses", found.diagnoses), ("procedures", found.procedures)):
        notation = Notation.of(one.code for one in near)
        rows = [[notation.write(one.code), one.title, f"{one.similarity:.3f}"] for one in near]
        columns = [notation.heading, "title", "cosine"]
        print_table(f"Nearest {kind} to {asked} {found.title}", columns, rows, codes=(0,))


def _show_diagnoses(found: Answer) -> None:
    """The diagnoses and, in a table of its own, what else the model knew; a background of no weight is left out."""
    notation = Notation.of(one.code for one in found.diagnoses)
    rows = [
        [notation.write(one.code), _named(one), _significance(one), shown_stays(one.stays)]
        for one in found.diagnoses
    ]
    columns = [notation.heading, "title", "significance", "stays"]
    print_table("Diagnoses", columns, rows, codes=(0,))
    if any(one.kind != "background" or one.significance >= LEAST_SHARE for one in found.evidence):
        coded = Notation.of(one.code for one in found.evidence if one.kind == "coded")
        titles = [
            f"{coded.write(one.code)} {one.title}" if one.kind == "coded" else one.title
            for one in found.evidence
        ]
        others = [
            [_KINDS[one.kind], title, _significance(one)]
            for one, title in zip(found.evidence, titles, strict=True)
        ]
        print_table("Other evidence", ["", "", "significance"], others)


def shown_stays(number: int | None) -> str:
    """Training stays with a code; small numbers are blurred."""
    return "–" if number is None else f"{number:,}" if number > BLURRED else f"≤ {BLURRED}" if number else "0"


def _named(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.title} (principal)" if diagnosis.principal else diagnosis.title


def _names(found: Answer) -> dict[str, str]:
    """How reasons are named: diagnoses and coded procedures by their codes, other evidence in words."""
    notation = Notation.of(one.code for one in found.diagnoses if one.status != "unknown")
    coded = Notation.of(one.code for one in found.evidence if one.kind == "coded")
    names = {one.code: notation.write(one.code) for one in found.diagnoses if one.status != "unknown"}
    for one in found.evidence:
        names[one.code] = coded.write(one.code) if one.kind == "coded" else one.title
    return names


def _show_procedures(found: Answer) -> None:
    from dx2px.answers.results import shown_probability

    procedures = found.procedures
    notation = Notation.of(one.code for one in procedures)
    reasons = _names(found)
    rows = [
        [
            one.rank,
            notation.write(one.code),
            one.title,
            shown_probability(one.probability) if one.status == "known" else one.status,
            _reasons(one, reasons),
        ]
        for one in procedures
    ]
    columns = ["rank", notation.heading, "title", "probability", "because of"]
    print_table("Procedures", columns, rows, codes=(1,))


def _show_plan(found: Explanation, known: Sequence[Procedure]) -> None:
    diagnoses = [one for one in found.diagnoses if one.status != "unknown"]
    further = [one for one in found.evidence if one.code in found.plan.evidence]
    notation = Notation.of(one.code for one in diagnoses)
    across = Notation.of(one.code for one in known)
    mass = found.plan.mass
    assert mass is not None
    heads = [
        *((notation.write(one.code), _named(one), one.significance) for one in diagnoses),
        *((_KINDS[one.kind], one.title, one.significance) for one in further),
    ]
    titles = [title for _, title, _ in heads]
    rows = [
        [code, shortened(title, LONGEST, titles), f"{significance:.3f}", *(f"{part:.3f}" for part in row)]
        for (code, title, significance), row in zip(heads, mass, strict=True)
    ]
    columns = [notation.heading, "title", "μ", *(across.write(one.code) for one in known)]
    title = f"From diagnoses to procedures ({found.plan.kind}; μ is the significance)"
    print_table(title, columns, rows, codes=(0,))


def _significance(row: Diagnosis | EvidenceRow) -> str:
    if row.status == "unknown":
        return "unknown"
    mark = " (backed off)" if row.status == "backed-off" else ""
    return f"{row.significance:.1%}{mark}"


def _reasons(one: Procedure, names: Mapping[str, str]) -> str:
    """The diagnoses and other evidence that account for a procedure, largest share first."""
    leading = (reason for reason in one.because[:REASONS] if reason.share >= LEAST_SHARE)
    return ", ".join(f"{names[reason.code]} {reason.share:.0%}" for reason in leading)


def _report_order(found: Answer) -> None:
    """Why a procedure may be more probable than one above it, where that is to be seen."""
    ranked = sorted(
        (one.rank, one.probability) for one in found.procedures if one.rank and one.probability is not None
    )
    if any(above < below for (_, above), (_, below) in pairwise(ranked)):
        remark(
            "Ranked by score. Probabilities are corrected for each procedure, so one may be more probable than one "
            "ranked above it."
        )


def _report_alternatives(found: Answer) -> None:
    """The procedures of which a stay has one."""
    from dx2px.answers.results import shown_probability

    shown = {one.code: one for one in found.procedures}
    notation = Notation.of(shown)
    for group in found.alternatives:
        each = (f"{notation.write(code)} {shown_probability(shown[code].probability)}" for code in group)
        remark(f"One of: {', '.join(each)}. Stays hardly ever have more than one of them.")


def _report_support(found: Answer) -> None:
    """The procedures that rest on few stays."""
    from dx2px.answers.results import FEW

    notation = Notation.of(one.code for one in found.procedures)
    if few := [notation.write(one.code) for one in found.procedures if one.few_stays]:
        remark(f"Rests on fewer than {FEW} training stays, so take it with care: {', '.join(few)}.")


def _report_families(found: Answer, written: Written) -> None:
    """What is to be completed of each family of codes, and the first codes under it; or which codes count as it."""
    notation = Notation.of(one.code for one in found.procedures)
    for one in found.procedures:
        if (family := one.family) is None:
            continue
        if one.code in written:
            _report_written(one.code, written, notation)
            continue
        narrowed = f" on the {family.side}, {notation.write(family.narrowed)}" if family.narrowed else ""
        listed = ", ".join(map(notation.write, family.listed[:FIRST]))
        more = ", …" if family.codes > FIRST else ""
        axes = f", by {', '.join(family.complete_by)}" if family.complete_by else ""
        choice = f"choose one of {counted(family.codes, 'code')}{narrowed}{axes}"
        remark(f"{notation.write(one.code)}: {choice}: {listed}{more}.")


def _report_written(code: str, written: Written, notation: Notation) -> None:
    """The codes that were typed and count as a family."""
    own = [notation.write(one) for one in written.get(code, ())]
    if own:
        remark(f"{_and(own)} {'counts' if len(own) == 1 else 'count'} as {notation.write(code)}.")


def _and(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _report_plan(plan: Plan) -> None:
    """What the mass means, how far to trust it, and whether the transport was solved."""
    remark(f"{plan.reading} {plan.faithfulness}")
    if plan.transport is not None and not plan.transport.converged:
        remark(
            f"The transport did not converge: its marginals are off by {plan.transport.marginal_error:.2g}."
        )


def _report_mapping(found: Answer, typed: Collection[str]) -> None:
    """Each code that was mapped, those that became one diagnosis, and the number of those that could not be."""
    mapping = found.mapping
    notation = Notation.of(code for one in mapping for code in (one.code, *one.to))
    for one in mapping:
        if one.to:
            how = f"by its heading {notation.write(one.via)}" if one.via and one.via != one.code else one.kind
            remark(f"Mapped {notation.write(one.code)} → {', '.join(map(notation.write, one.to))}, {how}.")
    for diagnosis in found.diagnoses:
        own = [diagnosis.code] if diagnosis.code in typed else []
        same = [notation.write(code) for code in (*diagnosis.mapped_from, *own)]
        if len(same) > 1:
            remark(f"{_and(same)} are the same diagnosis here.")
    if unmapped := [notation.write(one.code) for one in mapping if not one.to]:
        codes = counted(len(mapping), "code")
        remark(
            f"{len(unmapped)} of {codes} could not be mapped: {', '.join(unmapped)}. The maps have nothing like it; "
            "`dx2px find` looks for a code of the model's version by words."
        )


def _report_diagnoses(diagnoses: Sequence[Diagnosis]) -> None:
    """What replaced codes that the model has not seen, and which codes it could not use at all."""
    notation = Notation.of(one.code for one in diagnoses)
    for one in diagnoses:
        if one.stand_in is not None:
            heading = f"{notation.write(one.stand_in.code)} {one.stand_in.title}"
            codes = one.stand_in.codes
            used = "its one code" if codes == 1 else f"the mean of its {codes} codes"
            remark(f"{notation.write(one.code)} is new to the model, which used {used} under {heading}.")
    unknown = [notation.write(one.code) for one in diagnoses if one.status == "unknown"]
    _report_unused(unknown, counted(len(diagnoses), "diagnosis", "diagnoses"))


def _report_coded(found: Answer, written: Written) -> None:
    """Which of the coded procedures count as a family, and which the model could not use."""
    coded = [one for one in found.evidence if one.kind == "coded"]
    notation = Notation.of(one.code for one in coded)
    for one in coded:
        _report_written(one.code, written, notation)
    unknown = [notation.write(one.code) for one in coded if one.status == "unknown"]
    _report_unused(unknown, counted(len(coded), "coded procedure"))


def _report_unused(unknown: Sequence[str], asked: str) -> None:
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        remark(f"{len(unknown)} of {asked} {verb} unknown to the model and not used: {', '.join(unknown)}.")


def _report_remarks(found: Answer) -> None:
    """What was probably meant by a code, and whether the sex and the age fit it."""
    for one in found.remarks:
        remark(one.text)
