"""Where a benchmark keeps its runs. A run that has ended is never lost, however the benchmark ends.

runs.parquet   one row per run: its numbers as columns, and its whole record as JSON
hits.parquet   one row per run: how many of the first L recommendations were right, for every test stay
pending/       runs that have ended but are not in these files yet, one file each

The process of a run leaves a pending file. The benchmark that started it is the only one that writes the other two:
it adds what is pending and replaces each file as a whole. After a crash, the next benchmark adds what was left.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.lab.benchmark.records import Record, RunId, as_text, digest, run_id, runs_table
from dx2px.scoring.metrics import AT, Metrics
from dx2px.storage import atomic_path

_COUNTS = ("hits", "recommended", "recorded")  # numbers below 256 as bytes; the first two L by L
_HITS = pa.schema(
    [
        *((name, pa.string()) for name in ("run", "cohort", "method")),
        *((name, pa.int64()) for name in ("fold", "seed")),
        *((name, pa.binary()) for name in _COUNTS),
    ]
)


@dataclass(frozen=True)
class RunStore:
    """The kept runs of one folder."""

    folder: Path

    @property
    def runs_file(self) -> Path:
        """One row per run."""
        return self.folder / "runs.parquet"

    @property
    def hits_file(self) -> Path:
        """The hits of each run's test stays."""
        return self.folder / "hits.parquet"

    @property
    def pending(self) -> Path:
        """The folder of the runs that wait to be added."""
        return self.folder / "pending"

    def records(self) -> Mapping[RunId, Record]:
        """Every kept run. Do not modify."""
        return _records(*_state(self.runs_file)) if self.runs_file.exists() else {}

    def hits(self, record: Record) -> Metrics | None:
        """What a kept run found for each test stay."""
        if not self.hits_file.exists():
            return None
        table, places = _hits(*_state(self.hits_file))
        place = places.get(digest(as_text(record)))
        return None if place is None else _metrics(*(table[name][place].as_buffer() for name in _COUNTS))

    def leave(self, record: Record, test: Metrics) -> None:
        """Called by the process of a run: keep its result until it is added."""
        with atomic_path(self.pending / f"{run_id(record).file_name}.parquet") as draft:
            pq.write_table(_pending_row(record, test), draft)

    def reason_file(self, run: RunId) -> Path:
        """Where the process of a run that fails leaves the reason."""
        return self.pending / f"{run.file_name}.failed"

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """For a benchmark, as long as it runs: nobody else writes here, and what is pending is added."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder):
            self._clear()
            self.add_pending()
            try:
                yield
            finally:
                self.add_pending()
                with contextlib.suppress(OSError):  # there is none, or it is not empty
                    self.pending.rmdir()

    def add_pending(self) -> None:
        """Add the pending runs. Hits are written first, so that no run is listed before its hits are there."""
        files = sorted(self.pending.glob("*.parquet"))
        if not files:
            return
        fresh = pa.concat_tables([_read(file) for file in files])
        added = {run_id(record): record for record in map(json.loads, fresh["record"].to_pylist())}
        records = sorted({**self.records(), **added}.values(), key=run_id)
        hits = [_hits(*_state(self.hits_file))[0]] if self.hits_file.exists() else []
        _write_store(self, records, pa.concat_tables([*hits, fresh.drop_columns("record")]))
        for file in files:
            file.unlink()

    def _clear(self) -> None:
        """Remove what a killed benchmark left half written, and its reasons for failures."""
        drafts = (file for name in ("runs", "hits") for file in self.folder.glob(f".{name}.parquet.*.part"))
        for file in [*drafts, *self.pending.glob(".*.part"), *self.pending.glob("*.failed")]:
            file.unlink(missing_ok=True)


def _write_store(store: RunStore, records: Sequence[Record], hits: pa.Table) -> None:
    """Write both files in the order of the records, with the hits of these runs only."""
    table = runs_table(records)
    row_of = {run: row for row, run in enumerate(hits["run"].to_pylist())}
    rows = [row_of[run] for run in table["run"].to_pylist() if run in row_of]
    # Runs of a method and cohort stand together: their hits are much alike, and take half the space.
    _write(hits.take(rows), store.hits_file, use_dictionary=["recommended", "recorded"])
    _write(table, store.runs_file)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one benchmark at a time may write into a folder; not checked where the system cannot lock folders."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(
            f"Another benchmark is writing into {folder}: wait for it, or use another --out."
        ) from None
    except OSError:  # some network disks
        pass
    try:
        yield
    finally:
        os.close(descriptor)


def _pending_row(record: Record, test: Metrics) -> pa.Table:
    """A row of `hits.parquet`, with the record beside it."""
    text, run = as_text(record), run_id(record)
    row = {
        "run": digest(text),
        "cohort": run.cohort,
        "method": run.method,
        "fold": run.fold,
        "seed": run.seed,
    }
    row |= {name: getattr(test, name).astype(np.uint8).T.tobytes() for name in _COUNTS}
    return pa.Table.from_pylist(
        [row | {"record": text}], schema=_HITS.append(pa.field("record", pa.string()))
    )


def _metrics(hits: pa.Buffer, recommended: pa.Buffer, recorded: pa.Buffer) -> Metrics:
    def counts(buffer: pa.Buffer) -> NDArray[np.int64]:
        return np.frombuffer(buffer, np.uint8).astype(np.int64)

    def by_length(buffer: pa.Buffer) -> NDArray[np.int64]:
        return np.ascontiguousarray(counts(buffer).reshape(len(AT), -1).T)  # (stays, at)

    return Metrics(AT, by_length(hits), by_length(recommended), counts(recorded))


def _state(file: Path) -> tuple[str, int, int, int]:
    """What changes whenever a file does."""
    status = file.stat()
    return str(file), status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=16)
def _records(path: str, changed: int, size: int, node: int) -> Mapping[RunId, Record]:
    table = _read(Path(path))
    if "record" not in table.column_names:
        raise InputError(f"{path} was written by an earlier version of dx2px: use another folder.")
    records = [json.loads(text) for text in table["record"].to_pylist()]
    return {run_id(record): record for record in records}


@lru_cache(maxsize=4)
def _hits(path: str, changed: int, size: int, node: int) -> tuple[pa.Table, Mapping[str, int]]:
    """The table, and the row of each run."""
    table = _read(Path(path)).combine_chunks()
    return table, {run: row for row, run in enumerate(table["run"].to_pylist())}


def _read(file: Path) -> pa.Table:
    try:
        return pq.read_table(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{file} cannot be read ({error}): delete it, and its runs are run again.") from None


def _write(table: pa.Table, file: Path, **options: Any) -> None:
    with atomic_path(file) as draft:
        pq.write_table(table, draft, compression="zstd", **options)
