"""What is kept of a run: its record, the id that tells it from other runs, and its row in `runs.parquet`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from dx2px.scoring.metrics import AT

METRICS = ("recall", "precision", "f1")
Record = dict[str, Any]

_COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("cohort", "method")),
        *((name, pa.int64()) for name in ("fold", "seed")),
        *((name, pa.float64()) for name in ("fit_seconds", "cpu_seconds")),
        *((name, pa.int64()) for name in ("peak_mb", "threads")),
        *((name, pa.string()) for name in ("version", "data")),
        *((f"{metric}@{L}", pa.float64()) for L in AT for metric in METRICS),
    ]
)


class RunId(NamedTuple):
    """What tells the runs of a folder apart: a new run replaces the old one of the same id."""

    cohort: str
    method: str
    fold: int
    seed: int
    settings: str  # those that a sweep varies

    @classmethod
    def of(cls, cohort: str, key: Mapping[str, Any]) -> RunId:
        """The id of a run, from the name of its cohort and its key (`Job.key`)."""
        settings = ", ".join(f"{name} {_shown(value)}" for name, value in sorted(key["model"].items()))
        return cls(cohort, key["method"], key["split"]["fold"], key["seed"], settings)

    @property
    def file_name(self) -> str:
        """The name of a file for the run: of no other run, and with what a person looks for in it."""
        return f"{self.cohort}-fold{self.fold}-{digest(repr(tuple(self)))}"


def run_id(record: Record) -> RunId:
    """The id of a kept run."""
    return RunId.of(record["cohort"], record["key"])


def as_text(record: Record) -> str:
    """The record as `runs.parquet` keeps it."""
    return json.dumps(record, ensure_ascii=False)


def digest(text: str) -> str:
    """A short name for a text. That of a run's record is the column `run`, which joins the two files of a store."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def runs_table(records: Iterable[Record]) -> pa.Table:
    """One row per run: its numbers as columns, the settings of a sweep, and the whole record as JSON."""
    kept = list(records)
    texts = [as_text(record) for record in kept]
    table = pa.Table.from_pylist([_row(record) for record in kept], schema=_COLUMNS)
    for name in dict.fromkeys(name for record in kept for name in record["key"]["model"]):
        values = [record["key"]["model"].get(name) for record in kept]
        table = table.append_column(f"setting.{name}", pa.array(values))
    table = table.append_column("run", pa.array(map(digest, texts), pa.string()))
    return table.append_column("record", pa.array(texts, pa.string()))


def _row(record: Record) -> dict[str, Any]:
    key, tops = record["key"], record["test"]["top"]
    row = {"cohort": record["cohort"], "method": key["method"], "fold": key["split"]["fold"]}
    row |= {"seed": key["seed"], "cpu_seconds": record.get("cpu_seconds")}  # older runs did not measure it
    row |= {name: record[name] for name in ("fit_seconds", "peak_mb", "threads", "version", "data")}
    return row | {f"{metric}@{L}": tops[str(L)][metric] for L in AT for metric in METRICS}


def _shown(value: object) -> str:
    """A setting's value; 1 and 1.0 are the same."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)
