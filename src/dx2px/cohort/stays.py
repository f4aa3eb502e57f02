"""From judged entries to stays, as Ibis expressions that run in the engine holding the entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ibis
import pyarrow as pa

from dx2px.cohort.verdicts import MISSING_CODE, MISSING_KIND, MISSING_STAY, NOT_ICD_VOCABULARY, Verdict

BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Judged:
    """Entries with their verdict: `code_id` indexes `codes`, and `reason` is null where the entry can be used."""

    entries: Any
    codes: tuple[str, ...]

    @property
    def usable(self) -> Any:
        """Entries without a reason against them."""
        return self.entries.filter(self.entries.reason.isnull())

    @property
    def rejected(self) -> Any:
        """Entries with a reason against them."""
        return self.entries.filter(self.entries.reason.notnull())


def apply_verdicts(entries: Any, verdicts: tuple[Verdict, ...]) -> Judged:
    """Join every entry with the verdict on its code text."""
    codes = tuple(sorted({verdict.code for verdict in verdicts if verdict.code}))
    place = {code: number for number, code in enumerate(codes)}
    judgement = pa.table(
        {
            "kind": pa.array([v.written.kind for v in verdicts], pa.string()),
            "version": pa.array([v.written.version for v in verdicts], pa.int8()),
            "code": pa.array([v.written.text for v in verdicts], pa.string()),
            "code_id": pa.array([place.get(v.code or "") for v in verdicts], pa.int32()),
            "verdict": pa.array([v.reason for v in verdicts], pa.string()),
        }
    )
    joined = entries.left_join(ibis.memtable(judgement), ["kind", "version", "code"])
    reason = ibis.cases(
        (joined.stay.isnull(), MISSING_STAY),
        (joined.code.isnull(), MISSING_CODE),
        (joined.kind.isnull(), MISSING_KIND),
        (joined.version.isnull(), NOT_ICD_VOCABULARY),
        else_=joined.verdict,
    )
    columns = [name for name in joined.columns if not name.endswith("_right") and name != "verdict"]
    return Judged(joined.select(*columns, reason=reason), codes)


def distinct_codes(usable: Any) -> Any:
    """Each code of a stay once, where it first stands."""
    return usable.group_by("stay", "kind", "code_id").agg(
        position=usable.position.min(),
        line=usable.line.min(),
        patient=usable.patient.min(),
        other_patient=usable.patient.max(),
    )


def with_both_kinds(codes: Any) -> Any:
    """The codes of the stays that have a diagnosis and a procedure."""
    kinds = codes.group_by("stay").agg(kinds=codes.kind.nunique())
    return codes.semi_join(kinds.filter(kinds.kinds == 2), "stay")


def frequent(codes: Any, min_count: int) -> Any:
    """The codes that at least `min_count` of these stays have."""
    counts = codes.group_by("code_id").agg(stays=codes.count())
    return codes.semi_join(counts.filter(counts.stays >= min_count), "code_id")


def gather(codes: Any, context: Any | None) -> Any:
    """One row a stay, codes in the source's order; stays that lost all codes of a kind are left out."""
    order = [codes.position.fill_null(2**31), codes.line.fill_null(0), codes.code_id]
    stays = codes.group_by("stay").agg(
        patient=codes.patient.min(),
        other_patient=codes.other_patient.max(),
        diagnoses=codes.code_id.collect(where=codes.kind == "diagnosis", order_by=order),
        procedures=codes.code_id.collect(where=codes.kind == "procedure", order_by=order),
    )
    stays = stays.filter(stays.diagnoses.notnull() & stays.procedures.notnull())
    if context is not None:
        joined = stays.left_join(context, "stay")
        stays = joined.select([name for name in joined.columns if name != "stay_right"])
    # Ids are text; shorter ones first puts whole numbers into their natural order on every engine.
    return stays.order_by([stays.stay.length(), stays.stay])


def stay_batches(connection: Any, stays: Any, codes: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The stays in Arrow batches, code numbers turned into canonical text."""
    text = pa.array(codes, pa.string())
    for batch in connection.to_pyarrow_batches(stays, chunk_size=BATCH_ROWS):
        columns = {name: batch.column(name) for name in batch.schema.names}
        columns["stay_id"] = columns.pop("stay")
        columns["patient_id"] = columns.pop("patient")
        for name in ("diagnoses", "procedures"):
            lists = columns[name]
            columns[name] = pa.ListArray.from_arrays(lists.offsets, text.take(lists.values))
        yield pa.record_batch(columns)
