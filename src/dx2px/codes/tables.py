"""The tables in `data/`: chapters, headings and word lists that the code lists of `catalogue` do not hold.

Each is a tab-separated file: comment lines that say what it holds and where it comes from, one line of column
names, then the rows.
"""

from functools import cache


@cache
def rows(table: str) -> tuple[tuple[str, ...], ...]:
    """The rows of `data/<table>.tsv`, in file order."""
    from importlib.resources import files  # slow to import, and `dx2px --help` reads no table

    text = files("dx2px.codes").joinpath("data", f"{table}.tsv").read_text(encoding="utf-8")
    _, *lines = (line for line in text.splitlines() if not line.startswith("#"))
    return tuple(tuple(line.split("\t")) for line in lines)
