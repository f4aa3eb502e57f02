"""Audit of any number of stays, as streams of Arrow record batches; needs only numpy and pyarrow.

In:   `stay_id`, `diagnoses`, `procedures` (lists of codes); a model that takes more evidence also reads `principal`,
      `age`, `sex` and `admission`, where they are there; other columns are ignored.
Out:  one row per finding, in the order of the stays; the findings of a stay are those of `StayAudit`:

stay_id       as it came
kind          what may be wrong: unsupported, omitted, swap, companion or diagnosis (`dx2px.answers.defects`)
code, title   of the procedure
other         of a swap, the coded alternative; of a companion, the coded procedure it goes with; else null
strength      the probability that it is a mistake, under the stated rates of mistakes
probability   of the procedure given the rest of the stay
rank          its place among all procedures that are not coded besides it
because       the diagnoses and other evidence that support it most, each with its share
suggested     if a diagnosis may be missing: those that usually explain the procedure, each with its share
diagnoses     the whole stay, as canonical codes, as they were coded
procedures    likewise

Diagnoses of an ICD version that the model lacks are translated; findings name them as they were coded. Procedures are
not: a stay that has some of another version, and none that the model knows, is counted but not audited.

Stays are regrouped into blocks of one size before they are audited, so findings do not depend on the batch sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os import cpu_count
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.answers.audit import Finding, told, without_held
from dx2px.answers.coded_as import CodedAs
from dx2px.answers.defects import KINDS, AuditSettings
from dx2px.answers.encoding import CODE_LISTS, EncodedStays, StayEncoder
from dx2px.answers.even_blocks import EvenBlock, EvenBlocks
from dx2px.answers.flagging import Findings, Flagger, joined
from dx2px.answers.mapping import added
from dx2px.answers.model import Model, check_model
from dx2px.answers.population import even_batches, facts_of, in_order
from dx2px.answers.questions import Indices
from dx2px.ragged import Ragged

AUDITED = ("stay_id", "diagnoses", "procedures")


@dataclass(frozen=True)
class AuditCounts:
    """What was audited and found."""

    stays: int = 0
    stays_without_answer: int = 0  # the model knows none of their diagnoses
    stays_with_findings: int = 0
    by_kind: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    backed_off_diagnoses: int = 0
    unknown_diagnoses: int = 0
    unknown_procedures: int = 0
    stays_with_other_procedures: int = 0  # of another ICD version alone: not audited
    mapping: Mapping[str, int] = field(default_factory=dict)  # translated diagnoses, by kind of mapping

    @property
    def findings(self) -> int:
        return sum(self.by_kind.values())

    def plus(self, other: AuditCounts) -> AuditCounts:
        by_kind: dict[str, int] = {kind: self.by_kind[kind] + other.by_kind[kind] for kind in KINDS}
        mapping = added(self.mapping, other.mapping)
        names = [field.name for field in fields(self) if field.name not in ("by_kind", "mapping")]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return AuditCounts(by_kind=by_kind, mapping=mapping, **sums)

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary; without what concerns other ICD versions if there are none."""
        seldom = "stays_with_other_procedures", "mapping"
        return {name: value for name, value in asdict(self).items() if name not in seldom or value}


@dataclass(frozen=True)
class Tally:
    """How many findings of each kind there are of each procedure, and the sum of their probabilities; each (k, p)."""

    number: NDArray[np.int64]
    probability: NDArray[np.float64]

    @classmethod
    def none(cls, procedures: int) -> Tally:
        return cls(np.zeros((len(KINDS), procedures), np.int64), np.zeros((len(KINDS), procedures)))

    @classmethod
    def of(cls, found: Findings, procedures: int) -> Tally:
        shape = len(KINDS), procedures
        place, size = found.kind * procedures + found.procedure, len(KINDS) * procedures
        number = np.bincount(place, minlength=size).reshape(shape)
        total = np.bincount(place, weights=found.probability, minlength=size).astype(np.float64)
        return cls(number, total.reshape(shape))

    def plus(self, other: Tally) -> Tally:
        return Tally(self.number + other.number, self.probability + other.probability)


@dataclass(frozen=True, eq=False)
class AuditedBlock:
    """The findings of some stays, and their counts."""

    findings: pa.RecordBatch
    counts: AuditCounts
    tally: Tally


def audit_batches(
    model: Model,
    batches: Iterable[pa.RecordBatch],
    settings: AuditSettings | None = None,
    threads: int | None = None,
    *,
    map: bool = True,  # noqa: A002
) -> Iterator[pa.RecordBatch]:
    """Audit a stream of stays.

    Args:
        model: A calibrated model.
        batches: Arrow record batches with `stay_id`, `diagnoses` and `procedures`.
        settings: How strong a finding must be, how often coders are assumed to err, and which kinds are wanted.
        threads: Threads to use; one per processor by default.
        map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

    Yields:
        Record batches with one row per finding, in the order of the stays.
    """
    check_model(model)
    return (block.findings for block in audited_blocks(model, batches, settings, threads, map))


def audited_blocks(
    model: Model,
    batches: Iterable[pa.RecordBatch],
    settings: AuditSettings | None = None,
    threads: int | None = None,
    map: bool = True,  # noqa: A002
) -> Iterator[AuditedBlock]:
    """The findings of a stream of stays, with counts; one thread per processor by default."""
    auditor = Auditor(model, settings or AuditSettings(), map)
    stays = even_batches(batches, AUDITED, facts_of(model))
    return in_order(auditor.audit, stays, threads or cpu_count() or 1)


def findings_schema(stay_id: pa.DataType) -> pa.Schema:
    """The columns of the findings, for stay ids of the given type."""
    reason = pa.struct([("code", pa.string()), ("share", pa.float64())])
    return pa.schema(
        [
            ("stay_id", stay_id.value_type if pa.types.is_dictionary(stay_id) else stay_id),
            ("kind", pa.string()),
            ("code", pa.string()),
            ("title", pa.string()),
            ("other", pa.string()),
            ("strength", pa.float64()),
            ("probability", pa.float64()),
            ("rank", pa.int32()),
            ("because", pa.list_(reason)),
            ("suggested", pa.list_(reason)),
            ("diagnoses", CODE_LISTS),
            ("procedures", CODE_LISTS),
        ]
    )


class Auditor:
    """A model with the settings of an audit; several threads may ask at once."""

    def __init__(self, model: Model, settings: AuditSettings, map: bool = True) -> None:  # noqa: A002
        self.model, self.flagger = model, Flagger(model, settings)
        self.blocks = EvenBlocks(model, map)
        self.procedures = StayEncoder(model.procedures, {})
        self._diagnosis_codes = CodedAs(model.diagnoses, self.blocks.translation)
        self._procedure_codes = CodedAs(model.procedures, self.procedures.translate)

    def audit(self, block: pa.RecordBatch) -> AuditedBlock:
        """The findings of a record batch of stays."""
        stays = self.blocks.encoder.encode(block.column("diagnoses"))
        coded = self.procedures.encode(block.column("procedures"))
        other = coded_otherwise(coded)
        rows = stays.rows.filtered(~other[stays.rows.row_of_entry])
        even = self.blocks.of(rows, self.blocks.known(block))
        parts = [self._flagged(one, coded.rows, block) for one in even]
        found = joined([part for part, _ in parts])
        order = np.argsort(found.stay, kind="stable")
        every = [finding for _, part in parts for finding in part]
        told = [every[place] for place in order.tolist()]
        table = self._table(block, found.stay[order], told)
        return AuditedBlock(table, _counts(stays, coded, found), Tally.of(found, len(self.flagger.shares)))

    def _flagged(
        self, block: EvenBlock, coded: Ragged, stays: pa.RecordBatch
    ) -> tuple[Findings, list[Finding]]:
        """The findings of a block, their stays counted among all, and as users get them."""
        flagged = self.flagger.flag(block.scorer, block.rows, coded.take(block.filled))
        flagged = flagged.take(flagged.found.stay < block.size)
        if self.model.procedures.has_families:
            written = self._procedure_codes.coded(
                stays.column("procedures"), block.places[flagged.found.stay]
            )
            flagged = without_held(self.model, flagged, written)
        places = block.places[flagged.found.stay]
        codes = self._diagnosis_codes.usable(stays.column("diagnoses"), places)
        usable = dict(zip(flagged.found.stay.tolist(), codes, strict=True))
        return replace(flagged.found, stay=places), list(told(self.flagger, flagged, usable))

    def _table(self, block: pa.RecordBatch, stay: Indices, found: Sequence[Finding]) -> pa.RecordBatch:
        schema = findings_schema(block.schema.field("stay_id").type)
        columns = {
            "stay_id": block.column("stay_id").take(pa.array(stay)),
            "diagnoses": pa.array(self._diagnosis_codes.coded(block.column("diagnoses"), stay), CODE_LISTS),
            "procedures": pa.array(self._procedure_codes.coded(block.column("procedures"), stay), CODE_LISTS),
        }
        for name in schema.names:
            if name not in columns:
                values = [getattr(one, name) for one in found]
                if name in ("because", "suggested"):
                    values = [[reason.to_dict() for reason in reasons] for reasons in values]
                columns[name] = pa.array(values, schema.field(name).type)
        return pa.record_batch(columns, schema=schema)


def coded_otherwise(coded: EncodedStays) -> NDArray[np.bool_]:
    """Which stays have procedures of an ICD version that the model lacks, and none that it knows, (stays,).

    Everything that is usual for them would look omitted.
    """
    found: NDArray[np.bool_] = (coded.foreign.lengths > 0) & (coded.known == 0)
    return found


def _counts(stays: EncodedStays, coded: EncodedStays, found: Findings) -> AuditCounts:
    unanswered, other = stays.rows.lengths == 0, coded_otherwise(coded)
    return AuditCounts(
        stays=len(stays.rows),
        stays_without_answer=int(unanswered.sum()),
        stays_with_other_procedures=int((other & ~unanswered).sum()),
        mapping=stays.mapping,
        stays_with_findings=len(np.unique(found.stay)),
        by_kind={kind: int(found.is_kind(kind).sum()) for kind in KINDS},
        backed_off_diagnoses=int(stays.backed_off.sum()),
        unknown_diagnoses=int(stays.unknown.sum()),
        unknown_procedures=int(coded.unknown.sum()),
    )
