"""Assembling stays from code entries, by Ibis expressions that run in the engine that holds the entries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dx2px.cohort.context import CONTEXT
from dx2px.cohort.corrections import Correction
from dx2px.cohort.engines import Engine
from dx2px.cohort.engines.engine import BATCH_ROWS
from dx2px.cohort.verdicts import MISSING_CODE, MISSING_KIND, MISSING_STAY, NOT_ICD_VOCABULARY, Verdict

# A code's place in its stay and its number travel as one integer: place · 2³² + number.
PLACE = 2**32
LAST = 2**62  # the place of a code without a position: after all others


@dataclass(frozen=True)
class Judged:
    """Entries with their verdict: `code_id` is an index into `codes`; `reason` is null for usable entries.

    `correction` is the number of the correction that gave the code, -1 if there was none.
    """

    entries: Any
    codes: tuple[str, ...]

    @property
    def usable(self) -> Any:
        """Entries that can be used."""
        return self.entries.filter(self.entries.reason.isnull())

    @property
    def rejected(self) -> Any:
        """Entries that cannot be used."""
        return self.entries.filter(self.entries.reason.notnull())

    @property
    def corrected(self) -> Any:
        """Entries whose code was corrected; maps may have rejected the new code."""
        return known(self.entries.filter(self.entries.correction >= 0))


def known(entries: Any) -> Any:
    """The entries that are in a stay and not refused by the source."""
    found = entries.filter(entries.stay.notnull())
    return found.filter(found.refused.isnull()) if "refused" in entries.columns else found


def verdict_table(
    verdicts: tuple[Verdict, ...], codes: tuple[str, ...], corrections: Sequence[Correction] = ()
) -> pa.Table:
    """The verdicts as a table for the engine to join with; without nulls, which not every engine accepts."""
    place = {code: number for number, code in enumerate(codes)}
    rule = {one.read: number for number, one in enumerate(corrections)}
    return pa.table(
        {
            "kind": pa.array([v.written.kind for v in verdicts], pa.string()),
            "version": pa.array([v.written.version for v in verdicts], pa.int64()),
            "code": pa.array([v.written.text for v in verdicts], pa.string()),
            "code_id": pa.array([place.get(v.code or "", -1) for v in verdicts], pa.int64()),
            "verdict": pa.array([v.reason or "" for v in verdicts], pa.string()),
            "correction": pa.array([rule.get(v.corrected_from or "", -1) for v in verdicts], pa.int64()),
            "met": pa.array([int(v.met) for v in verdicts], pa.int64()),
        }
    )


def apply_verdicts(entries: Any, verdicts: Any, codes: tuple[str, ...]) -> Judged:
    """Join each entry with the verdict on its code text; `verdicts` is the `verdict_table`, lent to the engine."""
    conditions = ["met"] if "met" in entries.columns else []
    joined = entries.left_join(verdicts, ["kind", "version", "code", *conditions])
    refused = [(joined.refused.notnull(), joined.refused)] if "refused" in joined.columns else []
    reason = ibis.cases(
        *refused,
        (joined.stay.isnull(), MISSING_STAY),
        (joined.code.isnull(), MISSING_CODE),
        (joined.kind.isnull(), MISSING_KIND),
        (joined.version.isnull(), NOT_ICD_VOCABULARY),
        else_=joined.verdict.nullif(""),
    )
    columns = [
        name for name in joined.columns if not name.endswith("_right") and name not in ("verdict", "met")
    ]
    return Judged(joined.select(*columns, reason=reason), codes)


def translation_table(translation: Mapping[str, Sequence[str]], codes: tuple[str, ...]) -> pa.Table:
    """For each code that becomes others, one row for each of these, as indices of `codes`."""
    place = {code: number for number, code in enumerate(codes)}
    pairs = [(place[code], place[other]) for code, others in translation.items() for other in others]
    return pa.table(
        {
            "code_id": pa.array([code for code, _ in pairs], pa.int64()),
            "other": pa.array([other for _, other in pairs], pa.int64()),
        }
    )


def translated(entries: Any, translation: Any) -> Any:
    """The entries with the codes they become; one that becomes several has several rows."""
    joined = entries.left_join(translation, "code_id")
    columns = [name for name in entries.columns if name != "code_id"]
    return joined.select(*columns, code_id=joined.other.fill_null(joined.code_id))


def distinct_codes(usable: Any) -> Any:
    """Each code of a stay once, at its first position."""
    return usable.group_by("stay", "kind", "code_id").agg(
        position=usable.position.min(),
        line=usable.line.min(),
        patient=usable.patient.min(),
        other_patient=usable.patient.max(),
    )


def with_both_kinds(codes: Any) -> Any:
    """The codes of the stays that have both a diagnosis and a procedure."""
    kinds = codes.group_by("stay").agg(kinds=codes.kind.nunique())
    return _with_key(codes, "stay", kinds.filter(kinds.kinds == 2))


def frequent(codes: Any, min_count: int) -> Any:
    """The codes that occur in at least `min_count` of these stays."""
    counts = stays_by_code(codes)
    return _with_key(codes, "code_id", counts.filter(counts.stays >= min_count))


def stays_by_code(codes: Any) -> Any:
    """The number of stays that have each code."""
    return codes.group_by("code_id").agg(stays=codes.count())


def without(codes: Any, dropped: Collection[int]) -> Any:
    """The codes but for those with these numbers."""
    return codes.filter(codes.code_id.notin(sorted(dropped))) if dropped else codes


def _with_key(codes: Any, key: str, chosen: Any) -> Any:
    """The codes whose key is among the chosen ones; an inner join, since not every engine has semi-joins."""
    return codes.inner_join(chosen.select(key), key).select(codes.columns)


def principals(judged: Judged, version: int | None) -> Any:
    """The principal diagnosis of each stay that has one marked, as two numbers that `_principal` reads.

    All marked entries count, whether they can be used or not: a stay whose principal diagnosis was rejected, or is of
    another ICD version than the one wanted, must not get another diagnosis in its place.
    """
    marked = judged.entries
    marked = marked.filter(marked.principal.notnull() & (marked.kind == "diagnosis"))
    usable = marked.reason.isnull()
    if version is not None:
        usable &= marked.version == version
    number = ibis.ifelse(usable, marked.code_id + 1, 0)  # 0: a code that cannot be used
    rank = marked.principal.cast("int64") * PLACE  # the lowest rank wins
    return marked.group_by("stay").agg(
        principal_low=(rank + number).min(), principal_high=(rank + PLACE - 1 - number).min()
    )


def gather(codes: Any, *contexts: Any) -> Any:
    """One row per stay, codes in the source's order; stays that lost all codes of a kind are left out.

    The contexts are tables with at most one row per stay.
    """
    # Not every engine can collect a list in order, so each code carries its place with it; see `_in_order`.
    order = [codes.position.fill_null(LAST), codes.line.fill_null(0), codes.code_id]
    place = ibis.row_number().over(group_by=["stay", "kind"], order_by=order)
    codes = codes.mutate(placed=place * PLACE + codes.code_id)
    of = {kind: codes.kind == kind for kind in ("diagnosis", "procedure")}
    stays = codes.group_by("stay").agg(
        patient=codes.patient.min(),
        other_patient=codes.other_patient.max(),
        diagnoses=codes.placed.collect(where=of["diagnosis"]),
        procedures=codes.placed.collect(where=of["procedure"]),
        diagnosis_count=codes.count(where=of["diagnosis"]),
        procedure_count=codes.count(where=of["procedure"]),
    )
    stays = stays.filter((stays.diagnosis_count > 0) & (stays.procedure_count > 0))
    stays = stays.drop("diagnosis_count", "procedure_count")
    for context in contexts:
        joined = stays.left_join(context, "stay")
        stays = joined.select([name for name in joined.columns if name != "stay_right"])
    # Ids are text. Shorter ones first puts whole numbers in their natural order, on every engine.
    return stays.order_by([stays.stay.length(), stays.stay])


def stay_batches(engine: Engine, stays: Any, codes: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The stays in Arrow batches of equal size, with code numbers turned into text and all context columns."""
    text = pa.array(codes, pa.string())
    for batch in even(engine.batches(stays), BATCH_ROWS):
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["stay_id"] = columns.pop("stay")
        columns["patient_id"] = columns.pop("patient")
        for name in ("diagnoses", "procedures"):
            columns[name] = _in_order(columns[name], text)
        columns["principal"] = _principal(columns.pop("principal_low"), columns.pop("principal_high"), text)
        for name in set(CONTEXT.names) - set(columns):
            columns[name] = pa.nulls(batch.num_rows, CONTEXT.field(name).type)
        # Engines differ in how they lower letters beyond A to Z.
        columns["admission"] = pc.utf8_lower(columns["admission"])
        yield pa.record_batch(columns)


def even(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `rows`, the last one shorter, so that the file does not depend on the engine."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        while sum(part.num_rows for part in waiting) >= rows:
            table = pa.Table.from_batches(waiting)
            yield from table.slice(0, rows).combine_chunks().to_batches()
            waiting = table.slice(rows).to_batches()
    if any(part.num_rows for part in waiting):
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _in_order(lists: pa.ListArray, text: pa.Array) -> pa.ListArray:
    """Each list sorted by the places of its codes, as text."""
    offsets = lists.offsets.to_numpy()
    placed = lists.values.to_numpy()[offsets[0] : offsets[-1]]
    stay = np.repeat(np.arange(len(lists)), np.diff(offsets))
    numbers = placed[np.lexsort((placed, stay))] % PLACE
    starts = pa.array(offsets - offsets[0], pa.int32())
    return pa.ListArray.from_arrays(starts, text.take(pa.array(numbers)))


def _principal(low: pa.Array, high: pa.Array, text: pa.Array) -> pa.Array:
    """The code that both numbers mean; null if they mean two, or one that cannot be used."""
    first, last = (numbers.fill_null(0).to_numpy(zero_copy_only=False) % PLACE for numbers in (low, high))
    agreed = (first > 0) & (first == PLACE - 1 - last)
    return text.take(pa.array(first - 1, mask=~agreed))
