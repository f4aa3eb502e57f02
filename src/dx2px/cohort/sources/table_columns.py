"""The columns of a user's own table: those that the user names, and usual names for the others."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import Any

from dx2px.codes import Kind
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.table_context import USUAL_CONTEXT
from dx2px.errors import CohortError
from dx2px.words import counted

USUAL_NAMES = {
    "stay": "stay_id stay hadm_id admission_id encounter_id encounter visit_id visit_occurrence_id visit "
    "claim_id clm_id hospitalization_id admission id_episodio episodio id_ingreso",
    "patient": "patient_id patient subject_id person_id member_id mrn desynpuf_id id_paciente paciente",
    "code": "code icd_code icd9_code icd10_code icd diagnosis_code procedure_code dx_code px_code",
    "kind": "kind code_kind code_type type",
    "system": "system code_system icd_version version vocabulary vocabulary_id",
    "order": "seq_num sequence position rank order seq",
    **USUAL_CONTEXT,
}
USUAL_LISTS: dict[Kind, str] = {
    "diagnosis": "diagnoses diagnosis dx diagnosis_codes dx_codes diagnosticos diagnósticos",
    "procedure": "procedures procedure px procedure_codes px_codes procedimientos procedimentos",
}
USUAL_NUMBERED: dict[Kind, str] = {
    "diagnosis": r"(dx|diag|diagnosis|diagn[oó]stico|i9_dx|i10_dx|icd9_dgns_cd|icd_dgns_cd)_?(code?)?_?(\d+)",
    "procedure": r"(px|pr|proc|procedure|procedimi?ento|i9_pr|i10_pr|icd9_prcdr_cd|icd_prcdr_cd)_?(code?)?_?(\d+)",
}


@dataclass
class TableColumns:
    """One of the user's files or tables, its columns found by name."""

    tables: Tables
    path: Any  # a file, or a table of a database
    options: SourceOptions

    def __post_init__(self) -> None:
        self.types = self.tables.columns(self.path)

    def code_columns(self, kind: Kind) -> list[str]:
        """The numbered columns of a kind in their order, or its list column."""
        if named := self._named(kind):
            return self._matching(named)
        numbered = [name for name in self.types if re.fullmatch(USUAL_NUMBERED[kind], name)]
        if numbered:
            return sorted(numbered, key=_number)
        return [name for name in USUAL_LISTS[kind].split() if name in self.types][:1]

    def _matching(self, patterns: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        for pattern in patterns:
            names = [name for name in self.types if fnmatch.fnmatchcase(name, pattern.lower())]
            if not names:
                raise CohortError(f"{self.path.name} has no column that matches {pattern}; {self.has()}.")
            found += sorted(names, key=_number)
        return list(dict.fromkeys(found))

    def column(self, role: str, taken: tuple[str, ...] = ()) -> str | None:
        """The column for a role: the one that the user named, else the first usual name that has no other role."""
        named: str | None = self._options_of_roles().get(role)
        if named is not None:
            if named.lower() not in self.types:
                raise CohortError(f"{self.path.name} has no column {named}; {self.has()}.")
            return named.lower()
        named_for_others = (name.lower() for name in self._options_of_roles().values())
        free = set(self.types).difference(taken, named_for_others)
        return next((name for name in USUAL_NAMES.get(role, "").split() if name in free), None)

    def need(self, role: str) -> str:
        """The column for a role that every table of this layout needs."""
        column = self.column(role)
        if column is None:
            raise CohortError(
                f"{self.path.name} has no column with a usual name for the {role}; {self.has()}. "
                f"Name it with --{role}-column."
            )
        return column

    def context_columns(self, others: dict[str, str | None]) -> dict[str, str | None]:
        """The columns for the context, among those that have no other role."""
        taken = tuple(name for name in others.values() if name)
        return {role: self.column(role, taken) for role in USUAL_CONTEXT}

    def described(self, columns: dict[str, str | None]) -> str:
        """For a note: which column has which role, and which of them were guessed."""
        named = set(self._options_of_roles())
        named |= {"diagnosis"} if self.options.diagnosis_columns else set()
        named |= {"procedure"} if self.options.procedure_columns else set()
        return ", ".join(
            f"{role} = {'the line number' if column == 'line_as_stay' else column}"
            + ("" if role in named else " (guessed)")
            for role, column in columns.items()
            if column
        )

    def shown(self, kind: Kind, names: list[str]) -> str:
        """A group of columns in a note: the user's own words, or usual names."""
        if named := self._named(kind):
            return f"{', '.join(named)} ({counted(len(names), 'column')})"
        return f"{names[0]} … {names[-1]}" if len(names) > 1 else names[0]

    def has(self) -> str:
        """For messages: which columns there are."""
        return self.tables.has_columns(self.path)

    def _options_of_roles(self) -> dict[str, str]:
        """The columns that the user named, by role."""
        named = {role: getattr(self.options, f"{role}_column") for role in (*USUAL_NAMES, "principal")}
        return {role: name for role, name in named.items() if name is not None}

    def _named(self, kind: Kind) -> tuple[str, ...]:
        return self.options.diagnosis_columns if kind == "diagnosis" else self.options.procedure_columns


def _number(name: str) -> int:
    digits = re.findall(r"\d+", name)
    return int(digits[-1]) if digits else 0
