"""Hospital stays as sets of codes: two ragged index arrays over two vocabularies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.codes import Kind, has_shape, split
from dx2px.cohort.file import CODE_LISTS, CohortFile, CohortWriter
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, CohortError
from dx2px.ragged import Ragged

WRITE_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Cohort:
    """Stays with their diagnoses and procedures.

    A subset keeps its parent's vocabularies, so indices mean the same in every part of a split.
    """

    stay_ids: pa.ChunkedArray  # (stays,) text
    patient_ids: pa.ChunkedArray | None  # (stays,) text, or None when the source has no patients
    diagnoses: Ragged
    procedures: Ragged
    diagnosis_vocabulary: Vocabulary
    procedure_vocabulary: Vocabulary
    context: pa.Table | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.diagnoses)

    def __repr__(self) -> str:
        return (
            f"Cohort({len(self):,} stays, {len(self.diagnosis_vocabulary):,} diagnoses, "
            f"{len(self.procedure_vocabulary):,} procedures)"
        )

    @classmethod
    def from_lists(
        cls,
        diagnoses: Sequence[Sequence[str]],
        procedures: Sequence[Sequence[str]],
        *,
        stay_ids: Sequence[str] | None = None,
        patient_ids: Sequence[str | None] | None = None,
    ) -> Cohort:
        """A cohort from lists of canonical codes, one list a stay."""
        if len(diagnoses) != len(procedures):
            raise CohortError(f"{len(diagnoses)} lists of diagnoses but {len(procedures)} of procedures.")
        ids = [str(row + 1) for row in range(len(diagnoses))] if stay_ids is None else stay_ids
        dx_vocabulary = Vocabulary.sorted(code for codes in diagnoses for code in codes)
        px_vocabulary = Vocabulary.sorted(code for codes in procedures for code in codes)
        cohort = cls(
            stay_ids=pa.chunked_array([pa.array(ids, pa.string())]),
            patient_ids=None
            if patient_ids is None
            else pa.chunked_array([pa.array(patient_ids, pa.string())]),
            diagnoses=Ragged.from_lists([dx_vocabulary.index(c) for c in codes] for codes in diagnoses),
            procedures=Ragged.from_lists([px_vocabulary.index(c) for c in codes] for codes in procedures),
            diagnosis_vocabulary=dx_vocabulary,
            procedure_vocabulary=px_vocabulary,
        )
        _check_stays(cohort, "These lists")
        return cohort

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cohort:
        """Read a cohort file; memory stays close to the size of the resulting arrays."""
        file = CohortFile(path)
        readers = {name: _ListReader(name, file.path) for name in CODE_LISTS}
        rest: list[pa.RecordBatch] = []
        kept = ["stay_id", "patient_id", *file.context_columns]
        for batch in file.batches():
            for name, reader in readers.items():
                reader.add(batch.column(name))
            rest.append(batch.select(kept))
        empty = pa.schema([file.schema.field(name) for name in kept])
        table = pa.Table.from_batches(rest, empty if not rest else None)
        (diagnoses, dx_vocabulary), (procedures, px_vocabulary) = (readers[n].finish() for n in CODE_LISTS)
        patients = table.column("patient_id")
        cohort = cls(
            stay_ids=table.column("stay_id"),
            patient_ids=None if patients.null_count == len(patients) else patients,
            diagnoses=diagnoses,
            procedures=procedures,
            diagnosis_vocabulary=dx_vocabulary,
            procedure_vocabulary=px_vocabulary,
            context=table.select(file.context_columns) if file.context_columns else None,
            provenance=file.provenance,
        )
        _check_stays(cohort, file.path)
        pa.default_memory_pool().release_unused()  # what reading took beyond the cohort itself
        return cohort

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cohort file, all or nothing."""
        with CohortWriter(path, None if self.context is None else self.context.schema) as writer:
            for start in range(0, len(self), WRITE_ROWS):
                writer.write(self._table(start, min(start + WRITE_ROWS, len(self))))
            writer.describe(self.provenance)

    def subset(self, rows: NDArray[np.integer] | Sequence[int]) -> Cohort:
        """The given stays, in the given order, over the same vocabularies."""
        picked = np.asarray(rows, dtype=np.int64)
        index = pa.array(picked)
        return replace(
            self,
            stay_ids=self.stay_ids.take(index),
            patient_ids=None if self.patient_ids is None else self.patient_ids.take(index),
            diagnoses=self.diagnoses.take(picked),
            procedures=self.procedures.take(picked),
            context=None if self.context is None else self.context.take(index),
        )

    def diagnoses_of(self, row: int) -> tuple[str, ...]:
        """The stay's diagnoses as canonical codes, in the source's order."""
        return tuple(self.diagnosis_vocabulary[i] for i in self.diagnoses[row])

    def procedures_of(self, row: int) -> tuple[str, ...]:
        """The stay's procedures as canonical codes, in the source's order."""
        return tuple(self.procedure_vocabulary[i] for i in self.procedures[row])

    @cached_property
    def diagnosis_counts(self) -> NDArray[np.int64]:
        """Number of stays with each diagnosis."""
        return self.diagnoses.counts(len(self.diagnosis_vocabulary))

    @cached_property
    def procedure_counts(self) -> NDArray[np.int64]:
        """Number of stays with each procedure."""
        return self.procedures.counts(len(self.procedure_vocabulary))

    def _table(self, start: int, stop: int) -> pa.Table:
        size = stop - start
        patients = (
            pa.nulls(size, pa.string())
            if self.patient_ids is None
            else self.patient_ids.slice(start, size).combine_chunks()
        )
        columns = {
            "stay_id": self.stay_ids.slice(start, size),
            "patient_id": patients,
            "diagnoses": _list_array(self.diagnoses, self.diagnosis_vocabulary, start, stop),
            "procedures": _list_array(self.procedures, self.procedure_vocabulary, start, stop),
        }
        if self.context is not None:
            part = self.context.slice(start, size)
            columns |= {name: part.column(name) for name in part.column_names}
        return pa.table(columns)


class _ListReader:
    """Gathers one list column, batch by batch, into a Ragged and its vocabulary."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.first_seen: dict[str, int] = {}
        self.lengths: list[NDArray[np.int32]] = []
        self.values: list[NDArray[np.int32]] = []

    def add(self, column: pa.ListArray) -> None:
        flat = column.flatten()
        if column.null_count or flat.null_count:
            raise CohortError(f"{self.path} is not a cohort file: column {self.name} holds missing values.")
        coded = flat.dictionary_encode()
        own = [
            self.first_seen.setdefault(code, len(self.first_seen)) for code in coded.dictionary.to_pylist()
        ]
        self.values.append(np.asarray(own, dtype=np.int32)[coded.indices.to_numpy(zero_copy_only=False)])
        self.lengths.append(np.diff(column.offsets.to_numpy()).astype(np.int32))

    def finish(self) -> tuple[Ragged, Vocabulary]:
        vocabulary = Vocabulary.sorted(self.first_seen)
        place = np.array([vocabulary.index(code) for code in self.first_seen], dtype=np.int32)
        offsets = np.zeros(sum(map(len, self.lengths)) + 1, dtype=np.int64)
        if self.lengths:
            np.cumsum(np.concatenate(self.lengths), out=offsets[1:])
        values = np.empty(sum(map(len, self.values)), np.int32)
        start = 0
        while self.values:  # each part is let go as soon as it is copied
            part = self.values.pop(0)
            values[start : start + len(part)] = place[part]
            start += len(part)
        return Ragged(offsets, values), vocabulary


def _list_array(ragged: Ragged, vocabulary: Vocabulary, start: int, stop: int) -> pa.ListArray:
    offsets = ragged.offsets[start : stop + 1]
    codes = pa.array(vocabulary.codes, pa.string())
    values = codes.take(pa.array(ragged.values[offsets[0] : offsets[-1]]))
    return pa.ListArray.from_arrays(pa.array((offsets - offsets[0]).astype(np.int32)), values)


def _check_stays(cohort: Cohort, where: str) -> None:
    """Every stay has both kinds of code, each code once; codes are canonical text of the right kind."""
    problems: list[str] = []
    for name, ragged in (("diagnoses", cohort.diagnoses), ("procedures", cohort.procedures)):
        if np.any(ragged.lengths == 0):
            problems.append(f"some stays have no {name}")
        if ragged.has_repeats():
            problems.append(f"some stays repeat a code among their {name}")
    problems += strangers(cohort.diagnosis_vocabulary, "diagnosis")
    problems += strangers(cohort.procedure_vocabulary, "procedure")
    if problems:
        raise CohortError(f"{where} cannot be a cohort: {'; '.join(problems)}.")


def strangers(vocabulary: Vocabulary, kind: Kind) -> list[str]:
    """What is wrong with the codes of a vocabulary, in words; empty when nothing is."""
    wrong = [code for code in vocabulary if not _is_canonical(code, kind)]
    return [f"{len(wrong)} codes are not canonical {kind} codes ({wrong[0][:40]!r} for one)"] if wrong else []


def _is_canonical(code: str, kind: Kind) -> bool:
    try:
        system, bare = split(code)
    except CodeError:
        return False
    return system.kind == kind and has_shape(bare, system)
