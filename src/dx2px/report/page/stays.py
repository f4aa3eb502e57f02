"""The explained stays of a report: diagnoses with their significance, procedures with their reasons."""

from __future__ import annotations

from collections.abc import Mapping

from dx2px.answers import Diagnosis, Procedure
from dx2px.answers.results import EvidenceRow, shown_probability
from dx2px.codes import Notation
from dx2px.report.example_facts import RULE as FACTS_RULE
from dx2px.report.examples import RULE
from dx2px.report.markup import Child, Markup, el, table
from dx2px.report.page.charts import bar_cell
from dx2px.report.page.content import Content, ShownStay
from dx2px.report.page.words import bare, code, percent, section

SHADES = (0.05, 0.2, 0.45, 0.7)
LEADING = 3  # reasons in words
FROM_CODES = "Explained from its codes alone."
NOTICE = (
    "These are stays of the cohort, with their codes but without identifiers. Someone who knows a person may still "
    "recognise them by their codes: keep this page as safe as the cohort."
)


def stays_section(content: Content) -> Markup:
    """How the model explains single stays, chosen by a rule."""
    if not content.stays:
        return section("stays", "Explained stays", el("p", "No stays are shown."))
    plan = content.stays[0].explanation.plan
    told = f" {FACTS_RULE}" if content.facts else ""
    rows = ", then other evidence," if any(one.explanation.evidence for one in content.stays) else ""
    return section(
        "stays",
        "Explained stays",
        None if content.synthetic else _notice(),
        el("p", f"The rule: {RULE}{told}"),
        el(
            "p",
            f"Rows are the stay's diagnoses{rows} with their significance. Columns are its five best "
            "procedures, then its other coded ones. Cells are the share of a row in a procedure, darker from "
            f"{', '.join(percent(bound, 0) for bound in SHADES)} on. "
            f"{plan.reading} {plan.faithfulness}",
        ),
        [_stay(number, one, content.names) for number, one in enumerate(content.stays, start=1)],
    )


def _notice() -> Markup:
    return el("p", NOTICE, " ", el("code", "dx2px report --stays 0"), " leaves them out.", class_="notice")


def _stay(number: int, one: ShownStay, names: Notation) -> Markup:
    found = sum(p.code in one.coded for p in one.explanation.procedures if (p.rank or 0) <= 5)
    name = f"Stay {number}: {found} of its {len(one.coded)} coded procedures in the top five"
    alone = el("p", FROM_CODES, class_="muted") if one.explanation.evidence and not one.facts else None
    return el("article", el("h3", name), alone, _shares(one, names), _procedures(one, names), class_="stay")


def _shares(one: ShownStay, names: Notation) -> Markup:
    procedures = one.explanation.procedures
    evidence: list[Diagnosis | EvidenceRow] = [*one.explanation.diagnoses, *one.explanation.evidence]
    most = max(row.significance for row in evidence)
    heads: list[Child] = [
        el("th", "diagnosis", scope="col"),
        el("th", "significance", scope="col"),
        *(el("th", bare(p.code, names), scope="col", class_="share") for p in procedures),
    ]
    rows = [el("tr", _row(row, most, names), [_share(row, p) for p in procedures]) for row in evidence]
    return el("div", table(heads, rows), class_="scroll")


def _row(one: Diagnosis | EvidenceRow, most: float, names: Notation) -> list[Markup]:
    """The name and the significance of a diagnosis or of other evidence."""
    shown: Child = el("em", one.title)
    words = one.title
    if isinstance(one, Diagnosis):
        shown = [code(one.code, names), el("em", " (principal)") if one.principal else None]
        words = names.write(one.code)
    words = f"{words}: significance {percent(one.significance)}"
    bar = bar_cell(one.significance, max(most, 1e-9), words=words)
    return [el("th", shown, scope="row"), el("td", bar, class_="significance")]


def _share(row: Diagnosis | EvidenceRow, procedure: Procedure) -> Markup:
    shares = {reason.code: reason.share for reason in procedure.because}
    share = shares.get(row.code, 0.0)
    shade = sum(share >= bound for bound in SHADES)
    return el("td", percent(share, 0) if share >= 0.005 else "", class_=f"share shade-{shade}")


def _procedures(one: ShownStay, names: Notation) -> Markup:
    reasons = {d.code: names.write(d.code) for d in one.explanation.diagnoses}
    reasons |= {row.code: row.title for row in one.explanation.evidence}
    procedures = one.explanation.procedures
    return el("ol", [_procedure(p, p.code in one.coded, names, reasons) for p in procedures])


def _procedure(one: Procedure, coded: bool, names: Notation, reasons: Mapping[str, str]) -> Markup:
    mark = el("span", "✓ coded" if coded else "not coded", class_="hit" if coded else "miss")
    leading = ", ".join(
        f"{reasons[r.code]} {percent(r.share, 0)}" for r in one.because[:LEADING] if r.share >= 0.01
    )
    likely = "" if one.probability is None else f" · {shown_probability(one.probability)}"
    # A narrow screen has no room for the table of shares, so it shows these words instead.
    because = el("span", f"because of {leading}", class_="narrow")
    return el("li", code(one.code, names), f"{likely} · ", mark, because, value=str(one.rank))
