"""A user's own tables: long, wide or with list columns, as CSV or Parquet.

long   one code per row: stay, code [, system] [, patient] [, order]; one file for diagnoses and one for procedures
       (a folder with `diagnoses` and `procedures`, or a second file given by an option), or one with a kind column
wide   one stay per row: numbered columns such as dx1 … dx15 and px1 … px8
lists  one stay per row: two columns that hold lists (Parquet), or several codes separated by ; | , or blanks (CSV)

Columns that the user does not name are guessed from usual names, and the guess is reported. The principal diagnosis is
the first one by an order column (long), or the one in a column that the user names (wide, lists).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import (
    Extract,
    entries_of,
    stripped,
    version_of,
    whole_number,
    wide_entries,
)
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.table_columns import USUAL_LISTS, TableColumns
from dx2px.cohort.sources.table_context import first_place, stay_context
from dx2px.cohort.sources.words_for_nothing import without_words
from dx2px.errors import CohortError
from dx2px.words import counted

KIND_WORDS: dict[Kind, list[str]] = {
    "diagnosis": ["diagnosis", "diagnoses", "dx", "diag", "d", "condition"],
    "procedure": ["procedure", "procedures", "px", "pr", "proc", "p"],
}
LIST_SEPARATORS = r"[;|,\s]+"


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the user's file or files."""
    found = _files(tables, options)
    if isinstance(found, dict):
        readers = {kind: _Reader(tables, path, options) for kind, path in found.items()}
        parts = [reader.long(kind) for kind, reader in readers.items()]
    else:
        reader = _Reader(tables, found, options)
        readers = {"diagnosis": reader}
        parts = reader.single()
    notes = [note for reader in readers.values() for note in reader.notes]
    numeric = frozenset[Kind]().union(*(reader.numeric for reader in readers.values()))
    entries = ibis.union(*parts)
    entries = entries.mutate(version=entries.version.fill_null(_named_version(entries.code)))
    return Extract(entries, readers["diagnosis"].context, tuple(notes), numeric=numeric)


def _files(tables: Tables, options: SourceOptions) -> Any | dict[Kind, Any]:
    """One table that holds both kinds, or one table per kind."""
    if tables.single is None:
        diagnoses, procedures = tables.need("diagnoses", "procedures")
        return {"diagnosis": diagnoses, "procedure": procedures}
    if options.procedures_file is None:
        return tables.single
    return {"diagnosis": tables.single, "procedure": tables.second(options.procedures_file)}


@dataclass
class _Reader(TableColumns):
    """Reads one of the user's files or tables."""

    notes: list[str] = field(default_factory=list)
    numeric: set[Kind] = field(default_factory=set)
    context: Any | None = None  # of the stays; of two files, the one with the diagnoses gives it

    def single(self) -> list[Any]:
        """The entries of a file that holds both kinds, in any of the layouts."""
        groups = {kind: self.code_columns(kind) for kind in USUAL_LISTS}
        if all(groups.values()):
            return self._rows(groups)
        if self.column("kind") is None:
            if any(groups.values()):
                lacking = "procedures" if groups["diagnosis"] else "diagnoses"
                raise CohortError(
                    f"{self.path.name} has no column of {lacking}; {self.has()}. Name it with the options."
                )
            raise CohortError(
                f"{self.path.name} needs either numbered or list columns for diagnoses and procedures, or one code per "
                f"row and a column for its kind; {self.has()}. Name the columns with the options."
            )
        return [self._long(None)]

    def long(self, kind: Kind) -> Any:
        """The entries of a file that holds one kind, with one code per row."""
        return self._long(kind)

    def _long(self, kind: Kind | None) -> Any:
        if self.options.principal_column is not None:
            raise CohortError(
                f"{self.path.name} has one code per row, so no column can hold the principal diagnosis of a stay; "
                "leave out --principal. An order column says which diagnosis is the first."
            )
        stay, code = self.need("stay"), self.need("code")
        others = {role: self.column(role) for role in ("patient", "system", "order")}
        kinds = None if kind else self.need("kind")
        named = {"stay": stay, "code": code, "kind": kinds, **others}
        context = {} if kind == "procedure" else self.context_columns(named)
        wanted = [name for name in (*named.values(), *context.values()) if name]
        table = self._read(wanted)
        self._remember_numbers([code], [kind] if kind else list(KIND_WORDS))
        self.notes.append(f"{self.path.name}: " + self.described(named | context))
        self.context = stay_context(self.tables.engine, table, stay, context)
        return entries_of(
            table,
            file=self.path.name,
            field=code,
            kind=kind or _kind_of(table[kinds]),
            stay=table[stay],
            patient=table[others["patient"]] if others["patient"] else None,
            position=table[others["order"]] if others["order"] else None,
            code=table[code],
            version=self._version(table, others["system"], kind or _kind_of(table[kinds])),
            principal=None if kind == "procedure" else self._at_first_place(table, others["order"]),
        )

    def _read(self, columns: list[str]) -> Any:
        """The columns, with nothing in the cells that hold a word for nothing."""
        table = self.tables.read(self.path, list(dict.fromkeys(columns)))
        table, emptied = without_words(self.tables.engine, table)
        if emptied:
            cells = counted(emptied, "cell holds", "cells hold")
            self.notes.append(f"{self.path.name}: {cells} a word or sign for nothing and count as empty.")
        return table

    def _at_first_place(self, table: Any, order: str | None) -> Any | None:
        """Whether a code has the first place of its stay, by the order column if there is one."""
        if order is None:
            return None
        first = first_place(self.tables.engine, table[order])
        self.notes.append(
            f"{self.path.name}: the diagnosis whose {order} is {first} is the stay's principal diagnosis."
        )
        return whole_number(table[order]) == first

    def _rows(self, groups: dict[Kind, list[str]]) -> list[Any]:
        """The entries of a file with one stay per row."""
        roles = {role: self.column(role) for role in ("stay", "patient", "system")}
        codes = [name for columns in groups.values() for name in columns]
        principal = self.column("principal")
        context = self.context_columns({**roles, "principal": principal})
        wanted = [*codes, *(name for name in (*roles.values(), principal, *context.values()) if name)]
        table = self._read(wanted)
        stay = roles["stay"] or "line_as_stay"
        if roles["stay"] is None and not self.tables.numbered:
            self.need("stay")  # an error: rows of a database have no number to use instead
        if roles["stay"] is None:
            table = table.mutate(line_as_stay=table.line.cast("string"))
        shown: dict[str, str | None] = {kind: self.shown(kind, names) for kind, names in groups.items()}
        self.notes.append(
            f"{self.path.name}: "
            + self.described({**roles, "stay": stay, **shown, "principal": principal, **context})
        )
        self.context = stay_context(self.tables.engine, table, stay, context)
        first = {"diagnosis": principal, "procedure": None}
        return [
            self._row_entries(table, kind, names, stay, roles, first[kind]) for kind, names in groups.items()
        ]

    def _row_entries(
        self,
        table: Any,
        kind: Kind,
        columns: list[str],
        stay: str,
        roles: dict[str, str | None],
        principal: str | None,
    ) -> Any:
        self._remember_numbers([*columns, principal] if principal else columns, [kind])
        version = self._version(table, roles["system"], kind)
        if len(columns) > 1 or self._is_single_code(columns[0]):
            if roles["system"]:
                raise CohortError(
                    f"{self.path.name}: numbered code columns cannot have a system column; use --icd 9 or --icd 10, "
                    "or --icd-diagnoses and --icd-procedures."
                )
            return wide_entries(
                table,
                file=self.path.name,
                kind=kind,
                columns=columns if principal is None or principal in columns else [principal, *columns],
                stay=stay,
                patient=roles["patient"],
                version=version,
                principal=principal,
            )
        lists = self._lists(table, columns[0], principal)
        keys = {name: table[name] for name in {stay, roles["patient"], roles["system"]} if name}
        long = table.select(table.line, code_=lists, **keys).unnest("code_", offset="place_")
        long = long.filter(stripped(long.code_) != "")
        return entries_of(
            long,
            file=self.path.name,
            field=columns[0] if principal is None else long.place_.cases((0, principal), else_=columns[0]),
            kind=kind,
            stay=long[stay],
            patient=long[roles["patient"]] if roles["patient"] else None,
            position=long.place_,
            code=long.code_,
            version=self._version(long, roles["system"], kind),
            principal=None if principal is None else long.place_ == 0,
        )

    def _lists(self, table: Any, column: str, principal: str | None) -> Any:
        """The codes of each row as a list; its first place is that of the principal diagnosis if there is a column."""
        if column == principal:
            raise CohortError(
                f"{self.path.name}: {column} holds several diagnoses, so it cannot be the column of the principal one."
            )
        lists = table[column]
        if not lists.type().is_array():
            lists = stripped(lists).re_replace(LIST_SEPARATORS, ";").split(";")
        if principal is None:
            return lists
        first = ibis.array([stripped(table[principal])])
        return ibis.cases((lists.notnull(), first.concat(lists.cast("array<string>"))), else_=first)

    def _is_single_code(self, column: str) -> bool:
        """A lone column such as `dx1` holds one code; `dx` or `diagnoses` holds a list."""
        return bool(re.search(r"\d$", column))

    def _version(self, table: Any, system: str | None, kind: Any) -> Any:
        """The version of the codes of a kind, which may be a column; None if nobody says it."""
        if system:
            return version_of(table[system])
        if isinstance(kind, str):
            return self.options.version(kind)  # type: ignore[arg-type]
        versions = [(kind == one, _literal(self.options.version(one))) for one in KIND_WORDS]
        return ibis.cases(*versions, else_=ibis.null("int8"))

    def _remember_numbers(self, columns: list[str], kinds: list[Kind]) -> None:
        if any((self.path.name, column) in self.tables.numeric for column in columns):
            self.numeric |= set(kinds)


def _named_version(code: Any) -> Any:
    """The version that canonical codes name themselves, `icd9cm:4280`; null for others."""
    named = [(code.lower().re_search(f"^icd{n}(cm|pcs):"), ibis.literal(n, "int8")) for n in (9, 10)]
    return ibis.cases(*named, else_=ibis.null("int8"))


def _literal(version: int | None) -> Any:
    return ibis.null("int8") if version is None else ibis.literal(version, "int8")


def _kind_of(column: Any) -> Any:
    """`diagnosis`, `procedure` or null, from what people write in a kind column."""
    written = stripped(column).lower()
    branches = [(written.isin(words), ibis.literal(kind)) for kind, words in KIND_WORDS.items()]
    return ibis.cases(*branches, else_=ibis.null())
