"""Parquet in, Parquet out: recommendations for every stay of a file, in its order, in constant memory.

Work that was killed continues with the first unfinished part (see `kept_parts`), and the file is byte for byte what
it would have been: a part is a row group, and parts begin at the same stays whatever happened in between.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dx2px.answers.batch_answers import ScoredBlock, answer_schema
from dx2px.answers.encoding import CODE_LISTS
from dx2px.answers.kept_parts import Parts, parts_of
from dx2px.answers.mapping import added
from dx2px.answers.model import Model, check_model
from dx2px.answers.population import COLUMNS, STAYS, check_columns, facts_of, scored_blocks
from dx2px.answers.shipped import ProcedureSystem, asked_in, audited_in
from dx2px.errors import CohortError, InputError
from dx2px.frames import filled
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
    mapping: Mapping[str, int] = field(default_factory=dict)  # translated diagnoses, by kind of mapping

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary; without `mapping` if nothing was translated."""
        return {name: value for name, value in asdict(self).items() if name != "mapping" or value}

    def plus(self, part: pa.Table) -> ScoredStays:
        def total(column: pa.ChunkedArray) -> int:
            return int(pc.sum(column, min_count=0).as_py())

        return ScoredStays(
            self.stays + part.num_rows,
            self.stays_without_answer
            + int((filled(pc.list_value_length(part["recommendations"]), 0) == 0).sum()),
            self.known_diagnoses + total(part["known_diagnoses"]),
            self.backed_off_diagnoses + total(part["backed_off_diagnoses"]),
            self.unknown_diagnoses + total(part["unknown_diagnoses"]),
            added(self.mapping, _mapping_of(part)),
        )


def score_file(
    model: Model,
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    top: int = 10,
    progress: Progress = lambda done: None,
    *,
    map: bool = True,  # noqa: A002
) -> ScoredStays:
    """Recommend procedures for every stay of a Parquet file. Memory does not grow with the file.

    After a stop, call it again: finished parts are kept and reused.

    Args:
        model: The model to ask.
        source: A cohort, or any Parquet file with `stay_id` and `diagnoses`.
        out: The Parquet file to write, one row per stay.
        top: How many procedures per stay.
        progress: Called with the number of stays done; first with those done before.
        map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

    Returns:
        How many stays were scored, how many got no answer, and how many diagnoses were unknown or translated.

    Raises:
        InputError: A column is missing or of the wrong type, or the output cannot be written.
        OtherVersionError: `map` is False, and a diagnosis is of an ICD version that the model does not know.
    """
    check_model(model)
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
    } | ({} if map else {"map": False})
    with parts_of(final, key) as parts:
        scored = _write(_parts(stays, model, top, map, parts), stays, parts.draft, key, progress)
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


def coded_in(path: str | os.PathLike[str], *, audit: bool) -> ProcedureSystem:
    """The system to answer for a file in, by its first stays: that of the diagnoses or, to audit, of the procedures."""
    stays = StayFile(path, (*COLUMNS, "procedures") if audit else COLUMNS)
    first = next(stays.batches(), None)
    lists = [] if first is None else [first.column(name).cast(CODE_LISTS) for name in stays.columns[1:]]
    texts = [[text for text in column.flatten().to_pylist() if text] for column in lists] or [[]]
    return audited_in(texts[0], texts[-1]) if audit else asked_in(texts[0])


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


def _parts(stays: StayFile, model: Model, top: int, mapped: bool, parts: Parts) -> Iterator[pa.Table]:
    """The parts that an earlier run finished, then the others, each kept as soon as it is made."""
    done = 0
    for number in count():
        part = parts.read(number, min(PART, stays.rows - done)) if done < stays.rows else None
        if part is None:
            break
        done += part.num_rows
        yield part.combine_chunks()
    scored = scored_blocks(model, stays.batches(done), top, map=mapped)
    for fresh, part in enumerate(_joined(scored), start=number):
        parts.save(fresh, part)
        yield part


def _joined(blocks: Iterator[ScoredBlock]) -> Iterator[pa.Table]:
    """Tables of `PART` rows, from blocks of `STAYS` rows (the last may be shorter)."""
    waiting: list[ScoredBlock] = []
    for block in blocks:
        waiting.append(block)
        if len(waiting) * STAYS == PART:
            yield _part(waiting)
            waiting = []
    if waiting:
        yield _part(waiting)


def _part(blocks: Sequence[ScoredBlock]) -> pa.Table:
    """The answers of several blocks; what was translated is kept beside them, for a run that is continued."""
    table = pa.Table.from_batches([block.answers for block in blocks]).combine_chunks()
    mapping = added(*(block.mapping for block in blocks))
    return table.replace_schema_metadata({METADATA_KEY: json.dumps(mapping)}) if mapping else table


def _mapping_of(part: pa.Table) -> dict[str, int]:
    found: dict[str, int] = json.loads((part.schema.metadata or {}).get(METADATA_KEY, b"{}"))
    return found


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
        record = {"version": __version__, "model": key["model"], "top": key["top"], **scored.to_dict()}
        sink.add_key_value_metadata({METADATA_KEY: json.dumps(record)})
    return scored
