"""From the tables of a source to a cohort file, with every entry accounted for (see `accounting`)."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from dx2px.codes import Kind
from dx2px.cohort import assembly
from dx2px.cohort.accounting import Counts, Prepared
from dx2px.cohort.conditions import mark_entries
from dx2px.cohort.context import CONTEXT
from dx2px.cohort.corrections import (
    Correction,
    Done,
    Met,
    check_corrections,
    correct,
    correction_notes,
    unused_corrections,
)
from dx2px.cohort.counting_writer import CountingWriter
from dx2px.cohort.engines import Engine, open_engine
from dx2px.cohort.file import CohortWriter, beside
from dx2px.cohort.refusals import (
    MAX_REJECTED,
    OTHER,
    PLURAL,
    Limits,
    check_kinds,
    check_not_empty,
    read_as,
    unended,
)
from dx2px.cohort.rejects import Found, count_reasons, write_rejects
from dx2px.cohort.sources import SourceOptions, source
from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.files import FileTables
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.warehouse import WarehouseTables
from dx2px.cohort.thresholds import Threshold
from dx2px.cohort.translation import PcsMap, Translation, read_maps, translate
from dx2px.cohort.verdicts import (
    MALFORMED_LINE,
    Verdicts,
    Written,
    guess_versions,
    judge,
    with_version,
)
from dx2px.errors import CohortError
from dx2px.storage import atomic_path, check_place
from dx2px.words import counted

Say = Callable[[str], None]


def prepare(
    source_name: str,
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    engine: str = "duckdb",
    min_count: int = 1,
    repeat_min_count: bool = False,
    options: SourceOptions | None = None,
    strict: bool = False,
    max_rejected: float = MAX_REJECTED,
    say: Say = lambda message: None,
) -> Prepared:
    """Build a cohort file from the tables of a source.

    Entries that cannot be used go to a second file beside it: `C.parquet` gets `C.rejects.parquet`.

    Args:
        source_name: `mimic3`, `mimic4`, `nhds`, `synpuf`, `omop`, `fhir`, `meds` or `table`.
        path: The file or folder of the tables; if `engine` is the URL of a database, a schema or a table there.
        out: The cohort file to write.
        engine: `duckdb` for files on this machine, `spark`, or the URL of a database (`postgresql://…`,
            `bigquery://…`, `duckdb:///file.duckdb`).
        min_count: Keep codes that at least this many stays have.
        repeat_min_count: Stays that lose all their codes of a kind are dropped, which can bring other codes below the
            minimum count: count again until none is. Otherwise codes are counted once.
        options: ICD versions and column names, needed only where they cannot be guessed; corrections of codes.
        strict: Raise an error if more than 1 % of the entries are rejected, instead of a warning.
        max_rejected: Raise an error if more than this share of the entries is rejected. Entries that the source itself
            calls something else than ICD diagnoses and procedures do not count here.
        say: Called with a few words at each step, to show progress.

    Returns:
        The files written, the counts (read, rejected by reason, used, kept), what was guessed, and warnings.

    Raises:
        CohortError: The tables cannot be read, too much of them is rejected, diagnoses and procedures look swapped, a
            correction makes no sense, or no stay is left.
        InputError: There is no such source or engine, or the output cannot be written.
    """
    outputs = (Path(out), beside(Path(out), "rejects"))
    for written in outputs:
        check_place(written)
    threshold = Threshold(min_count, repeat_min_count)
    limits = Limits(max_rejected, strict)
    options = options or SourceOptions()
    corrections = check_corrections(options.corrections)
    options = replace(options, corrections={one.read: one.value for one in corrections})
    maps = read_maps(options)
    extract_entries = source(source_name)
    with tempfile.TemporaryDirectory(prefix="dx2px-") as folder:
        workspace = Path(folder)
        opened = open_engine(engine, workspace)
        try:
            with opened.plain_errors():
                tables = _tables(os.fspath(path), opened, workspace, say)
                extract = extract_entries(tables, options)
                for written in outputs:
                    _check_not_read(tables, written)
                job = _Job(
                    source_name, Path(out), threshold, options, corrections, limits, say, opened, tables, maps
                )
                return job.run(extract)
        finally:
            opened.close()


def _tables(path: str, engine: Engine, workspace: Path, say: Say) -> Tables:
    if engine.has_files(path):
        return FileTables(Path(path), engine, workspace, say)
    return WarehouseTables(path, engine)


def _check_not_read(tables: Tables, written: Path) -> None:
    """The output must not replace a table that is being read."""
    if written.exists() and any(written.samefile(read) for read in tables.files):
        raise CohortError(
            f"{written} is one of the tables being read, so it cannot be the output; choose another name."
        )


@dataclass(frozen=True)
class _Job:
    """One preparation: its settings, its engine and the tables it reads."""

    source: str
    out: Path
    threshold: Threshold
    options: SourceOptions
    corrections: tuple[Correction, ...]
    limits: Limits
    say: Say
    engine: Engine
    tables: Tables
    maps: PcsMap | None = None

    def run(self, extract: Extract) -> Prepared:
        self.limits.check_lines(self.tables.staged)
        self.say("judging codes")
        entries, verdicts, warnings = self._judge(extract)
        read = verdicts.items
        met: Met = {}
        if any(one.beside for one in self.corrections):
            entries, met = mark_entries(self.engine, entries, verdicts, self.corrections)
        verdicts = correct(verdicts, self.corrections, met)
        translation: Translation = {}
        if self.maps is not None:
            verdicts, translation = translate(verdicts, self.maps)
        codes = tuple(
            sorted({verdict.code for verdict in verdicts.items if verdict.code}.union(*translation.values()))
        )
        lent = self.engine.lend(assembly.verdict_table(verdicts.items, codes, self.corrections))
        judged = assembly.apply_verdicts(entries, lent, codes)
        judged = replace(judged, entries=self.engine.keep("judged", judged.entries))
        found = count_reasons(self.engine, judged)
        rejected, usable = self._reasons(found)
        done = self._corrected(judged)
        warnings += unused_corrections(self.corrections, done, read)
        warnings += self.limits.check_entries(rejected, usable)
        self.say("building stays")
        chosen = self._choose(judged, translation)
        rejects_path = beside(self.out, "rejects")
        with atomic_path(rejects_path) as draft:
            write_rejects(self.engine, judged, found, self.tables.staged, draft)
            with CohortWriter(self.out, self._context_schema(extract)) as writer:
                sink = CountingWriter(writer)
                principals = assembly.principals(judged, self.options.version("diagnosis"))
                context = [] if extract.context is None else [extract.context]
                stays = assembly.gather(chosen.kept, principals, *context)
                for batch in assembly.stay_batches(self.engine, stays, judged.codes):
                    sink.add(batch)
                counts = self._counts(extract, judged, chosen, rejected, usable, verdicts, done, sink)
                check_not_empty(counts, self.threshold.min_count)
                writer.describe(self._provenance(counts))
        if sink.shared_stays:
            warnings += (
                f"{counted(sink.shared_stays, 'stay has', 'stays have')} more than one patient id; "
                "the first in text order is kept.",
            )
        guesses = read_as(self.tables.staged, always=self.source == "table")
        corrected = correction_notes(self.corrections, done)
        notes = (*extract.notes, *guesses, *verdicts.notes, *corrected, *unended(self.tables.staged))
        return Prepared(self.out, rejects_path, counts, notes, warnings)

    def _choose(self, judged: assembly.Judged, translation: Translation) -> _Chosen:
        """The usable entries, narrowed down step by step."""
        wanted = judged.usable
        for kind in OTHER:
            if (version := self.options.version(kind)) is not None:
                wanted = wanted.filter((wanted.kind != kind) | (wanted.version == version))
        translated = wanted
        if translation:
            lent = self.engine.lend(assembly.translation_table(translation, judged.codes))
            translated = self.engine.keep("translated", assembly.translated(wanted, lent))
        selected = self.engine.keep("selected", assembly.distinct_codes(translated))
        both = self.engine.keep("both", assembly.with_both_kinds(selected))
        kept = self.threshold.apply(self.engine, both)
        return _Chosen(wanted, translated, selected, both, kept)

    def _counts(
        self,
        extract: Extract,
        judged: assembly.Judged,
        chosen: _Chosen,
        rejected: dict[str, int],
        usable: int,
        verdicts: Verdicts,
        done: Done,
        sink: CountingWriter,
    ) -> Counts:
        """What happened to every entry; the engine counts each step, the sink what was written."""
        tables = (chosen.wanted, chosen.translated, chosen.selected, chosen.both, chosen.kept)
        entries, wanted, translated, selected, both, kept, read, with_both = self._numbers(
            extract.entries.count(),
            *(table.count() for table in tables),
            judged.entries.stay.nunique(),
            chosen.both.stay.nunique(),
        )
        counts = Counts(
            entries_read=usable + sum(rejected.values()),
            rejected=rejected,
            entries_used=usable,
            repaired=verdicts.repaired_entries,
            corrected=sum(entries for entries, _ in done.values()),
            corrected_stays=self.engine.value(judged.corrected.stay.nunique()) if done else 0,
            unlisted=verdicts.unlisted_entries,
            other_version=usable - wanted,
            combined=translated - wanted,
            repeated=translated - selected,
            without_both_kinds=selected - both,
            rare=both - kept,
            emptied=kept - sink.entries,
            kept=sink.entries,
            stays_read=read,
            stays_with_both_kinds=with_both,
            stays=sink.writer.stays,
            diagnoses=len(sink.codes["diagnoses"]),
            procedures=len(sink.codes["procedures"]),
        )
        self._check(counts, {entries, entries if extract.rows is None else extract.rows})
        return counts

    def _judge(self, extract: Extract) -> tuple[Any, Verdicts, tuple[str, ...]]:
        """Judge the distinct code texts; if the source does not give their ICD version, find it first."""
        entries = extract.entries
        texts = self._texts(entries)
        warnings = check_kinds(texts)
        unversioned = [written for written in texts if written.version is None]
        if not unversioned:
            return entries, judge(texts, extract.numeric), warnings
        versions = guess_versions(unversioned)
        guessed = ibis.cases(
            *((entries.kind == kind, ibis.literal(version, "int8")) for kind, version in versions.items()),
            else_=ibis.null("int8"),
        )
        entries = entries.mutate(version=entries.version.fill_null(guessed))
        verdicts = judge(with_version(texts, versions), extract.numeric)
        return entries, replace(verdicts, notes=(_guess(versions), *verdicts.notes)), warnings

    def _texts(self, entries: Any) -> list[Written]:
        """The distinct code texts, each with its number of entries that have a stay and so may be used."""
        known = assembly.known(entries)
        known = known.filter(known.code.notnull() & known.kind.notnull())
        table = self.engine.fetch(known.group_by("kind", "version", "code").agg(entries=known.count()))
        order = [(name, "ascending") for name in ("kind", "code", "version")]
        return [
            Written(row["kind"], row["version"], row["code"], row["entries"])
            for row in table.sort_by(order).to_pylist()
        ]

    def _corrected(self, judged: assembly.Judged) -> Done:
        """The entries and the stays that each correction changed."""
        if not self.corrections:
            return {}
        changed = judged.corrected
        found = changed.group_by("correction").agg(entries=changed.count(), stays=changed.stay.nunique())
        return {
            self.corrections[row["correction"]].read: (row["entries"], row["stays"])
            for row in self.engine.fetch(found).to_pylist()
        }

    def _reasons(self, found: Found) -> tuple[dict[str, int], int]:
        """The number of rejected entries by reason, most frequent first, and the number of usable ones."""
        by_reason: Counter[str | None] = Counter()
        for row in found:
            by_reason[row["reason"]] += row["entries"]
        usable = by_reason.pop(None, 0)
        malformed = sum(len(staged.malformed) for staged in self.tables.staged.values())
        if malformed:
            by_reason[MALFORMED_LINE] = malformed
        rejected = sorted((str(reason), count) for reason, count in by_reason.items())
        return dict(sorted(rejected, key=lambda item: -item[1])), usable

    def _numbers(self, *expressions: Any) -> list[int]:
        """The values of several counts, in one query."""
        rows = [e.name("number").as_table().mutate(place=ibis.literal(n)) for n, e in enumerate(expressions)]
        found = {row["place"]: row["number"] for row in self.engine.fetch(ibis.union(*rows)).to_pylist()}
        return [found[place] for place in range(len(expressions))]

    def _check(self, counts: Counts, rows: set[int]) -> None:
        """No entry is lost, none is counted twice, and no join added any."""
        entries = counts.entries_read - counts.rejected.get(MALFORMED_LINE, 0)
        try:
            counts.check()
            if rows != {entries}:
                raise AssertionError(f"{sorted(rows)} rows became {entries} entries")
        except AssertionError:
            if self.engine.one_snapshot:
                raise
            raise CohortError(
                f"{self.tables.place}: the numbers of entries do not add up, probably because the tables changed while "
                "they were read. Run it again when nobody is writing to them."
            ) from None

    def _context_schema(self, extract: Extract) -> pa.Schema:
        """The columns that every cohort has, then what else the source knows."""
        more = [] if extract.context is None else extract.context.schema().to_pyarrow()
        return pa.schema([*CONTEXT, *(f for f in more if f.name not in ("stay", *CONTEXT.names))])

    def _provenance(self, counts: Counts) -> dict[str, Any]:
        said = {name: value for name, value in asdict(self.options).items() if value and name != "maps"}
        settings = {**self.threshold.settings, **said}
        return {"source": self.source, "settings": settings, "counts": asdict(counts)}


def _guess(versions: Mapping[Kind, int]) -> str:
    """What was guessed, in one sentence."""
    each = " and ".join(f"{PLURAL[kind]} as ICD-{version}" for kind, version in versions.items())
    shared = f"as ICD-{next(iter(versions.values()))}" if len(set(versions.values())) == 1 else ""
    read = f"The codes are read {shared}" if shared else f"The codes are read: {each}"
    return f"{read} (guessed, since nearly all of them are listed there)."


@dataclass(frozen=True)
class _Chosen:
    """The entries after each step: wanted version; translated; once per stay; stays with both kinds; frequent."""

    wanted: Any
    translated: Any
    selected: Any
    both: Any
    kept: Any
