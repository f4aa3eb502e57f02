"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]], right: int = 0) -> str:
    """A table with a heading; the last `right` columns are aligned to the right. A cell of None is empty."""
    rules = ["---"] * (len(head) - right) + ["--:"] * right
    lines = [_line(head), f"|{'|'.join(rules)}|", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[object]) -> str:
    shown = ("" if cell is None else str(cell).replace("|", r"\|") for cell in cells)
    return f"|{'|'.join(f' {text} ' if text else ' ' for text in shown)}|"
