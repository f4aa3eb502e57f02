"""An explanation as one HTML page that opens without a network: the figure, to be pointed at or walked by arrow keys.

It is a real table, so that it can be read aloud. Cells take their colour from classes, for the page's policy allows its
own style and script alone, by their hashes, and nothing that is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from dx2px.inference import Explanation, Procedure
from dx2px.inference.results import SCOPE
from dx2px.inference.transport import Doubles
from dx2px.report.explanation_assets import SCRIPT, STYLE
from dx2px.report.explanation_sheet import FEW, THEMES
from dx2px.report.explanation_words import (
    HEADING,
    Row,
    percent,
    remarks,
    rows_of,
    sent,
    shortened,
    shown_code,
    subtitle,
)
from dx2px.report.markup import Markup, document

STEPS = 32  # of heat
LONGEST_HEADS = {"few": 80, "many": 60}  # characters of a title above its column
REASONS = 4  # diagnoses named for a procedure, at most
INVITATION = (
    "Point at a cell, or reach the table with Tab and walk it with the arrow keys: both codes with their titles, and "
    "the mass between them, stand here."
)


def explanation_page(explanation: Explanation) -> str:
    """The page as text."""
    body = [
        *_introduction(explanation),
        *_controls(explanation),
        f'<div class="scroll">{"".join(_table(explanation))}</div>',
        f'<p id="said" role="status">{INVITATION}</p>',
    ]
    return document(HEADING, Markup("\n".join(body)), [STYLE, heat_style()], [SCRIPT])


def heat_style() -> str:
    """A rule for each step of heat, for mass and for shares alike, in both themes."""
    return "\n".join(_heat_rule(step) for step in range(STEPS + 1)) + "\n"


def _heat_rule(step: int) -> str:
    light, dark = (_mixed(THEMES[name].heat, step / STEPS) for name in ("light", "dark"))
    strong = step / STEPS > 0.6
    on = "light-dark(#ffffff, #10161b)" if strong else "light-dark(#17212b, #e9eef3)"
    return (
        f".by-mass .m{step}, .by-share .s{step}, .k{step} "
        f"{{ background: light-dark({light}, {dark}); fill: light-dark({light}, {dark}); color: {on}; }}"
    )


def _mixed(colours: tuple[str, ...], place: float) -> str:
    """The colour at a place, 0 to 1, of a ramp."""
    ramp = np.array([[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in colours], np.float64)
    at = np.linspace(0, 1, len(ramp))
    return "#" + "".join(f"{round(float(np.interp(place, at, ramp[:, k]))):02x}" for k in range(3))


def _introduction(explanation: Explanation) -> Iterator[str]:
    yield f"<h1>{HEADING}</h1><p>{escape(subtitle(explanation))}</p>"
    for text in (*remarks(explanation), SCOPE):
        yield f'<p class="muted">{escape(text)}</p>'


def _controls(explanation: Explanation) -> Iterator[str]:
    mass = explanation.plan.mass
    most = percent(0.0 if mass is None else float(mass.max()))
    squares = "".join(
        f'<rect class="k{step}" x="{step}" y="0" width="1.05" height="1"/>' for step in range(STEPS + 1)
    )
    yield (
        '<div class="bar-line"><fieldset><legend>Colour</legend>'
        f'<label><input type="radio" name="by" value="mass" data-most="{most}" checked> mass</label>'
        '<label><input type="radio" name="by" value="share" data-most="100 %"> share of each procedure</label>'
        "</fieldset>"
        f'<span class="scale" aria-hidden="true">0 <svg viewBox="0 0 {STEPS + 1} 1" preserveAspectRatio="none">'
        f'{squares}</svg> <span id="most">{most}</span></span></div>'
    )


def _table(explanation: Explanation) -> Iterator[str]:
    known = [one for one in explanation.procedures if one.status == "known"]
    titles = {one.code: f"{shown_code(one.code)} {one.title}" for one in explanation.diagnoses}
    width = "few" if len(known) <= FEW else "many"
    yield f'<table role="grid" class="{width} by-mass" aria-label="{HEADING}">'
    yield '<thead><tr><th scope="col">diagnosis</th><th scope="col">significance μ</th>'
    yield from (_head(one, titles, LONGEST_HEADS[width]) for one in known)
    yield "</tr></thead><tbody>"
    yield from _body(explanation)
    yield f'</tbody><tfoot><tr><th scope="row" colspan="2">probability</th>{_probabilities(known)}</tr></tfoot></table>'


def _head(one: Procedure, titles: dict[str, str], longest: int) -> str:
    name = f"{shown_code(one.code)} {one.title}"
    likely = "" if one.probability is None else f", probability {percent(one.probability)}"
    leading = [f"{titles[r.code]} ({percent(r.share)})" for r in one.because[:REASONS] if r.share >= 0.005]
    said = f"{name}: place {one.rank} among all procedures{likely}. Comes from {'; '.join(leading)}."
    return (
        f'<th scope="col" tabindex="-1" data-name="{escape(name)}" data-said="{escape(said)}"><div>'
        f'<span class="code">{escape(shown_code(one.code))}</span> {escape(shortened(one.title, longest))}</div></th>'
    )


def _body(explanation: Explanation) -> Iterator[str]:
    plan, rows = explanation.plan, rows_of(explanation)
    if plan.mass is None:
        return
    largest = float(plan.mass.max()) or 1.0
    longest = max(row.significance for row in rows) or 1.0
    going = sent(explanation)
    for place, row in enumerate(rows):
        bar = _bar(row.significance / longest, going[place])
        cells = _cells(plan.mass[place], plan.shares[place], largest)
        yield (
            f'<tr>{_name(row, first=place == 0)}<td class="mu">{bar}{percent(row.significance)}</td>{cells}</tr>'
        )


def _name(row: Row, first: bool) -> str:
    name = f"{row.code} {row.title}"
    note = f" ({row.note})" if row.note else ""
    said = f"{name}{note}: significance {percent(row.significance)}."
    beside = f'<span class="note">{escape(row.note)}</span>' if row.note else ""
    return (
        f'<th scope="row" tabindex="{0 if first else -1}" data-name="{escape(name)}" data-said="{escape(said)}">'
        f'<span class="code">{escape(row.code)}</span> <span class="title">{escape(row.title)}</span>{beside}</th>'
    )


def _bar(long: float, strong: float) -> str:
    whole = 100 * long
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rest" width="{whole:.2f}" height="10"/>'
        f'<rect class="strong" width="{whole * strong:.2f}" height="10"/></svg>'
    )


def _cells(mass: Doubles, shares: Doubles, largest: float) -> str:
    """Colour grows with the root of mass and of shares, so that small ones can be seen."""
    return "".join(
        f'<td tabindex="-1" class="m{round(STEPS * (m / largest) ** 0.5)} s{round(STEPS * min(s, 1) ** 0.5)}" '
        f'data-mass="{escape(percent(m))}" data-share="{escape(percent(s))}">{_number("m", m)}{_number("s", s)}</td>'
        for m, s in zip(mass.tolist(), shares.tolist(), strict=True)
    )


def _number(kind: str, value: float) -> str:
    return f'<span class="{kind}">{percent(value).removesuffix(" %") if value >= 0.0005 else ""}</span>'


def _probabilities(known: list[Procedure]) -> str:
    texts = ("–" if one.probability is None else percent(one.probability) for one in known)
    return "".join(f"<td><div>{escape(text)}</div></td>" for text in texts)
