"""Code entries, the form that every source is brought to: one row per code of a stay.

| column    | meaning                                                                  |
|-----------|--------------------------------------------------------------------------|
| file      | the file or table that has the entry                                     |
| line      | its line there (null in a database)                                      |
| field     | the column that has the code                                             |
| stay      | the stay's id, text                                                      |
| patient   | the patient's id, text or null                                           |
| kind      | `diagnosis` or `procedure`                                               |
| position  | the order among the stay's codes of this kind, or null                   |
| code      | the code as written, without surrounding blanks; null if there is none   |
| version   | 9 or 10; NOT_ICD for another vocabulary; null if the source gives none   |
| principal | PRINCIPAL if the source calls it the stay's principal diagnosis; else    |
|           | null. LESS_PRINCIPAL counts only in a stay that has no PRINCIPAL         |
| refused   | the reason why the entry cannot be used, whatever its code, or null;     |
|           | only sources that know such reasons have this column                     |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ibis

from dx2px.codes import Kind

NOT_ICD = -1
PRINCIPAL, LESS_PRINCIPAL = 1, 2
# Patterns that every engine reads the same way. Blanks are removed by pattern as well, because on Spark Ibis' `strip`
# also removes the letters v and f (it takes \v and \f literally).
BLANKS = r"[ \t\n\r\f\x0b]+"
FILLED = r"[^ \t\n\r\f\x0b-]"  # a cell of blanks and hyphens holds no code
WHOLE, WHOLE_WITH_POINT = r"^-?[0-9]{1,18}$", r"^-?[0-9]{1,15}\.0*$"
VERSIONS = {
    9: r"^(0?9(\.0)?|icd[ _-]*9([ _-]*(cm|pcs|proc|dx|px))?)$",
    10: r"^(10(\.0)?|icd[ _-]*10([ _-]*(cm|pcs|proc|dx|px))?)$",
}


@dataclass(frozen=True)
class Extract:
    """What a source gives: entries, the context of the stays, and notes for the user."""

    entries: Any  # an Ibis table of the columns above
    context: Any | None = None  # an Ibis table: `stay` and context columns, at most one row per stay
    notes: tuple[str, ...] = ()
    rows: int | None = None  # rows of the tables, if each is one entry: no join may add or lose any
    numeric: frozenset[Kind] = field(default_factory=frozenset)  # kinds whose codes were stored as numbers


def stripped(column: Any) -> Any:
    """Text without surrounding blanks; a whole number as its digits."""
    if column.type().is_integer():
        return column.cast("string")
    return column.cast("string").re_replace(f"^{BLANKS}|{BLANKS}$", "")


def text(column: Any) -> Any:
    """Text without surrounding blanks; null if nothing is left."""
    return stripped(column).nullif("")


def whole_number(column: Any) -> Any:
    """The whole number that a text shows, else null. By pattern, since not every engine can try a cast."""
    if column.type().is_integer():
        return column.cast("int64")
    written = text(column)
    return ibis.cases(
        (written.re_search(WHOLE), written.cast("int64")),
        (written.re_search(WHOLE_WITH_POINT), written.cast("float64").cast("int64")),
        else_=ibis.null("int64"),
    )


def version_of(column: Any) -> Any:
    """9 or 10, from what people write in a version or system column: 9, ICD-9-CM, icd10pcs, ICD10CM …

    Anything else is not ICD. Nothing is taken out of the text first: a control character in `1\\x000` may stand for a
    lost one.
    """
    written = text(column).lower()
    branches = [(written.re_search(pattern), ibis.literal(version)) for version, pattern in VERSIONS.items()]
    return ibis.cases(*branches, else_=NOT_ICD).cast("int8")


def entries_of(
    table: Any,
    *,
    file: Any,
    field: Any,
    kind: Any,
    stay: Any,
    code: Any,
    patient: Any = None,
    position: Any = None,
    version: Any = None,
    principal: Any = None,
    refused: Any = None,
) -> Any:
    """The entries of a table with one code per row; `principal` is a condition or a column of numbers, as above."""
    null = ibis.null()
    return table.select(
        file=ibis.literal(file) if isinstance(file, str) else file,
        line=table.line,
        field=field if not isinstance(field, str) else ibis.literal(field),
        stay=text(stay),
        patient=null.cast("string") if patient is None else text(patient),
        kind=ibis.literal(kind) if isinstance(kind, str) else kind,
        position=null.cast("int64") if position is None else whole_number(position),
        code=text(code),
        version=null.cast("int8")
        if version is None
        else (ibis.literal(version, "int8") if isinstance(version, int) else version),
        principal=null.cast("int8") if principal is None else _mark(principal),
        **({} if refused is None else {"refused": refused}),
    )


def _mark(principal: Any) -> Any:
    if not principal.type().is_boolean():
        return principal.cast("int8")
    return ibis.cases((principal, ibis.literal(PRINCIPAL, "int8")), else_=ibis.null("int8"))


def wide_entries(
    table: Any,
    *,
    file: str,
    kind: Kind,
    columns: list[str],
    stay: str,
    patient: str | None = None,
    version: Any = None,
    principal: str | None = None,
) -> Any:
    """The entries of a table with one stay per row and its codes in several columns; blank cells are skipped.

    `principal` is the one of the columns that holds the principal diagnosis.
    """
    keys = [table[stay].name("stay_"), table.line]
    if patient is not None:
        keys.append(table[patient].name("patient_"))
    cells = ibis.array([table[name].cast("string") for name in columns])
    long = table.select(*keys, code_=cells).unnest("code_", offset="place_")
    long = long.filter(long.code_.cast("string").re_search(FILLED))
    return entries_of(
        long,
        file=file,
        field=long.place_.cases(*enumerate(columns), else_=ibis.null("string")),
        kind=kind,
        stay=long.stay_,
        patient=None if patient is None else long.patient_,
        position=long.place_,
        code=long.code_,
        version=version,
        principal=None if principal is None else long.place_ == columns.index(principal),
    )
