"""What sections share: codes with titles, tables, numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.codes import dotted, title
from dx2px.errors import CodeError
from dx2px.evaluation.subgroups import SMALLEST
from dx2px.report.markup import Child, Markup, el

SCOPE = (
    "The model learned how hospital stays were coded, for billing, after the stay. It predicts what was coded, not "
    "what a patient needs; it is a research tool and gives no medical advice."
)


def section(anchor: str, name: str, *children: Child) -> Markup:
    """A part of the page with its heading."""
    return el("section", el("h2", name), children, id=anchor, aria_label=name)


def figure(caption: str, picture: Child, *notes: str) -> Markup:
    """A chart with what it shows above and how to read it below."""
    return el("figure", el("figcaption", caption), picture, [el("p", note) for note in notes])


def code(text: str) -> Markup:
    """A code as people write it, with its title."""
    return el("span", el("span", shown(text), class_="code"), f" {title(text).text}")


def bare(text: str) -> Markup:
    """A code alone; its title shows under the pointer."""
    return el("span", shown(text), class_="code", title=title(text).text)


def shown(text: str) -> str:
    """A canonical code as people write it."""
    try:
        return dotted(text)
    except CodeError:
        return text


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Child]],
    *,
    numbers: Sequence[int] = (),
    bars: Sequence[int] = (),
    stacked: bool = False,
) -> Markup:
    """A table; `numbers` are columns that stand to the right, `bars` wide ones.

    On a narrow screen it scrolls sideways, or, `stacked`, sets the cells of a row below each other with their heads.
    """
    named = [el("th", name, scope="col", class_=_class(i, numbers, bars)) for i, name in enumerate(heads)]
    body = [_row(row, heads if stacked else (), numbers, bars) for row in rows]
    kind = " ".join(
        name for name, wanted in ((f"bars bars-{len(bars)}", bars), ("stacked", stacked)) if wanted
    )
    return el(
        "div",
        el("table", el("thead", el("tr", named)), el("tbody", body), class_=kind or None),
        class_="scroll",
    )


def small_note(left_out: int, what: str) -> str:
    """What was too few to be told, in words; nothing where nothing was."""
    if not left_out:
        return ""
    return f" {few(left_out).capitalize()} {what} stand in groups below {SMALLEST} and are not shown."


def few(number: int) -> str:
    """A count, or words for one that may not be told."""
    return f"{number:,}" if number == 0 or number >= SMALLEST else f"fewer than {SMALLEST}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def _row(cells: Sequence[Child], heads: Sequence[str], numbers: Sequence[int], bars: Sequence[int]) -> Markup:
    first, *rest = cells
    told = [*heads, *(None for _ in cells)]
    others = [
        el("td", cell, class_=_class(place, numbers, bars), data_head=told[place])
        for place, cell in enumerate(rest, start=1)
    ]
    return el("tr", el("th", first, scope="row"), others)


def _class(place: int, numbers: Sequence[int], bars: Sequence[int]) -> str | None:
    return "number" if place in numbers else "bar" if place in bars else None
