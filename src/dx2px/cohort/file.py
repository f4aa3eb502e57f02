"""A cohort as one Parquet file: one row per stay, code lists as canonical text, settings and counts in the metadata.

Columns: `stay_id` text · `patient_id` text or null · `diagnoses` list of text · `procedures` list of text ·
then context columns, of which `principal`, `age`, `sex` and `admission` have a fixed meaning (see `context`).
The metadata key `dx2px` holds a JSON object with at least `format`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from dx2px.errors import CohortError
from dx2px.storage import atomic_path
from dx2px.version import __version__

FORMAT = 1
METADATA_KEY = b"dx2px"
CODE_LISTS = ("diagnoses", "procedures")
CODE_LEAVES = tuple(
    f"{name}.list.element" for name in CODE_LISTS
)  # Parquet's names for the codes inside the lists
STAY_COLUMNS = pa.schema(
    [
        pa.field("stay_id", pa.string(), nullable=False),
        pa.field("patient_id", pa.string()),
        pa.field("diagnoses", pa.list_(pa.string()), nullable=False),
        pa.field("procedures", pa.list_(pa.string()), nullable=False),
    ]
)


def cohort_schema(context: pa.Schema | None = None) -> pa.Schema:
    """The columns of a cohort file with the given context columns."""
    return pa.schema([*STAY_COLUMNS, *(context or [])])


def beside(path: str | os.PathLike[str], word: str) -> Path:
    """The companion of a cohort file: `C.parquet` and `rejects` give `C.rejects.parquet`."""
    cohort = Path(path)
    stem = cohort.stem if cohort.suffix == ".parquet" else cohort.name
    return cohort.with_name(f"{stem}.{word}.parquet")


class CohortWriter:
    """Writes stays to a cohort file in batches. Use it in a `with` block.

    The file appears when the block ends. If it ends with an error, nothing is written.

    Args:
        path: The file to write.
        context: The context columns, after the four that every cohort has.

    Attributes:
        schema: The columns of the file.
        stays: Number of stays written so far.
    """

    def __init__(self, path: str | os.PathLike[str], context: pa.Schema | None = None) -> None:
        self.path = path
        self.schema = cohort_schema(context)
        self.stays = 0
        self._metadata: dict[str, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        draft = self._stack.enter_context(atomic_path(self.path))
        self._parquet = self._stack.enter_context(pq.ParquetWriter(draft, self.schema, compression="zstd"))
        return self

    def write(self, stays: pa.Table | pa.RecordBatch) -> None:
        """Append stays.

        Args:
            stays: A table or batch with the columns of the schema, in any order.
        """
        table = stays if isinstance(stays, pa.Table) else pa.Table.from_batches([stays])
        self._parquet.write_table(table.select(self.schema.names).cast(self.schema))
        self.stays += table.num_rows

    def describe(self, provenance: Mapping[str, Any]) -> None:
        """Set what the file says about its origin.

        Args:
            provenance: Source, settings and counts.
        """
        self._metadata = dict(provenance)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            record = {"format": FORMAT, "version": __version__, **self._metadata}
            self._parquet.add_key_value_metadata({METADATA_KEY: json.dumps(record)})
        self._stack.__exit__(kind, error, trace)


class CohortFile:
    """An open cohort file, for reading stays in batches without loading them all.

    Args:
        path: A cohort file.

    Attributes:
        stays: Number of stays.
        schema: The columns of the file.
        provenance: Source, settings and counts of the preparation.

    Raises:
        CohortError: The file is missing, damaged or not a cohort.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._parquet = _open(self.path)
        self.schema = self._parquet.schema_arrow
        self.provenance = _provenance(self.path, self._parquet)
        self.stays: int = self._parquet.metadata.num_rows

    @property
    def context_columns(self) -> list[str]:
        """Names of the columns beyond the four that every cohort has."""
        return [name for name in self.schema.names if name not in STAY_COLUMNS.names]

    @cached_property
    def _numbered(self) -> pq.ParquetFile:
        """The same file, opened so that codes arrive as indices into a dictionary instead of as text."""
        columns = self._parquet.metadata.schema
        leaves = {columns.column(place).path for place in range(len(columns))}
        return pq.ParquetFile(self.path, read_dictionary=sorted(leaves.intersection(CODE_LEAVES)))

    @property
    def group_sizes(self) -> list[int]:
        """The number of stays in each row group; a row group can be read without those before it."""
        metadata = self._parquet.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def group(self, number: int, columns: Sequence[str]) -> pa.Table:
        """One row group. Codes arrive as dictionary indices where the file allows it, which is several times faster.

        Args:
            number: The row group, from 0.
            columns: Names of the columns to read.

        Raises:
            CohortError: The file is damaged.
        """
        try:
            try:
                return self._numbered.read_row_group(number, list(columns))
            except pa.ArrowNotImplementedError:
                # The dictionary grew too large while the file was written, so later codes are plain text.
                return self._parquet.read_row_group(number, list(columns))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged() from error

    def batches(self, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
        """The stays, in file order.

        Args:
            rows: Stays per batch, at most.

        Raises:
            CohortError: The file is damaged.
        """
        try:
            yield from self._parquet.iter_batches(batch_size=rows)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged() from error

    def _damaged(self) -> CohortError:
        return CohortError(f"{self.path} is damaged and cannot be read to the end; prepare the cohort again.")


def _open(path: str) -> pq.ParquetFile:
    if Path(path).is_dir():
        raise CohortError(f"{path} is a folder, not a cohort file; give the path of a .parquet file.")
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise CohortError(f"There is no cohort file {path}.") from None
    except (pa.ArrowException, OSError) as error:
        raise CohortError(
            f"{path} is not a Parquet file, so it is not a cohort; make a cohort with `dx2px prepare`."
        ) from error


def _provenance(path: str, parquet: pq.ParquetFile) -> dict[str, Any]:
    missing = [name for name in STAY_COLUMNS.names if name not in parquet.schema_arrow.names]
    if missing:
        raise CohortError(f"{path} is not a cohort file: it has no column {' and no column '.join(missing)}.")
    raw = (parquet.metadata.metadata or {}).get(METADATA_KEY)
    if raw is None:
        raise CohortError(
            f"{path} is not a cohort file: it has no dx2px metadata. Make a cohort with `dx2px prepare`."
        )
    try:
        provenance = json.loads(raw)
        file_format = provenance["format"]
    except (ValueError, TypeError, KeyError) as error:
        raise CohortError(f"{path} is not a cohort file: its dx2px metadata is damaged.") from error
    if file_format != FORMAT:
        raise CohortError(
            f"{path} has cohort format {file_format}, but this version of dx2px reads format {FORMAT}: "
            "prepare the cohort again."
        )
    assert isinstance(provenance, dict)
    return provenance
