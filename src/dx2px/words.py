"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 stay`, `1,200 stays`; the plural ends in s unless it is given."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
