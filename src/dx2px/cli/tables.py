"""Tables that keep their labels on a narrow terminal.

Headings wrap first, then texts; numbers and codes are never cut. If that is not enough, the columns of numbers are
spread over several tables, each of which repeats the labels.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

WITHOUT_TERMINAL = 110  # characters of a line that goes to a file or another program
SHORTEST_TEXT = 14  # characters that a column of texts keeps, if it has them
LONGEST_WORD = 24  # longer words are broken
_NUMBER = re.compile(r"–|[<≤]? ?[+-]?[\d.,]+ ?%?(?: ± [\d.,]+)?")
BETWEEN, EDGES = 3, 2  # blanks between two columns, and at both edges together


class Strong(str):
    """A cell that stands out."""

    __slots__ = ()


@dataclass(frozen=True)
class Column:
    """A column and how wide it may be."""

    name: str
    cells: Sequence[str]
    number: bool
    code: bool

    @property
    def natural(self) -> int:
        """The width at which nothing wraps."""
        return max(map(len, (self.name, *self.cells)), default=0)

    @property
    def least(self) -> int:
        """The width below which something would be cut."""
        heading = max(map(len, self.name.split()), default=0)
        if self.number or self.code:
            return max((heading, *map(len, self.cells)))
        words = [len(word) for cell in self.cells for word in cell.split()]
        return min(self.natural, max(SHORTEST_TEXT, heading, min(max(words, default=0), LONGEST_WORD)))


def columns_of(names: Sequence[str], rows: Sequence[Sequence[str]], codes: Sequence[int]) -> list[Column]:
    """The columns of a table; a column is one of numbers if all its cells are, except `codes`."""
    found = []
    for place, name in enumerate(names):
        cells = [row[place] for row in rows]
        number = place not in codes and all(map(_is_number, cells))
        found.append(Column(name, cells, number, place in codes))
    return found


def blocks(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """The columns of each table: all in one if they fit, else the labels with some of the others each.

    The labels are the first columns, to the end of the first texts and codes.
    """
    texts = [place for place, one in enumerate(columns) if not one.number]
    start = texts[0] if texts else 0
    labels = next((place for place, one in enumerate(columns) if one.number and place > start), len(columns))
    found = [list(columns[:labels])]
    for one in columns[labels:]:
        if len(found[-1]) > labels and _width([col.least for col in (*found[-1], one)]) > room:
            found.append(list(columns[:labels]))
        found[-1].append(one)
    return found


def widths(columns: Sequence[Column], room: int) -> list[int]:
    """The width of each column: its natural one, or less in the widest columns, but no less than it needs."""
    found, least = [one.natural for one in columns], [one.least for one in columns]
    while _width(found) > room:
        wide = [place for place in range(len(found)) if found[place] > least[place]]
        if not wide:
            break
        found[max(wide, key=lambda place: found[place])] -= 1
    return found


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, codes: Sequence[int] = ()
) -> None:
    """Print a table; columns of numbers are aligned to the right, except `codes`, which only look like numbers."""
    from rich.console import Console
    from rich.text import Text

    body = [[_shown(cell) for cell in row] for row in rows]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WITHOUT_TERMINAL)
    if title:
        console.print(Text(title), soft_wrap=not console.is_terminal)
    for block in blocks(columns_of(columns, body, codes), console.width):
        console.print(_table(block, console.width))


def _table(columns: Sequence[Column], room: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    # Text objects, because rich would read brackets in codes and titles as its markup.
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for one, width in zip(columns, widths(columns, room), strict=True):
        table.add_column(
            Text(one.name), justify="right" if one.number else "left", width=width, overflow="fold"
        )
    for cells in zip(*(one.cells for one in columns), strict=True):
        table.add_row(*(Text(cell, "bold" if isinstance(cell, Strong) else "") for cell in cells))
    return table


def _width(parts: Sequence[int]) -> int:
    return sum(parts) + BETWEEN * (len(parts) - 1) + EDGES


def _shown(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell if isinstance(cell, str) else str(cell)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None
