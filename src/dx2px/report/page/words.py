"""What the sections share: codes with titles, tables, numbers as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dx2px.codes import Notation, title
from dx2px.report import markup
from dx2px.report.markup import Child, Markup, el, joined
from dx2px.scoring.subgroups import SMALLEST

SCOPE = (
    "The model learned how hospital stays were coded, for billing, after the stay. It predicts what was coded, not "
    "what a patient needs. It is a research tool, not medical advice."
)

SYNTHETIC = (
    "These stays are synthetic: no patient is behind them. Which procedure may follow which diagnosis was written by "
    "hand; how often it does was drawn at random. The numbers say how well the method finds that out."
)

FACT_NAMES = {
    "principal": "principal diagnosis",
    "age": "age",
    "sex": "sex",
    "admission": "type of admission",
}


def section(anchor: str, name: str, *children: Child) -> Markup:
    """A part of the page with its heading."""
    return el("section", el("h2", name), children, id=anchor, aria_label=name)


def figure(caption: str, picture: Child, *notes: str) -> Markup:
    """A chart: what it shows stands above, how to read it below."""
    return el("figure", el("figcaption", caption), picture, [el("p", note) for note in notes])


def code(text: str, names: Notation) -> Markup:
    """A code as people write it, with its title."""
    return el("span", el("span", names.write(text), class_="code"), f" {title(text).text}")


def bare(text: str, names: Notation) -> Markup:
    """A code alone; its title appears under the pointer."""
    return el("span", names.write(text), class_="code", title=title(text).text)


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Child]],
    *,
    numbers: Sequence[int] = (),
    bars: Sequence[int] = (),
    stacked: bool = False,
) -> Markup:
    """A table; columns in `numbers` are aligned to the right, columns in `bars` are wide.

    On a narrow screen it scrolls sideways; a `stacked` one shows the cells of a row below each other, with their heads.
    """
    named = [el("th", name, scope="col", class_=_class(i, numbers, bars)) for i, name in enumerate(heads)]
    body = [_row(row, heads if stacked else (), numbers, bars) for row in rows]
    kind = " ".join(
        name for name, wanted in ((f"bars bars-{len(bars)}", bars), ("stacked", stacked)) if wanted
    )
    return el("div", markup.table(named, body, class_=kind or None), class_="scroll")


def rendered(text: str) -> Markup:
    """Markdown as HTML; HTML inside it stays text, and pictures become their descriptions."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", _description)
    return Markup(reader.render(text))


def _description(renderer: Any, tokens: Any, place: int, options: Any, environment: Any) -> str:
    return joined(tokens[place].content)


def small_note(left_out: int, what: str) -> str:
    """How many were left out because their groups are too small to show; empty if none were."""
    if not left_out:
        return ""
    return f"Not shown: {few(left_out)} {what} in groups smaller than {SMALLEST}."


def few(number: int) -> str:
    """A count, or words for one that is too small to show."""
    return f"{number:,}" if number == 0 or number >= SMALLEST else f"fewer than {SMALLEST}"


def facts_words(facts: Sequence[str]) -> str:
    """The names of facts about a stay, in a sentence."""
    names = [FACT_NAMES[name] for name in facts]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def _row(cells: Sequence[Child], heads: Sequence[str], numbers: Sequence[int], bars: Sequence[int]) -> Markup:
    first, *rest = cells
    names = [*heads, *(None for _ in cells)]
    others = [
        el("td", cell, class_=_class(place, numbers, bars), data_head=names[place])
        for place, cell in enumerate(rest, start=1)
    ]
    return el("tr", el("th", first, scope="row"), others)


def _class(place: int, numbers: Sequence[int], bars: Sequence[int]) -> str | None:
    return "number" if place in numbers else "bar" if place in bars else None
