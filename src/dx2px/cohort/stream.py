"""A cohort larger than memory: its stays are streamed, one row group at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort.code_lists import code_problems, list_problems, numbered, refuse
from dx2px.cohort.cohort import Cohort
from dx2px.cohort.context import CONTEXT, context_problems, in_contract_types
from dx2px.cohort.file import CODE_LISTS, CohortFile
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CohortError
from dx2px.ragged import Index, Ragged, joined, offsets_of


class CohortStream:
    """A cohort file and its vocabularies; opening it reads the file once, to find them and to check the stays."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = CohortFile(path)
        self.path = self._file.path
        self.provenance: Mapping[str, Any] = self._file.provenance
        self.group_sizes = self._file.group_sizes
        self.has_patients = False
        self.diagnosis_vocabulary, self.procedure_vocabulary = self._survey()

    def __len__(self) -> int:
        return self._file.stays

    def groups(self, name: str) -> Iterator[Ragged]:
        """The code lists of one kind, `diagnoses` or `procedures`, one row group at a time, in file order."""
        for number in range(len(self.group_sizes)):
            yield self.group(number, (name,))[0]

    def group(self, number: int, names: Sequence[str] = CODE_LISTS) -> list[Ragged]:
        """The code lists of one row group."""
        table = self._file.group(number, names)
        return [self._indexed(table, name) for name in names]

    def ids(self) -> Iterator[tuple[list[str], list[str | None]]]:
        """The ids of stays and patients, one row group at a time."""
        for number in range(len(self.group_sizes)):
            table = self._file.group(number, ("stay_id", "patient_id"))
            yield table.column("stay_id").to_pylist(), table.column("patient_id").to_pylist()

    def subset(self, rows: NDArray[np.integer]) -> Cohort:
        """Some stays, in memory, with the vocabularies of the whole file; rows must be in ascending order."""
        if np.any(np.diff(rows) <= 0):
            raise CohortError(
                "A stream can only be read forwards: give the rows in ascending order, each once."
            )
        starts = np.concatenate([[0], np.cumsum(self.group_sizes)])
        cuts = np.searchsorted(rows, starts)
        chosen = [
            self._taken(number, rows[lo:hi] - starts[number])
            for number, (lo, hi) in enumerate(pairwise(cuts))
            if hi > lo or (number == 0 and not len(rows))  # an empty cohort still needs its columns
        ]
        lists, rest = zip(*chosen, strict=True)
        diagnoses, procedures = (joined(parts) for parts in zip(*lists, strict=True))
        return self._cohort(pa.concat_tables(rest), diagnoses, procedures)

    def _cohort(self, table: pa.Table, diagnoses: Ragged, procedures: Ragged) -> Cohort:
        context = self._file.context_columns
        return Cohort(
            stay_ids=table.column("stay_id"),
            patient_ids=table.column("patient_id") if self.has_patients else None,
            diagnoses=diagnoses,
            procedures=procedures,
            diagnosis_vocabulary=self.diagnosis_vocabulary,
            procedure_vocabulary=self.procedure_vocabulary,
            context=in_contract_types(table.select(context)) if context else None,
            provenance=self.provenance,
        )

    def _taken(self, number: int, rows: NDArray[np.integer]) -> tuple[list[Ragged], pa.Table]:
        kept = ("stay_id", "patient_id", *self._file.context_columns)
        lists = [ragged.take(rows) for ragged in self.group(number)]
        return lists, self._file.group(number, kept).take(pa.array(rows, pa.int64()))

    def _survey(self) -> tuple[Vocabulary, Vocabulary]:
        """Read the file once for its vocabularies and whether patients are known, and check every stay."""
        seen: dict[str, set[str]] = {name: set() for name in CODE_LISTS}
        problems: set[str] = set()  # a set, since every row group may report the same one
        context = [name for name in self._file.context_columns if name in CONTEXT.names]
        for number in range(len(self.group_sizes)):
            table = self._file.group(number, ("patient_id", *CODE_LISTS, *context))
            problems.update(context_problems(in_contract_types(table.select(context))))
            patients = table.column("patient_id")
            self.has_patients |= patients.null_count < len(patients)
            for name in CODE_LISTS:
                lengths, codes, numbers = self._numbered(table, name)
                # A dictionary may hold codes of other row groups: only those that occur here count.
                used = np.bincount(numbers, minlength=len(codes)) > 0
                seen[name].update(code for code, occurs in zip(codes, used, strict=True) if occurs)
                problems.update(list_problems(Ragged(offsets_of(lengths), numbers), name))
        diagnoses, procedures = (Vocabulary.sorted(seen[name]) for name in CODE_LISTS)
        codes_found = [*code_problems(diagnoses, "diagnosis"), *code_problems(procedures, "procedure")]
        refuse(self.path, [*sorted(problems), *codes_found])
        return diagnoses, procedures

    def _indexed(self, table: pa.Table, name: str) -> Ragged:
        vocabulary = self.diagnosis_vocabulary if name == "diagnoses" else self.procedure_vocabulary
        lengths, codes, numbers = self._numbered(table, name)
        # A code that the vocabulary lacks is one that the dictionary holds but no stay uses: any index will do.
        place = np.array([vocabulary.get(code) or 0 for code in codes], np.int32)
        return Ragged(offsets_of(lengths), place[numbers])

    def _numbered(self, table: pa.Table, name: str) -> tuple[NDArray[Any], list[str], Index]:
        return numbered(table.column(name).combine_chunks(), name, self.path)
