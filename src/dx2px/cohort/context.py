"""The context columns that mean the same in every cohort: what is known about a stay besides its codes.

| column    | type  | meaning                                                                                     |
|-----------|-------|---------------------------------------------------------------------------------------------|
| principal | text  | the principal diagnosis, a canonical code; it need not be among the stay's diagnoses, since  |
|           |       | a minimum count may have removed it there                                                   |
| age       | int32 | whole years at admission                                                                    |
| sex       | text  | `F` or `M`                                                                                  |
| admission | text  | the type of admission in the source's words, in lower case                                  |

Each is null where the source does not say. A cohort may lack some of them and may have further columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dx2px.cohort.code_lists import is_canonical

CONTEXT = pa.schema(
    [("principal", pa.string()), ("age", pa.int32()), ("sex", pa.string()), ("admission", pa.string())]
)
SEXES = ("F", "M")
OLDEST = 130


def context_table(columns: dict[str, Sequence[Any] | None], stays: int) -> tuple[pa.Table | None, list[str]]:
    """Columns of the contract from sequences, None if there are none, and what is wrong with them."""
    arrays, problems = {}, []
    for name, values in columns.items():
        if values is None:
            continue
        if len(values) != stays:
            problems.append(f"there are {len(values)} values of {name} for {stays} stays")
        try:
            arrays[name] = pa.array(values)
        except (pa.ArrowException, TypeError):  # values of several types
            problems.append(_problem(name))
    if problems or not arrays:
        return None, problems
    table = in_contract_types(pa.table(arrays))
    return table, context_problems(table)


def in_contract_types(context: pa.Table) -> pa.Table:
    """The same columns; those of the contract in its types, where this loses nothing."""
    for place, field in enumerate(context.schema):
        if field.name in CONTEXT.names:
            context = context.set_column(place, field.name, _fitted(field.name, context.column(place)))
    return context


def context_problems(context: pa.Table) -> list[str]:
    """What is wrong with the columns of the contract, without their values; `in_contract_types` comes first."""
    return [
        _problem(name)
        for name, (_, holds) in _RULES.items()
        if name in context.column_names and not _keeps(context.column(name), CONTEXT.field(name).type, holds)
    ]


def _problem(name: str) -> str:
    return f"the column {name} must hold {_RULES[name][0]}, or null where that is not known"


def _fitted(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    found, wanted = column.type, CONTEXT.field(name).type
    text = found.value_type if pa.types.is_dictionary(found) else found
    same = pa.types.is_integer(found) if name == "age" else _is_text(text)
    if found == wanted or not (same or pa.types.is_null(found)):
        return column
    try:
        return column.cast(wanted)
    except pa.ArrowException:  # a number too large for the type
        return column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _keeps(column: pa.ChunkedArray, kind: pa.DataType, holds: Callable[[list[Any]], bool]) -> bool:
    return column.type == kind and holds(column.unique().drop_null().to_pylist())


def _are_lower_case(texts: list[str]) -> bool:
    return bool(pc.all(pc.equal(pc.utf8_lower(pa.array(texts, pa.string())), texts), min_count=0).as_py())


_RULES: dict[str, tuple[str, Callable[[list[Any]], bool]]] = {
    "principal": (
        "canonical diagnosis codes such as icd9cm:5409",
        lambda codes: all(is_canonical(code, "diagnosis") for code in codes),
    ),
    "age": (f"whole years from 0 to {OLDEST}", lambda ages: all(0 <= age <= OLDEST for age in ages)),
    "sex": ("F or M", lambda sexes: set(sexes) <= set(SEXES)),
    "admission": ("text in lower case", _are_lower_case),
}
