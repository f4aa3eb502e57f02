"""From the tables of a source to a cohort file, every entry accounted for (see `accounting`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dx2px.cohort import stays as steps
from dx2px.cohort.accounting import Counts, Prepared
from dx2px.cohort.file import CohortWriter, beside
from dx2px.cohort.sources import SourceOptions, source
from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.tables import Tables, value_of
from dx2px.cohort.text_tables import Staged
from dx2px.cohort.verdicts import MALFORMED_LINE, Verdicts, Written, guess_version, judge, sentence
from dx2px.errors import CohortError
from dx2px.storage import atomic_path

MEMORY_LIMIT = "2GB"
TOLERATED_REJECTS = 0.01
REJECTS = pa.schema(
    [
        ("file", pa.string()),
        ("line", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
Say = Callable[[str], None]


def prepare(
    source_name: str,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    min_count: int = 1,
    options: SourceOptions | None = None,
    strict: bool = False,
    say: Say = lambda message: None,
) -> Prepared:
    """Build a cohort file from a source's tables, and `<out>.rejects.parquet` from what could not be used."""
    if min_count < 1:
        raise CohortError(f"The minimum count must be at least 1, not {min_count}.")
    options = options or SourceOptions()
    extract_entries = source(source_name)
    with tempfile.TemporaryDirectory(prefix="dx2px-") as workspace:
        # Order is ours to state in each step; keeping the files' own order would cost DuckDB memory.
        engine = ibis.duckdb.connect(
            memory_limit=MEMORY_LIMIT, temp_directory=workspace, preserve_insertion_order=False
        )
        try:
            tables = Tables(Path(path), engine, Path(workspace), say)
            extract = extract_entries(tables, options)
            job = _Job(
                source_name,
                Path(out),
                min_count,
                options,
                strict,
                say,
                engine,
                Path(workspace),
                tables.staged,
            )
            return job.run(extract)
        finally:
            engine.disconnect()


@dataclass(frozen=True)
class _Job:
    """One preparation: its settings, its engine, and the text files that were staged for it."""

    source: str
    out: Path
    min_count: int
    options: SourceOptions
    strict: bool
    say: Say
    engine: Any
    workspace: Path
    staged: dict[str, Staged]

    def run(self, extract: Extract) -> Prepared:
        self.say("judging codes")
        entries, verdicts = self._judge(extract)
        judged = steps.apply_verdicts(entries, verdicts.items)
        judged = replace(judged, entries=self._spool(judged.entries))
        rejected, usable = self._reasons(judged, extract)
        warnings = self._excess(rejected, usable)
        self.say("building stays")
        chosen = self._choose(judged)
        rejects_path = beside(self.out, "rejects")
        with atomic_path(rejects_path) as draft:
            self._write_rejects(judged, draft)
            with CohortWriter(self.out, self._context_schema(extract)) as writer:
                sink = _Sink(writer)
                stays = steps.gather(chosen.kept, extract.context)
                for batch in steps.stay_batches(self.engine, stays, judged.codes):
                    sink.add(batch)
                counts = self._counts(judged, chosen, rejected, usable, verdicts, sink)
                self._check_not_empty(counts)
                writer.describe(self._provenance(counts))
        if sink.shared_stays:
            warnings += (
                f"{sink.shared_stays:,} stays name more than one patient; the first by text is kept.",
            )
        return Prepared(self.out, rejects_path, counts, (*extract.notes, *verdicts.notes), warnings)

    def _choose(self, judged: steps.Judged) -> _Chosen:
        """The usable entries of the wanted version, narrowed step by step."""
        wanted = judged.usable
        if self.options.version is not None:
            wanted = wanted.filter(wanted.version == self.options.version)
        selected = self._table("selected", steps.distinct_codes(wanted))
        both = self._table("both", steps.with_both_kinds(selected))
        return _Chosen(wanted, selected, both, self._table("kept", steps.frequent(both, self.min_count)))

    def _counts(
        self,
        judged: steps.Judged,
        chosen: _Chosen,
        rejected: dict[str, int],
        usable: int,
        verdicts: Verdicts,
        sink: _Sink,
    ) -> Counts:
        """What became of every entry; the engine counts each step, the sink what was written."""
        tables = (chosen.wanted, chosen.selected, chosen.both, chosen.kept)
        wanted, selected, both, kept = (value_of(table.count()) for table in tables)
        counts = Counts(
            entries_read=usable + sum(rejected.values()),
            rejected=rejected,
            entries_used=usable,
            repaired=verdicts.repaired_entries,
            unlisted=verdicts.unlisted_entries,
            other_version=usable - wanted,
            repeated=wanted - selected,
            without_both_kinds=selected - both,
            rare=both - kept,
            emptied=kept - sink.entries,
            kept=sink.entries,
            stays_read=value_of(judged.entries.stay.nunique()),
            stays_with_both_kinds=value_of(chosen.both.stay.nunique()),
            stays=sink.writer.stays,
            diagnoses=len(sink.codes["diagnoses"]),
            procedures=len(sink.codes["procedures"]),
        )
        counts.check()
        return counts

    def _judge(self, extract: Extract) -> tuple[Any, Verdicts]:
        """Judge the distinct code texts; where the source is silent on the version, find it first."""
        entries = extract.entries
        texts = self._texts(entries)
        silent = [written for written in texts if written.version is None]
        if not silent:
            return entries, judge(texts, extract.numeric)
        version = guess_version(silent)
        entries = entries.mutate(version=entries.version.fill_null(ibis.literal(version, "int8")))
        verdicts = judge(self._texts(entries), extract.numeric)
        note = f"The codes are taken as ICD-{version} (guessed: nearly all are listed there)."
        return entries, replace(verdicts, notes=(note, *verdicts.notes))

    def _texts(self, entries: Any) -> list[Written]:
        known = entries.filter(entries.code.notnull() & entries.kind.notnull())
        table = self.engine.to_pyarrow(known.group_by("kind", "version", "code").agg(entries=known.count()))
        return [
            Written(row["kind"], row["version"], row["code"], row["entries"])
            for row in table.sort_by([("kind", "ascending"), ("code", "ascending")]).to_pylist()
        ]

    def _reasons(self, judged: steps.Judged, extract: Extract) -> tuple[dict[str, int], int]:
        """Entries rejected by reason, and the number of usable ones."""
        counted = judged.entries.group_by("reason").agg(entries=judged.entries.count())
        by_reason = {row["reason"]: row["entries"] for row in self.engine.to_pyarrow(counted).to_pylist()}
        entries = value_of(extract.entries.count())
        if sum(by_reason.values()) != entries or (extract.rows is not None and extract.rows != entries):
            raise AssertionError(f"{entries} entries, {extract.rows} rows, judged {by_reason}")
        usable = by_reason.pop(None, 0)
        malformed = sum(len(staged.malformed) for staged in self.staged.values())
        if malformed:
            by_reason[MALFORMED_LINE] = malformed
        return dict(sorted(by_reason.items(), key=lambda item: -item[1])), usable

    def _excess(self, rejected: dict[str, int], usable: int) -> tuple[str, ...]:
        """A warning, or with `strict` an error, when more entries were rejected than a healthy source has."""
        total = sum(rejected.values())
        if total <= TOLERATED_REJECTS * (total + usable):
            return ()
        top = ", ".join(f"{sentence(reason)} ({count:,})" for reason, count in list(rejected.items())[:3])
        message = (
            f"{total:,} of {total + usable:,} entries ({total / (total + usable):.1%}) are rejected: {top}."
        )
        if self.strict:
            raise CohortError(f"{message} Nothing was written; without --strict they are listed in a file.")
        return (message,)

    def _spool(self, expression: Any) -> Any:
        """Compute an expression once, into a file that later steps scan column by column."""
        target = self.workspace / "judged.parquet"
        self.engine.to_parquet(expression, target)
        return self.engine.read_parquet(target)

    def _table(self, name: str, expression: Any) -> Any:
        return self.engine.create_table(name, expression, temp=True)

    def _context_schema(self, extract: Extract) -> pa.Schema | None:
        if extract.context is None:
            return None
        return pa.schema([field for field in extract.context.schema().to_pyarrow() if field.name != "stay"])

    def _write_rejects(self, judged: steps.Judged, target: Path) -> None:
        rows = judged.rejected
        rows = rows.select("file", "line", "reason", column=rows.field, detail=rows.code.substr(0, 40))
        with pq.ParquetWriter(target, REJECTS, compression="zstd") as writer:
            for file, staged in self.staged.items():
                columns = {
                    "file": [file] * len(staged.malformed),
                    "line": [item.line for item in staged.malformed],
                    "column": [None] * len(staged.malformed),
                    "reason": [MALFORMED_LINE] * len(staged.malformed),
                    "detail": [item.reason for item in staged.malformed],
                }
                writer.write_table(pa.table(columns, REJECTS))
            for batch in self.engine.to_pyarrow_batches(rows.order_by("file", "line", "column")):
                writer.write_table(pa.Table.from_batches([batch]).select(REJECTS.names).cast(REJECTS))

    def _check_not_empty(self, counts: Counts) -> None:
        if not counts.stays:
            raise CohortError(
                f"No stay is left: of {counts.stays_read:,} stays read, {counts.stays_with_both_kinds:,} have a "
                f"diagnosis and a procedure, and none keeps both with codes found in at least {self.min_count} stays."
            )

    def _provenance(self, counts: Counts) -> dict[str, Any]:
        settings = {"min_count": self.min_count, **{k: v for k, v in asdict(self.options).items() if v}}
        return {"source": self.source, "settings": settings, "counts": asdict(counts)}


@dataclass(frozen=True)
class _Chosen:
    """Entries of the wanted version; each code once a stay; of stays with both kinds; of frequent codes."""

    wanted: Any
    selected: Any
    both: Any
    kept: Any


class _Sink:
    """Writes batches of stays and keeps count of entries, codes and stays shared by two patients."""

    def __init__(self, writer: CohortWriter) -> None:
        self.writer = writer
        self.entries = 0
        self.shared_stays = 0
        self.codes: dict[str, set[str]] = {"diagnoses": set(), "procedures": set()}

    def add(self, batch: pa.RecordBatch) -> None:
        for name, seen in self.codes.items():
            flat = batch.column(name).flatten()
            self.entries += len(flat)
            seen.update(flat.unique().to_pylist())
        same = pc.equal(batch.column("patient_id"), batch.column("other_patient"))
        self.shared_stays += pc.sum(pc.invert(same)).as_py() or 0
        self.writer.write(batch)
