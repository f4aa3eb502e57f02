"""Parquet in, Parquet out: recommendations for every stay of a file, in its order, in constant memory.

Work that was killed continues with the first unfinished part (see `kept_parts`), and the file is byte for byte what
it would have been: a part is a row group, and parts begin at the same stays whatever happened in between.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dx2px.answers.batch_answers import answer_schema
from dx2px.answers.kept_parts import Parts, parts_of
from dx2px.answers.model import Model
from dx2px.answers.population import COLUMNS, STAYS, check_columns, facts_of, score_batches
from dx2px.errors import CohortError, InputError
from dx2px.scoring.identity import fingerprint
from dx2px.storage import PARQUET, check_ending, check_place
from dx2px.version import __version__

PART = 4 * STAYS  # stays in a part and in a row group
METADATA_KEY = b"dx2px"
_TAIL = 1 << 20  # bytes at the end of a Parquet file, where it describes itself
_CODES = "recommendations.list.element"

Progress = Callable[[int], None]


@dataclass(frozen=True)
class ScoredStays:
    """Counts over a file of stays; diagnoses are counted as in the columns of the same names."""

    stays: int = 0
    stays_without_answer: int = 0  # the model knows none of their diagnoses
    known_diagnoses: int = 0
    backed_off_diagnoses: int = 0
    unknown_diagnoses: int = 0

    def plus(self, part: pa.Table) -> ScoredStays:
        def total(column: pa.ChunkedArray) -> int:
            return int(pc.sum(column, min_count=0).as_py())

        return ScoredStays(
            self.stays + part.num_rows,
            self.stays_without_answer + total(pc.equal(pc.list_value_length(part["recommendations"]), 0)),
            self.known_diagnoses + total(part["known_diagnoses"]),
            self.backed_off_diagnoses + total(part["backed_off_diagnoses"]),
            self.unknown_diagnoses + total(part["unknown_diagnoses"]),
        )


def score_file(
    model: Model,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    top: int = 10,
    progress: Progress = lambda done: None,
) -> ScoredStays:
    """Recommend procedures for every stay of a Parquet file. Memory does not grow with the file.

    After a stop, call it again: finished parts are kept and reused.

    Args:
        model: The model to ask.
        source: A cohort, or any Parquet file with `stay_id` and `diagnoses`.
        out: The Parquet file to write, one row per stay.
        top: How many procedures per stay.
        progress: Called with the number of stays done; first with those done before.

    Returns:
        How many stays were scored, how many got no answer, and how many diagnoses were unknown.

    Raises:
        InputError: A column is missing or of the wrong type, or the output cannot be written.
    """
    stays = StayFile(source, facts=facts_of(model))
    final = Path(out).absolute()
    check_output(final, stays)
    check_ending(final, PARQUET, "The answers are a Parquet file, which ends in")
    key = {
        "version": __version__,
        "input": stays.fingerprint(),
        "model": fingerprint(model.files),
        "top": top,
        "stays_in_a_part": PART,
    }
    with parts_of(final, key) as parts:
        scored = _write(_parts(stays, model, top, parts), stays, parts.draft, key, progress)
        if stays.fingerprint() != key["input"]:
            raise InputError(f"{stays.path} changed while it was scored: run the command again.")
        parts.publish(final)
    return scored


class StayFile:
    """A Parquet file that has the needed columns of a cohort, and perhaps `facts`; scoring needs `COLUMNS`."""

    def __init__(
        self, path: str | os.PathLike[str], columns: Sequence[str] = COLUMNS, facts: Sequence[str] = ()
    ) -> None:
        self.path = os.fspath(path)
        self.parquet = _open(self.path)
        schema = self.parquet.schema_arrow
        check_columns(schema, columns, facts)
        self.columns = [*columns, *(name for name in facts if name in schema.names)]
        self.rows: int = self.parquet.metadata.num_rows

    def fingerprint(self) -> str:
        """Of the file's size, time of change and description of its content."""
        found = Path(self.path).stat()
        with Path(self.path).open("rb") as stream:
            stream.seek(-min(_TAIL, found.st_size), os.SEEK_END)
            tail = hashlib.sha256(stream.read()).hexdigest()
        return f"{found.st_size} {found.st_mtime_ns} {tail}"

    def batches(self, start: int = 0) -> Iterator[pa.RecordBatch]:
        """The stays from number `start`; row groups before it are not read."""
        metadata = self.parquet.metadata
        ends = np.cumsum([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        first = int(np.searchsorted(ends, start, side="right"))
        skip = start - (int(ends[first - 1]) if first else 0)
        groups = list(range(first, len(ends)))
        try:
            for batch in self.parquet.iter_batches(STAYS, row_groups=groups, columns=self.columns):
                if skip < len(batch):
                    yield batch.slice(skip)
                skip = max(skip - len(batch), 0)
        except (pa.ArrowException, OSError) as error:
            raise CohortError(f"{self.path} is damaged and cannot be read to its end.") from error


def _open(path: str) -> pq.ParquetFile:
    if Path(path).is_dir():
        raise CohortError(f"{path} is a folder, not a Parquet file.")
    try:
        # Pre-buffering would keep everything that was read in memory.
        return pq.ParquetFile(path, pre_buffer=False)
    except FileNotFoundError:
        raise CohortError(f"There is no file {path}.") from None
    except (pa.ArrowException, OSError) as error:
        raise CohortError(f"{path} is not a Parquet file; `dx2px prepare` makes one.") from error


def check_output(out: Path, stays: StayFile) -> None:
    """Raise an `InputError` if the output cannot be written there."""
    check_place(out)
    if out.exists() and out.samefile(stays.path):
        raise InputError("The output would replace the stays it is made from: choose another name.")


def _parts(stays: StayFile, model: Model, top: int, parts: Parts) -> Iterator[pa.Table]:
    """The parts that an earlier run finished, then the others, each kept as soon as it is made."""
    done = 0
    for number in count():
        part = parts.read(number, min(PART, stays.rows - done)) if done < stays.rows else None
        if part is None:
            break
        done += part.num_rows
        yield part.combine_chunks()
    answers = score_batches(model, stays.batches(done), top)
    for fresh, part in enumerate(_joined(answers), start=number):
        parts.save(fresh, part)
        yield part


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables of `PART` rows, from batches of `STAYS` rows (the last may be shorter)."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if len(waiting) * STAYS == PART:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _write(
    parts: Iterator[pa.Table], stays: StayFile, draft: Path, key: Mapping[str, Any], progress: Progress
) -> ScoredStays:
    schema = answer_schema(stays.parquet.schema_arrow.field("stay_id").type)
    scored = ScoredStays()
    with pq.ParquetWriter(
        draft, schema, compression="zstd", compression_level=1, use_dictionary=[_CODES]
    ) as sink:
        for part in parts:
            sink.write_table(part, row_group_size=PART)
            scored = scored.plus(part)
            progress(scored.stays)
        record = {"version": __version__, "model": key["model"], "top": key["top"], **asdict(scored)}
        sink.add_key_value_metadata({METADATA_KEY: json.dumps(record)})
    return scored
