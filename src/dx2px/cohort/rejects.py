"""The rejects file beside a cohort: one row for each entry or line that could not be used, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from dx2px.cohort.assembly import Judged, even
from dx2px.cohort.engines import Engine
from dx2px.cohort.engines.engine import BATCH_ROWS
from dx2px.cohort.text_tables import Staged
from dx2px.cohort.verdicts import MALFORMED_LINE

REJECTS = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
DETAIL = 40  # characters of a code text that are shown; a longer text is no code and may be anything
Found = list[dict[str, Any]]  # rows of file, field, reason and the number of entries


def count_reasons(engine: Engine, judged: Judged) -> Found:
    """The number of entries by file, field and reason; the reason is None for usable entries."""
    counted = judged.entries.group_by("file", "field", "reason").agg(entries=judged.entries.count())
    found: Found = engine.fetch(counted).to_pylist()
    return found


def write_rejects(
    engine: Engine, judged: Judged, found: Found, staged: Mapping[Path, Staged], target: Path
) -> None:
    """Malformed lines of each text file first, then the rejected entries, ordered by file, line and field."""
    with pq.ParquetWriter(target, REJECTS, compression="zstd") as writer:
        for file, text in staged.items():
            writer.write_table(_malformed(file.name, text))
        if any(row["reason"] for row in found):
            for batch in even(_entries(engine, judged, found), BATCH_ROWS):
                writer.write_table(pa.Table.from_batches([batch]).select(REJECTS.names).cast(REJECTS))


def _malformed(file: str, staged: Staged) -> pa.Table:
    rows = [
        {"file": file, "line": item.line, "column": None, "reason": MALFORMED_LINE, "detail": item.reason}
        for item in staged.malformed
    ]
    return pa.Table.from_pylist(rows, REJECTS)


def _entries(engine: Engine, judged: Judged, found: Found) -> Iterator[pa.RecordBatch]:
    rows = judged.rejected
    # Engines sort text differently; sorting by rank gives the same file from each of them.
    file, field, reason = (
        _rank(rows[name], {row[name] for row in found}) for name in ("file", "field", "reason")
    )
    rows = rows.order_by([file, rows.line, field, reason, rows.code.substr(0, DETAIL)])
    return engine.batches(
        rows.select("file", "line", "reason", column=rows.field, detail=rows.code.substr(0, DETAIL))
    )


def _rank(column: Any, values: set[str | None]) -> Any:
    """The place of a text among the sorted values of its column."""
    known = sorted(value for value in values if value is not None)
    branches = [(column == value, ibis.literal(place)) for place, value in enumerate(known)]
    return ibis.cases(*branches, else_=len(known)) if branches else ibis.literal(0)
