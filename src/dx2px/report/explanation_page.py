"""An explanation as one HTML page that opens without a network: the flow, then its numbers to walk by arrow keys.

The numbers are a real table, so that screen readers can read it. Cells take their colour from classes, because the
page's policy forbids inline styles.
"""

from __future__ import annotations

import numpy as np

from dx2px.answers import Explanation, Procedure
from dx2px.answers.results import SCOPE
from dx2px.report.explanation_sheet import FEW, THEMES
from dx2px.report.explanation_words import (
    HEADING,
    NOT_LINEAR,
    OTHER_EVIDENCE,
    Row,
    drawn_and_folded,
    folded_words,
    names_of,
    percent,
    reason_names,
    remarks,
    sent,
    subtitle,
)
from dx2px.report.flow import flow_figure
from dx2px.report.markup import Markup, document, el, resource, table
from dx2px.scoring.segments import Doubles
from dx2px.words import shortened

STEPS = 32  # of heat
MOST_OPEN = 14  # rows or columns of a flow that is shown at once
LONGEST_HEADS = {"few": 80, "many": 60}  # characters of a title above its column
LONGEST_ROW = 52  # characters of a title and its note beside its row
REASONS = 4  # diagnoses and other evidence named for a procedure, at most
LEAST_SHARE = 0.005  # of one that is named
INVITATION = (
    "Point at a cell, or press Tab to reach the table and walk it with the arrow keys: both codes, their titles and "
    "the mass between them are shown here."
)


def explanation_page(explanation: Explanation) -> str:
    """The page as text."""
    body = [
        el("h1", HEADING),
        el("p", subtitle(explanation)),
        _flow(explanation),
        [el("p", text, class_="muted") for text in (*remarks(explanation), SCOPE)],
        _controls(explanation),
        el("div", _table(explanation), class_="scroll"),
        el("p", INVITATION, id="reading", role="status"),
    ]
    styles = [resource("dx2px.report", "explanation.css"), heat_style()]
    return document(HEADING, body, styles, [resource("dx2px.report", "explanation.js")])


def _flow(explanation: Explanation) -> Markup:
    """The flow; of a stay with many codes it is as high as a poster, so it waits to be opened."""
    many = 0 if explanation.plan.mass is None else max(explanation.plan.mass.shape)
    picture = el("div", flow_figure(explanation), class_="scroll-flow")
    return el("details", el("summary", "Flow"), picture, open=many <= MOST_OPEN)


def heat_style() -> str:
    """A rule for each step of heat, for mass and for shares alike, for diagnoses and other evidence, in both themes."""
    rules = (_heat_rule(step, other) for other in (False, True) for step in range(STEPS + 1))
    return "\n".join(rules) + "\n"


def _heat_rule(step: int, other: bool) -> str:
    light, dark = (_mixed(THEMES[name].hue(other).heat, step / STEPS) for name in ("light", "dark"))
    strong = step / STEPS > 0.6
    on = "light-dark(#ffffff, #10161b)" if strong else "light-dark(#17212b, #e9eef3)"
    within = ".other " if other else ""
    which = f".by-mass {within}.m{step}, .by-share {within}.s{step}, {within}.k{step}"
    return f"{which} {{ background: light-dark({light}, {dark}); fill: light-dark({light}, {dark}); color: {on}; }}"


def _mixed(colours: tuple[str, ...], place: float) -> str:
    """The colour at a place, 0 to 1, of a ramp."""
    ramp = np.array([[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in colours], np.float64)
    at = np.linspace(0, 1, len(ramp))
    return "#" + "".join(f"{round(float(np.interp(place, at, ramp[:, k]))):02x}" for k in range(3))


def _controls(explanation: Explanation) -> Markup:
    mass = explanation.plan.mass
    most = percent(0.0 if mass is None else float(mass.max()))
    strips = [_strip(0), el("g", _strip(1), class_="other")] if explanation.plan.evidence else [_strip(0)]
    scale = el("svg", strips, viewBox=f"0 0 {STEPS + 1} {len(strips)}", preserveAspectRatio="none")
    by_mass = el("input", type="radio", name="by", value="mass", data_most=most, checked=True)
    by_share = el("input", type="radio", name="by", value="share", data_most="100 %")
    choice = el(
        "fieldset",
        el("legend", "Colour"),
        el("label", by_mass, " mass"),
        el("label", by_share, " share of each procedure"),
    )
    shown = el("span", "0 ", scale, " ", el("span", most, id="most"), class_="scale", aria_hidden="true")
    return el("div", choice, shown, el("span", NOT_LINEAR, class_="muted"), class_="bar-line")


def _strip(y: int) -> list[Markup]:
    """All steps of heat, side by side."""
    return [
        el("rect", class_=f"k{n}", x=str(n), y=str(y), width="1.05", height="1") for n in range(STEPS + 1)
    ]


def _table(explanation: Explanation) -> Markup:
    known = [one for one in explanation.procedures if one.status == "known"]
    width = "few" if len(known) <= FEW else "many"
    heads = [
        el("th", "diagnosis", scope="col"),
        el("th", "significance μ", scope="col"),
        *(_head(one, explanation, LONGEST_HEADS[width]) for one in known),
    ]
    foot = el("tr", el("th", "probability", scope="row", colspan="2"), _probabilities(known))
    return table(heads, _body(explanation), foot, role="grid", class_=f"{width} by-mass", aria_label=HEADING)


def _head(one: Procedure, explanation: Explanation, longest: int) -> Markup:
    names, titles = names_of(explanation), reason_names(explanation)
    name = f"{names.write(one.code)} {one.title}"
    likely = "" if one.probability is None else f", probability {percent(one.probability)}"
    reasons = [
        f"{titles[reason.code]} ({percent(reason.share)})"
        for reason in one.because[:REASONS]
        if reason.share >= LEAST_SHARE
    ]
    reading = f"{name}: rank {one.rank} among all procedures{likely}. Because of {'; '.join(reasons)}."
    others = [other.title for other in explanation.procedures]
    shown = el(
        "div", el("span", names.write(one.code), class_="code"), f" {shortened(one.title, longest, others)}"
    )
    return el("th", shown, scope="col", tabindex="-1", data_name=name, data_reading=reading)


def _body(explanation: Explanation) -> list[Markup]:
    plan = explanation.plan
    if plan.mass is None:
        return []
    rows, folded = drawn_and_folded(explanation)
    largest = float(plan.mass.max()) or 1.0
    longest = max(row.significance for row in rows) or 1.0
    going = sent(explanation)
    lines = [
        el(
            "tr",
            _name(row, [other.title for other in rows]),
            el(
                "td",
                _bar(row.significance / longest, going[row.place]),
                percent(row.significance),
                class_="mu",
            ),
            _cells(plan.mass[row.place], plan.shares[row.place], largest),
            class_="other" if row.other else None,
        )
        for row in rows
    ]
    used = sum(not row.other for row in rows)
    if used < len(rows) or folded:
        lines.insert(used, _apart(OTHER_EVIDENCE, plan.mass.shape[1]))
    if folded:
        lines.append(_apart(folded_words(folded), plan.mass.shape[1]))
    return lines


def _apart(words: str, procedures: int) -> Markup:
    """A line of words across the table, which the arrow keys pass over."""
    return el("tr", el("th", words, colspan=str(2 + procedures)), class_="apart")


def _name(row: Row, titles: list[str]) -> Markup:
    name = row.name
    note = f" ({row.note})" if row.note else ""
    return el(
        "th",
        [el("span", row.code, class_="code"), " "] if row.code else None,
        el("span", shortened(row.title, max(LONGEST_ROW - len(row.note), 20), titles), class_="title"),
        el("span", row.note, class_="note") if row.note else None,
        scope="row",
        tabindex="-1" if row.place else "0",
        data_name=name,
        data_reading=f"{name}{note}: significance {percent(row.significance)}.",
    )


def _bar(long: float, strong: float) -> Markup:
    """The significance; its strong part goes to the procedures shown."""
    rest = el("rect", class_="rest", width=f"{100 * long:.2f}", height="10")
    part = el("rect", class_="strong", width=f"{100 * long * strong:.2f}", height="10")
    return el("svg", rest, part, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")


def _cells(mass: Doubles, shares: Doubles, largest: float) -> list[Markup]:
    """Colour grows with the square root of mass and share, so that small ones can be seen."""
    return [
        el(
            "td",
            _number("m", m),
            _number("s", s),
            tabindex="-1",
            class_=f"m{round(STEPS * (m / largest) ** 0.5)} s{round(STEPS * min(s, 1) ** 0.5)}",
            data_mass=percent(m),
            data_share=percent(s),
        )
        for m, s in zip(mass.tolist(), shares.tolist(), strict=True)
    ]


def _number(kind: str, value: float) -> Markup:
    return el("span", percent(value).removesuffix(" %") if value >= 0.0005 else "", class_=kind)


def _probabilities(known: list[Procedure]) -> list[Markup]:
    texts = ("–" if one.probability is None else percent(one.probability) for one in known)
    return [el("td", el("div", text)) for text in texts]
