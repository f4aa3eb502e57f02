"""What people and programs write into a cell that has nothing to say.

In a column of codes such a word would be rejected as no code, cell by cell; in a column of patients it would make one
patient of all that are not known.
"""

from __future__ import annotations

from typing import Any

import ibis

from dx2px.cohort.engines import Engine
from dx2px.cohort.sources.entries import stripped

WORDS = (
    *(
        "nan",
        "na",
        "n/a",
        "n.a.",
        "<na>",
        "#n/a",
        "null",
        "(null)",
        "none",
        "nil",
        "missing",
        "unknown",
        "unk",
    ),
    *(
        "desconocido",
        "desconocida",
        "desconhecido",
        "ninguno",
        "ninguna",
        "nenhum",
        "no aplica",
        "não se aplica",
    ),
    *("sin dato", "sin datos", "sin informacion", "sin información", "-", "--", "---", ".", "?"),
)


def without_words(engine: Engine, table: Any) -> tuple[Any, int]:
    """The table with null in place of such words, in its text columns, and the number of these cells."""
    texts = [name for name in table.columns if table[name].type().is_string()]
    if not texts:
        return table, 0
    said = {name: stripped(table[name]).lower().isin(WORDS) for name in texts}
    cells = [ibis.ifelse(found, 1, 0) for found in said.values()]
    emptied = engine.value(sum(cells[1:], cells[0]).sum()) or 0
    if not emptied:
        return table, 0
    nothing = ibis.null("string")
    return table.mutate(**{n: ibis.ifelse(said[n], nothing, table[n]) for n in texts}), int(emptied)
