"""Hospital stays as sets of codes: two ragged index arrays over two vocabularies."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort.code_lists import ListReader, code_problems, list_array, list_problems, refuse
from dx2px.cohort.context import context_problems, context_table, in_contract_types
from dx2px.cohort.each_stay import Stay, stays_of
from dx2px.cohort.file import CODE_LISTS, CohortFile, CohortWriter
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CohortError, InputError
from dx2px.ragged import Ragged
from dx2px.words import called

if TYPE_CHECKING:
    from dx2px.cohort.frames import FrameSettings, Layout

WRITE_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class Cohort:
    """Stays with their diagnoses and procedures.

    A subset keeps its parent's vocabularies, so an index means the same code in every part of a split.

    Attributes:
        stay_ids: One text per stay.
        patient_ids: One text per stay, null where the patient is unknown; None if the source identifies no patients.
        diagnoses: The diagnoses of each stay, as indices into `diagnosis_vocabulary`.
        procedures: The procedures of each stay, as indices into `procedure_vocabulary`.
        diagnosis_vocabulary: All diagnosis codes.
        procedure_vocabulary: All procedure codes.
        context: Further columns, one row per stay: `principal`, `age`, `sex`, `admission` where they are known, and
            whatever else the source has.
        provenance: Source, settings and counts of `prepare`.
    """

    stay_ids: pa.ChunkedArray
    patient_ids: pa.ChunkedArray | None
    diagnoses: Ragged
    procedures: Ragged
    diagnosis_vocabulary: Vocabulary
    procedure_vocabulary: Vocabulary
    context: pa.Table | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.diagnoses)

    def __iter__(self) -> Iterator[Stay]:
        """Its stays, one after another."""
        return stays_of(self)

    def __getitem__(self, row: int) -> Stay:
        """The stay in a row; negative rows count from the end."""
        try:
            return next(stays_of(self, range(len(self))[operator.index(row)]))
        except TypeError:
            raise TypeError("a cohort is asked for one row at a time; `subset` takes several") from None
        except IndexError:
            raise IndexError(f"there is no row {row} among {len(self):,} stays") from None

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
        principal: Sequence[str | None] | None = None,
        age: Sequence[int | None] | None = None,
        sex: Sequence[str | None] | None = None,
        admission: Sequence[str | None] | None = None,
    ) -> Cohort:
        """Make a cohort from lists of canonical codes.

        Args:
            diagnoses: One list of codes per stay.
            procedures: One list of codes per stay, in the same order.
            stay_ids: One id per stay; numbers from 1 by default.
            patient_ids: One id per stay, None where it is unknown.
            principal: The principal diagnosis of each stay as a canonical code, None where it is unknown.
            age: Whole years at admission.
            sex: `F` or `M`.
            admission: The type of admission, in lower case.

        Raises:
            CohortError: The numbers of lists differ, a list is empty or has a code twice, a code is not canonical, or
                one of the last four holds something else.
        """
        if len(diagnoses) != len(procedures):
            raise CohortError(
                f"There are {len(diagnoses)} lists of diagnoses but {len(procedures)} of procedures; "
                "give one of each per stay."
            )
        ids = [str(row + 1) for row in range(len(diagnoses))] if stay_ids is None else stay_ids
        dx_vocabulary = Vocabulary.sorted(code for codes in diagnoses for code in codes)
        px_vocabulary = Vocabulary.sorted(code for codes in procedures for code in codes)
        context, problems = context_table(
            {"principal": principal, "age": age, "sex": sex, "admission": admission}, len(diagnoses)
        )
        refuse("These lists", problems)
        cohort = cls(
            stay_ids=pa.chunked_array([pa.array(ids, pa.string())]),
            patient_ids=None
            if patient_ids is None
            else pa.chunked_array([pa.array(patient_ids, pa.string())]),
            diagnoses=Ragged.from_lists([dx_vocabulary.index(c) for c in codes] for codes in diagnoses),
            procedures=Ragged.from_lists([px_vocabulary.index(c) for c in codes] for codes in procedures),
            diagnosis_vocabulary=dx_vocabulary,
            procedure_vocabulary=px_vocabulary,
            context=context,
        )
        _check_stays(cohort, "These lists")
        return cohort

    @classmethod
    def from_arrow(cls, frame: Any, **settings: Unpack[FrameSettings]) -> Cohort:
        """Make a cohort from an Arrow table, or from anything that offers its columns as Arrow (polars, DuckDB, …).

        The columns may be long (one code per row), wide (`dx1 … dxN`, `px1 … pxN`) or lists, as for
        `prepare("table", …)`, which reads them: what it cannot use is counted in `provenance["counts"]`, what it
        guessed is in `provenance["notes"]`, and what looks wrong is a Python warning. Needs `dx2px[train]`, except for
        a table from `to_arrow()`.

        Args:
            frame: The table; with `procedures`, that of the diagnoses.
            settings: `procedures` (a second table), `options` (a `SourceOptions`: ICD version, column names),
                `min_count`, `repeat_min_count`, `strict` and `max_rejected`, as for `prepare`.

        Raises:
            CohortError: The table cannot be read, too much of it is rejected, or no stay is left.
        """
        from dx2px.cohort.frames import cohort_of

        return cohort_of(frame, **settings)

    @classmethod
    def from_pandas(cls, frame: Any, **settings: Unpack[FrameSettings]) -> Cohort:
        """Make a cohort from a pandas data frame; a named index counts as a column. See `from_arrow`."""
        from dx2px.cohort.frames import cohort_of

        return cohort_of(frame, **settings)

    @classmethod
    def from_polars(cls, frame: Any, **settings: Unpack[FrameSettings]) -> Cohort:
        """Make a cohort from a polars data frame. See `from_arrow`."""
        from dx2px.cohort.frames import cohort_of

        return cohort_of(frame, **settings)

    def to_arrow(self, layout: Layout = "lists") -> pa.Table:
        """The stays as an Arrow table.

        Args:
            layout: `lists` has one row per stay and lists of canonical codes, like the file. `wide` has them in
                columns `dx1 …` and `px1 …`. `long` has one row per code: `kind`, `system`, and `code` with its dot.
        """
        from dx2px.cohort.frames import arrow_of

        return arrow_of(self, self._table(0, len(self)), layout)

    def to_pandas(self, layout: Layout = "lists") -> Any:
        """The stays as a pandas data frame, which needs pandas. See `to_arrow`."""
        return self.to_arrow(layout).to_pandas()

    def to_polars(self, layout: Layout = "lists") -> Any:
        """The stays as a polars data frame, which needs polars. See `to_arrow`."""
        from dx2px.frames import as_frame

        return as_frame(self.to_arrow(layout), "polars")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cohort:
        """Read a cohort file. Memory stays close to the size of the resulting arrays.

        Args:
            path: A file that `prepare` or `save` wrote.

        Raises:
            CohortError: The file is missing, damaged or not a cohort.
        """
        file = CohortFile(path)
        readers = {name: ListReader(name, file.path) for name in CODE_LISTS}
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
            context=in_contract_types(table.select(file.context_columns)) if file.context_columns else None,
            provenance=file.provenance,
        )
        _check_stays(cohort, file.path)
        pa.default_memory_pool().release_unused()  # buffers that only the reading needed
        return cohort

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cohort file, all or nothing.

        Args:
            path: The file to write, such as `C.parquet`.

        Raises:
            InputError: The file cannot be written there.
        """
        with CohortWriter(path, None if self.context is None else self.context.schema) as writer:
            for start in range(0, len(self), WRITE_ROWS):
                writer.write(self._table(start, min(start + WRITE_ROWS, len(self))))
            writer.describe(self.provenance)

    def subset(self, rows: NDArray[np.integer] | Sequence[int]) -> Cohort:
        """The given stays, in the given order, with the same vocabularies.

        Args:
            rows: Row numbers.
        """
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
        """The stay's diagnoses as canonical codes, in the source's order.

        Args:
            row: The stay's row number.
        """
        return tuple(self.diagnosis_vocabulary[i] for i in self.diagnoses[row])

    def procedures_of(self, row: int) -> tuple[str, ...]:
        """The stay's procedures as canonical codes, in the source's order.

        Args:
            row: The stay's row number.
        """
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
            "diagnoses": list_array(self.diagnoses, self.diagnosis_vocabulary, start, stop),
            "procedures": list_array(self.procedures, self.procedure_vocabulary, start, stop),
        }
        if self.context is not None:
            part = self.context.slice(start, size)
            columns |= {name: part.column(name) for name in part.column_names}
        return pa.table(columns)


def _check_stays(cohort: Cohort, where: str) -> None:
    """Every stay has both kinds of code, each code once; codes and context are what they must be."""
    refuse(
        where,
        [
            *list_problems(cohort.diagnoses, "diagnoses"),
            *list_problems(cohort.procedures, "procedures"),
            *code_problems(cohort.diagnosis_vocabulary, "diagnosis"),
            *code_problems(cohort.procedure_vocabulary, "procedure"),
            *([] if cohort.context is None else context_problems(cohort.context)),
        ],
    )


def check_cohort(value: object) -> None:
    """Refuse what is no cohort, such as the name of its file."""
    if not isinstance(value, Cohort):
        raise InputError(f"Give a cohort, as Cohort.load('stays.parquet') returns it, not {called(value)}.")
