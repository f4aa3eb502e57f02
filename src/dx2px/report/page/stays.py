"""Explained stays of a report: diagnoses with their significance, procedures with their shares."""

from __future__ import annotations

from dx2px.evaluation.examples import RULE
from dx2px.inference import Diagnosis, Procedure
from dx2px.inference.results import shown_probability
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.charts import bar_cell
from dx2px.report.page.content import Content, ShownStay
from dx2px.report.page.words import bare, code, percent, section, shown

SHADES = (0.05, 0.2, 0.45, 0.7)
LEADING = 3  # reasons told in words
NOTICE = (
    "These are stays of the cohort, with their codes as coded and without identifiers. A combination of codes may "
    "still point to a person for whoever knows them: treat this page as you treat the cohort."
)


def stays_section(content: Content) -> Markup:
    """What the model makes of single stays, chosen by a rule."""
    if not content.stays:
        return section("stays", "Explained stays", el("p", "None are shown."))
    plan = content.stays[0].explanation.plan
    return section(
        "stays",
        "Explained stays",
        el("p", NOTICE, " ", el("code", "dx2px report --stays 0"), " leaves them out.", class_="notice"),
        el("p", f"The rule: {RULE}"),
        el(
            "p",
            "Rows are the stay's diagnoses with their significance; columns its five most probable procedures, then "
            f"those coded beyond them; cells the share of each diagnosis in a procedure. {plan.reading} "
            f"{plan.faithfulness}",
        ),
        [_stay(number, one) for number, one in enumerate(content.stays, start=1)],
    )


def _stay(number: int, one: ShownStay) -> Markup:
    told = one.explanation
    found = sum(p.code in one.coded for p in told.procedures if (p.rank or 0) <= 5)
    name = f"Stay {number}: {found} of its {len(one.coded)} coded procedures among the first five"
    return el("article", el("h3", name), _shares(one), _procedures(one), class_="stay")


def _shares(one: ShownStay) -> Markup:
    told = one.explanation
    most = max(d.significance for d in told.diagnoses)
    heads: list[Child] = [
        el("th", "diagnosis", scope="col"),
        el("th", "significance", scope="col"),
        *(el("th", bare(p.code), scope="col", class_="share") for p in told.procedures),
    ]
    rows = [el("tr", _diagnosis(d, most), [_share(d, p) for p in told.procedures]) for d in told.diagnoses]
    return el("div", el("table", el("thead", el("tr", heads)), el("tbody", rows)), class_="scroll")


def _diagnosis(one: Diagnosis, most: float) -> list[Markup]:
    told = f"{shown(one.code)}: significance {percent(one.significance)}"
    bar = bar_cell(one.significance, max(most, 1e-9), told=told)
    return [el("th", code(one.code), scope="row"), el("td", bar, class_="significance")]


def _share(diagnosis: Diagnosis, procedure: Procedure) -> Markup:
    shares = {reason.code: reason.share for reason in procedure.because}
    share = shares.get(diagnosis.code, 0.0)
    shade = sum(share >= bound for bound in SHADES)
    return el("td", percent(share, 0) if share >= 0.005 else "", class_=f"share shade-{shade}")


def _procedures(one: ShownStay) -> Markup:
    return el("ol", [_procedure(p, p.code in one.coded) for p in one.explanation.procedures])


def _procedure(one: Procedure, coded: bool) -> Markup:
    mark = el("span", "✓ coded" if coded else "not coded", class_="hit" if coded else "miss")
    leading = ", ".join(
        f"{shown(r.code)} {percent(r.share, 0)}" for r in one.because[:LEADING] if r.share >= 0.01
    )
    likely = "" if one.probability is None else f" · {shown_probability(one.probability)}"
    # Told in words where there is no room for the table's shares.
    because = el("span", f"because of {leading}", class_="narrow")
    return el("li", code(one.code), f"{likely} · ", mark, because, value=str(one.rank))
