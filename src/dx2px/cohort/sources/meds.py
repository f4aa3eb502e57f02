"""Datasets of the Medical Event Data Standard (MEDS 0.4): Parquet shards with `subject_id`, `time` and `code`.

An entry is an event whose code is a diagnosis or a procedure (see `meds_codes`). Its stay is the `hadm_id` or
`visit_id` that the event carries. In a dataset without such a column, a stay lasts from an admission to the next event
of its subject among admissions and discharges, if that is a discharge; an entry belongs to the stay in whose time it
lies, else to one of whose days it has, since many procedures and diagnoses carry only a date.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from dx2px.cohort.engines.engine import FILE_NAME, FILE_ROW
from dx2px.cohort.sources.entries import Extract, entries_of, text
from dx2px.cohort.sources.files import FileTables, files_of
from dx2px.cohort.sources.meds_codes import TELLING, Meaning, Role, meaning
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import one_per_stay, plausible, sex_of, unknown, years_between
from dx2px.cohort.text_tables import Staged
from dx2px.cohort.verdicts import OUTSIDE_STAY
from dx2px.errors import CohortError
from dx2px.words import counted

SUBJECT, TIME, CODE = "subject_id", "time", "code"
STAY_COLUMNS = ("hadm_id", "visit_id")
SHARD = r"[^/\\]+[/\\][^/\\]+$"  # a shard by its last two names: train/0.parquet
LATER = 2**40  # added to the number of a stay that an entry fits less well


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of all shards, with the stays that ids or times give them."""
    folder = files_of(tables)
    folder.enter("data")
    shards = folder.ending_with((".parquet",))
    column = _stay_column(shards)
    events = _Events.of(folder, shards, column)
    stays, entries, note = _by_id(events) if column else _by_time(events)
    entries = folder.engine.keep("entries", _entries(entries))
    notes = [note, f"{counted(events.others, 'event is', 'events are')} neither diagnosis nor procedure."]
    return Extract(entries, _context(events, stays), tuple(notes), rows=events.number_of_entries)


def _stay_column(shards: list[Path]) -> str | None:
    """The column with the ids of stays, if every shard has it; every shard must have those of the standard."""
    common: set[str] | None = None
    for path in shards:
        try:
            names = set(pq.read_schema(path).names)
        except (pa.ArrowException, OSError):
            raise CohortError(f"{path.name} cannot be read as Parquet; the file may be damaged.") from None
        missing = [name for name in (SUBJECT, TIME, CODE) if name not in names]
        if missing:
            raise CohortError(
                f"{path.parent.name}/{path.name} has no column {' and no column '.join(missing)}, so it is not a shard "
                "of a MEDS dataset. Name the dataset's folder, or its folder data."
            )
        common = names if common is None else common & names
    return next((name for name in STAY_COLUMNS if name in (common or ())), None)


@dataclass(frozen=True)
class _Events:
    """The events whose codes mean something, each with its meaning."""

    table: Any  # file, line, subject, time, stay, and the columns of a meaning
    folder: FileTables
    number_of_entries: int
    others: int

    @classmethod
    def of(cls, folder: FileTables, shards: list[Path], column: str | None) -> _Events:
        for path in shards:
            folder.note_read(path)
        events = folder.engine.read_shards(shards)
        total = folder.engine.value(events.count())
        folder.staged[shards[0]] = Staged(records=total, lines=total)
        telling = events.filter(events[CODE].re_search(TELLING))
        texts = folder.engine.fetch(telling.group_by(CODE).agg(events=telling.count())).to_pylist()
        meanings = {row[CODE]: meaning(row[CODE]) for row in texts}
        known = {code: found for code, found in meanings.items() if found is not None}
        lent = folder.engine.lend(_meanings(known))
        stay = ibis.null("string") if column is None else folder.as_written(shards[0], column, events[column])
        named = events.select(
            file=events[FILE_NAME].re_extract(SHARD, 0),
            line=events[FILE_ROW] + 1,
            subject=text(events[SUBJECT]),
            time=events[TIME].cast("timestamp"),
            stay=text(stay),
            written=events[CODE],
        )
        joined = named.inner_join(lent, named.written == lent.meant).drop("written", "meant")
        found = sum(row["events"] for row in texts if (m := meanings[row[CODE]]) and m.role == "entry")
        return cls(folder.engine.keep("events", joined), folder, found, total - found)

    def of_role(self, *roles: Role) -> Any:
        """The events of these roles."""
        return self.table.filter(self.table.role.isin(roles))


def _meanings(known: dict[str, Meaning]) -> pa.Table:
    """The meanings as a table for the engine to join with; without nulls, which not every engine accepts."""
    return pa.table(
        {
            "meant": pa.array(list(known), pa.string()),
            "role": pa.array([found.role for found in known.values()], pa.string()),
            "value": pa.array([found.value or "" for found in known.values()], pa.string()),
            "kind": pa.array([found.kind or "" for found in known.values()], pa.string()),
            "version": pa.array([found.version or 0 for found in known.values()], pa.int8()),
        }
    )


def _entries(events: Any) -> Any:
    outside = ibis.cases((events.stay.isnull(), OUTSIDE_STAY), else_=ibis.null("string"))
    return entries_of(
        events,
        file=events.file,
        field=CODE,
        kind=events.kind.nullif(""),
        stay=events.stay,
        patient=events.subject,
        code=events.value,
        version=events.version,
        refused=outside,
    )


def _by_id(events: _Events) -> tuple[Any, Any, str]:
    """Stays by the ids of events; a stay begins with its admission or visit."""
    begun = events.of_role("admission", "visit")
    begun = begun.filter(begun.stay.notnull())
    stays = begun.select("stay", "subject", start=begun.time, admission=_admission(begun))
    return stays, events.of_role("entry"), "Stays are told apart by the ids that the events carry."


def _by_time(events: _Events) -> tuple[Any, Any, str]:
    """Stays by the times of admissions and discharges."""
    ends = events.of_role("admission", "discharge")
    ends = ends.filter(ends.time.notnull()).select("subject", "time", "role", "value").distinct()
    # At one moment a discharge comes first: a transfer between hospitals is two stays.
    window = ibis.window(group_by="subject", order_by=[ends.time, ends.role.desc(), ends.value])
    ends = ends.mutate(next_role=ends.role.lead().over(window), end=ends.time.lead().over(window))
    begun = ends.filter(ends.role == "admission")
    stays = begun.filter(begun.next_role == "discharge")
    number = ibis.row_number().over(ibis.window(group_by="subject", order_by=[stays.time, stays.end])) + 1
    stays = stays.select("subject", "end", start=stays.time, number=number, admission=_admission(stays))
    stays = events.folder.engine.keep("stays", stays)
    engine = events.folder.engine
    open_ended = engine.value(begun.count()) - engine.value(stays.count())
    note = (
        "The events carry no ids of stays, so a stay lasts from an admission to the discharge after it"
        f" ({counted(open_ended, 'admission without one gives', 'admissions without one give')} no stay)."
    )
    return stays.mutate(stay=_numbered(stays)), _placed(events.of_role("entry"), stays), note


def _placed(entries: Any, stays: Any) -> Any:
    """The entries with the stay that each belongs to, or null: the first in whose time it lies, else of whose days."""
    day = ibis.interval(days=1)
    spans = stays.select(
        "number",
        "start",
        "end",
        of="subject",
        first=stays.start.truncate("D"),
        after=stays.end.truncate("D") + day,
    )
    joined = entries.drop("stay").left_join(
        spans, [entries.subject == spans.of, entries.time >= spans.first, entries.time < spans.after]
    )
    within = joined.time.between(joined.start, joined.end)
    fit = ibis.cases((within, joined.number), else_=joined.number + LATER)
    columns = [name for name in entries.columns if name != "stay"]
    best = joined.group_by(columns).agg(number=fit.min())
    return best.mutate(number=best.number % LATER).mutate(stay=lambda table: _numbered(table))


def _numbered(table: Any) -> Any:
    """The id of a stay that has none: its subject and its number among the subject's stays."""
    return table.subject + "-" + table.number.cast("string")


def _admission(events: Any) -> Any:
    return ibis.cases((events.role == "admission", events.value.nullif("")), else_=ibis.null("string"))


def _context(events: _Events, stays: Any) -> Any:
    """Age, sex and type of admission of the stays."""
    people = events.of_role("sex", "birth")
    people = one_per_stay(
        people.select(
            stay=people.subject,
            birth=ibis.cases((people.role == "birth", _day(people.time)), else_=ibis.null("int64")),
            sex=ibis.cases((people.role == "sex", sex_of(people.value)), else_=unknown("sex")),
        )
    ).rename(person="stay")
    joined = stays.left_join(people, stays.subject == people.person)
    age = plausible(years_between(joined.birth, _day(joined.start)))
    return one_per_stay(joined.select("stay", age=age, sex=joined.sex, admission=joined.admission))


def _day(time: Any) -> Any:
    return (time.year() * 10_000 + time.month() * 100 + time.day()).cast("int64")
