"""A cohort that is never held whole: its stays pass by, row group by row group."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort.cohort import Cohort, strangers
from dx2px.cohort.file import CODE_LISTS, CohortFile
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CohortError
from dx2px.ragged import Index, Ragged, offsets_of


class CohortStream:
    """A cohort file with the vocabularies that its stays have together; opening it reads the file once."""

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
        """The code lists of one kind, `diagnoses` or `procedures`, a row group at a time, in file order."""
        for number in range(len(self.group_sizes)):
            yield self.group(number, (name,))[0]

    def group(self, number: int, names: Sequence[str] = CODE_LISTS) -> list[Ragged]:
        """The code lists of one row group."""
        table = self._file.group(number, names)
        return [self._indexed(table.column(name), name) for name in names]

    def ids(self) -> Iterator[tuple[list[str], list[str | None]]]:
        """The ids of stays and patients, a row group at a time."""
        for number in range(len(self.group_sizes)):
            table = self._file.group(number, ("stay_id", "patient_id"))
            yield table.column("stay_id").to_pylist(), table.column("patient_id").to_pylist()

    def subset(self, rows: NDArray[np.integer]) -> Cohort:
        """Some stays, held, over the vocabularies of all; rows must ascend."""
        if np.any(np.diff(rows) <= 0):
            raise CohortError("Stays are read from a stream in ascending order.")
        starts = np.concatenate([[0], np.cumsum(self.group_sizes)])
        cuts = np.searchsorted(rows, starts)
        chosen = [
            self._taken(number, rows[lo:hi] - starts[number])
            for number, (lo, hi) in enumerate(pairwise(cuts))
            if hi > lo or (number == 0 and not len(rows))  # no stays still have columns
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
            context=table.select(context) if context else None,
            provenance=self.provenance,
        )

    def _taken(self, number: int, rows: NDArray[np.integer]) -> tuple[list[Ragged], pa.Table]:
        kept = ("stay_id", "patient_id", *self._file.context_columns)
        lists = [ragged.take(rows) for ragged in self.group(number)]
        return lists, self._file.group(number, kept).take(pa.array(rows, pa.int64()))

    def _survey(self) -> tuple[Vocabulary, Vocabulary]:
        seen: dict[str, set[str]] = {name: set() for name in CODE_LISTS}
        problems: set[str] = set()
        for number in range(len(self.group_sizes)):
            table = self._file.group(number, ("patient_id", *CODE_LISTS))
            patients = table.column("patient_id")
            self.has_patients |= patients.null_count < len(patients)
            for name in CODE_LISTS:
                lengths, codes, indices = self._numbered(table.column(name), name)
                used = np.bincount(indices, minlength=len(codes)) > 0
                seen[name].update(code for code, occurs in zip(codes, used, strict=True) if occurs)
                problems |= _problems(Ragged(offsets_of(lengths), indices), name)
        vocabularies = Vocabulary.sorted(seen["diagnoses"]), Vocabulary.sorted(seen["procedures"])
        found = (
            sorted(problems)
            + strangers(vocabularies[0], "diagnosis")
            + strangers(vocabularies[1], "procedure")
        )
        if found:
            raise CohortError(f"{self.path} cannot be a cohort: {'; '.join(found)}.")
        return vocabularies

    def _indexed(self, column: pa.ChunkedArray, name: str) -> Ragged:
        vocabulary = self.diagnosis_vocabulary if name == "diagnoses" else self.procedure_vocabulary
        lengths, codes, indices = self._numbered(column, name)
        place = np.array([vocabulary.get(code) or 0 for code in codes], np.int32)
        return Ragged(offsets_of(lengths), place[indices])

    def _numbered(self, column: pa.ChunkedArray, name: str) -> tuple[NDArray[Any], list[str], Index]:
        """Lengths of the lists, codes, and the number of the code at each place."""
        lists = column.combine_chunks()
        flat = lists.flatten()
        if lists.null_count or flat.null_count:
            raise CohortError(f"{self.path} is not a cohort file: column {name} holds missing values.")
        coded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
        indices = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
        return np.diff(lists.offsets.to_numpy()), coded.dictionary.to_pylist(), indices


def joined(parts: Sequence[Ragged]) -> Ragged:
    """The rows of all parts, one after the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(offsets_of(lengths), np.concatenate([part.values for part in parts]))


def _problems(lists: Ragged, name: str) -> set[str]:
    found = set()
    if np.any(lists.lengths == 0):
        found.add(f"some stays have no {name}")
    if lists.has_repeats():
        found.add(f"some stays repeat a code among their {name}")
    return found
