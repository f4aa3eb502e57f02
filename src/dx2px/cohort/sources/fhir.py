"""FHIR R4 resources in NDJSON files, as a bulk export writes them: Condition, Procedure, Encounter and Patient.

An entry is a coding of a Condition or Procedure in a stay. A stay is an Encounter that is not ambulatory; what belongs
to a part of it (`partOf`) belongs to the stay. A Condition belongs to the Encounter that it names and to those that
list it (`Encounter.diagnosis`), which also say which one is principal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from dx2px.cohort.json_lines import json_objects, set_aside
from dx2px.cohort.sources.entries import Extract, entries_of, whole_number
from dx2px.cohort.sources.fhir_resources import READERS, SCHEMAS, problem_of
from dx2px.cohort.sources.files import FileTables, files_of
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import one_per_stay, plausible, sex_of, years_between
from dx2px.cohort.text_tables import Staged
from dx2px.cohort.verdicts import OUTSIDE_STAY
from dx2px.words import counted

ENDINGS = (".ndjson", ".ndjson.gz", ".jsonl", ".jsonl.gz")
ROWS_AT_A_TIME = 50_000
OTHER = "resources of other types"


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of all Conditions and Procedures; the context of the Encounters."""
    folder = files_of(tables)
    files, unread = _chosen(folder.ending_with(ENDINGS), folder.root)
    staged = _Staging(folder)
    found = {name: tables.engine.read_parquet(path) for name, path in staged.read(files).items()}
    codings = _with_encounter(found["codings"], found["links"])
    notes = [*_unread(unread), *staged.notes(), *_repeated(tables, found["codings"])]
    if not staged.types["Encounter"]:
        notes.append("There are no Encounters: stays are those that the resources name, without context.")
        entries = codings.mutate(stay=codings.encounter)
        context = None
    else:
        entries = _in_stays(codings, found["encounters"])
        context = _context(found["encounters"], found["patients"])
        notes.append("Ages are the years from the day of birth to the start of the encounter.")
    return Extract(tables.engine.keep("entries", _entries(entries)), context, tuple(notes))


def _chosen(files: list[Path], root: Path) -> tuple[list[Path], int]:
    """The files that are named after a resource type that is read, and the number of others; all if none is."""
    names = {path: str(path.relative_to(root)).lower() for path in files}
    wanted = [path for path in files if any(kind.lower() in names[path] for kind in READERS)]
    return (wanted, len(files) - len(wanted)) if wanted else (files, 0)


def _unread(files: int) -> list[str]:
    left_out = counted(files, "file was", "files were")
    return [f"{left_out} not opened: no {', '.join(READERS)} in the name."] if files else []


class _Staging:
    """Reads the files line by line and writes the rows of each table to a Parquet file."""

    def __init__(self, tables: FileTables) -> None:
        self.tables = tables
        self.types: Counter[str] = Counter()
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self.writers: dict[str, pq.ParquetWriter] = {}

    def read(self, files: list[Path]) -> dict[str, Path]:
        """The Parquet file of each table."""
        targets = {name: self.tables.workspace / f"fhir-{name}.parquet" for name in SCHEMAS}
        with ExitStack() as stack:
            for name, target in targets.items():
                writer = pq.ParquetWriter(target, SCHEMAS[name], compression="lz4")
                self.writers[name] = stack.enter_context(writer)
            for path in files:
                self._read(path)
            for name in SCHEMAS:
                self._write(name)
        return targets

    def notes(self) -> Iterator[str]:
        """What was read, and how many resources of other types were passed over."""
        others = self.types[OTHER]
        yield ", ".join(counted(self.types[name], name) for name in READERS) + " were read."
        if others:
            yield f"{counted(others, 'resource of another type was', 'resources of other types were')} left out."

    def _read(self, path: Path) -> None:
        self.tables.note_read(path)
        staged = self.tables.staged.setdefault(path, Staged())
        for line, resource in json_objects(path, staged):
            problem = problem_of(resource)
            if problem is not None:
                set_aside(staged, line, problem)
                continue
            kind = resource["resourceType"]
            self.types[kind if kind in READERS else OTHER] += 1
            for name, row in READERS[kind](resource) if kind in READERS else ():
                self.rows[name].append({"file": path.name, "line": line, **row})
                if len(self.rows[name]) >= ROWS_AT_A_TIME:
                    self._write(name)

    def _write(self, name: str) -> None:
        self.writers[name].write_table(pa.Table.from_pylist(self.rows[name], SCHEMAS[name]))
        self.rows[name].clear()


def _with_encounter(codings: Any, links: Any) -> Any:
    """The codings of a Condition once per Encounter that it names or that lists it; those of a Procedure as they are.

    A Condition that names no Encounter, and that none lists, is kept once, without one.
    """
    listed = links.group_by("encounter", "condition").agg(
        position=links.position.min(), principal=links.principal.min()
    )
    listed = listed.rename(listed_in="encounter")
    conditions = codings.filter(codings.kind == "diagnosis")
    own = conditions.filter(conditions.encounter.notnull())
    own = own.left_join(listed, [own.id == listed.condition, own.encounter == listed.listed_in])
    other = conditions.inner_join(listed, conditions.id == listed.condition)
    other = other.filter(other.encounter.isnull() | (other.encounter != other.listed_in))
    other = other.mutate(encounter=other.listed_in)
    anywhere = listed.select(listed_id="condition").distinct()
    nowhere = conditions.filter(conditions.encounter.isnull())
    nowhere = nowhere.left_join(anywhere, nowhere.id == anywhere.listed_id)
    nowhere = nowhere.filter(nowhere.listed_id.isnull())
    procedures = codings.filter(codings.kind != "diagnosis")
    unmarked = {"position": ibis.null("int64"), "principal": ibis.null("int8")}
    columns = [*codings.columns, *unmarked]
    parts = (own, other, nowhere.mutate(**unmarked), procedures.mutate(**unmarked))
    return ibis.union(*(part.select(columns) for part in parts))


def _in_stays(codings: Any, encounters: Any) -> Any:
    """The stay of each coding: its Encounter, or the one that this is a part of; null if it is no hospital stay."""
    known = encounters.group_by("id").agg(part_of=encounters.part_of.min(), apart=encounters.apart.max())
    whole = known.select(whole=known.id, whole_apart=known.apart)
    known = known.left_join(whole, known.part_of == whole.whole)
    stays = known.select(
        encounter_id=known.id,
        stay=ibis.cases(
            (ibis.coalesce(known.whole_apart, known.apart), ibis.null("string")),
            else_=ibis.coalesce(known.whole, known.id),
        ),
    )
    joined = codings.left_join(stays, codings.encounter == stays.encounter_id)
    return joined.drop("encounter_id")


def _entries(codings: Any) -> Any:
    refused = ibis.coalesce(
        codings.refused, ibis.cases((codings.stay.isnull(), OUTSIDE_STAY), else_=ibis.null("string"))
    )
    return entries_of(
        codings,
        file=codings.file,
        field="code.coding",
        kind=codings.kind,
        stay=codings.stay,
        patient=codings.patient,
        position=codings.position,
        code=codings.code,
        version=codings.version,
        # A SNOMED code beside the ICD code of the principal diagnosis is no second principal diagnosis.
        principal=ibis.cases((codings.chief, codings.principal), else_=ibis.null("int8")),
        refused=refused,
    )


def _context(encounters: Any, patients: Any) -> Any:
    """Age, sex and type of admission of each Encounter."""
    people = patients.group_by("id").agg(
        birth=patients.birth.min(),
        other_birth=patients.birth.max(),
        sex=patients.sex.min(),
        other=patients.sex.max(),
    )
    people = people.rename(person="id")
    stays = encounters.left_join(people, encounters.patient == people.person)
    age = plausible(years_between(whole_number(stays.birth), whole_number(stays.start)))
    sex = sex_of(stays.sex)
    return one_per_stay(
        stays.select(
            stay=stays.id,
            age=ibis.cases((stays.birth == stays.other_birth, age), else_=ibis.null("int32")),
            sex=ibis.cases((stays.sex == stays.other, sex), else_=ibis.null("string")),
            admission=stays.admission,
        )
    )


def _repeated(tables: Tables, codings: Any) -> Iterator[str]:
    """A note on resources that are in the files more than once: an export and its update, for example."""
    places = codings.select("kind", "id", place=codings.file + ":" + codings.line.cast("string"))
    ids = places.group_by("kind", "id").agg(places=places.place.nunique())
    repeated = tables.engine.value(ids.filter(ids.id.notnull() & (ids.places > 1)).count())
    if repeated:
        yield (
            f"{counted(repeated, 'Condition or Procedure has', 'Conditions or Procedures have')} an id that is in the "
            "files more than once; all were read, and a code counts once per stay."
        )
