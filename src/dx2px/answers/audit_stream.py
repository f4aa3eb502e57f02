"""Audit of any number of stays, as streams of Arrow record batches; needs only numpy and pyarrow.

In:   `stay_id`, `diagnoses`, `procedures` (lists of codes); a model that takes more evidence also reads `principal`,
      `age`, `sex` and `admission`, where they are there; other columns are ignored.
Out:  one row per finding, in the order of the stays; the findings of a stay are those of `StayAudit`:

stay_id       as it came
kind          unsupported (coded, though the diagnoses hardly support it) or missing (expected, but not coded)
code, title   of the procedure
strength      the probability that it is a mistake, under the stated rates of mistakes
probability   of the procedure given the diagnoses
rank          its place among all procedures for these diagnoses
because       the diagnoses and other evidence that support it most, each with its share

Stays are regrouped into blocks of one size before they are audited, so findings do not depend on the batch sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from os import cpu_count
from typing import Any

import numpy as np
import pyarrow as pa

from dx2px.answers.audit import strongest_reasons
from dx2px.answers.defects import AuditSettings
from dx2px.answers.encoding import EncodedStays, StayEncoder
from dx2px.answers.even_blocks import EvenBlock, EvenBlocks
from dx2px.answers.flagging import Findings, Flagger, joined, reasons
from dx2px.answers.model import Model, Support
from dx2px.answers.population import even_batches, facts_of, in_order
from dx2px.codes import title
from dx2px.errors import CodeError
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.known import Known

AUDITED = ("stay_id", "diagnoses", "procedures")
UNSUPPORTED, MISSING = "unsupported", "missing"
_REMEMBERED = 200_000  # texts


@dataclass(frozen=True)
class AuditCounts:
    """What was audited and found."""

    stays: int = 0
    stays_without_answer: int = 0  # the model knows none of their diagnoses
    unsupported: int = 0
    missing: int = 0
    backed_off_diagnoses: int = 0
    unknown_diagnoses: int = 0
    unknown_procedures: int = 0

    @property
    def findings(self) -> int:
        return self.unsupported + self.missing

    def plus(self, other: AuditCounts) -> AuditCounts:
        names = [field.name for field in fields(self)]
        return AuditCounts(*(getattr(self, name) + getattr(other, name) for name in names))

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class AuditedBlock:
    """The findings of some stays, and their counts."""

    findings: pa.RecordBatch
    counts: AuditCounts


def audit_batches(
    batches: Iterable[pa.RecordBatch],
    model: Model,
    settings: AuditSettings | None = None,
    threads: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Audit a stream of stays.

    Args:
        batches: Arrow record batches with `stay_id`, `diagnoses` and `procedures`.
        model: A calibrated model.
        settings: How strong a finding must be, and how often coders are assumed to err.
        threads: Threads to use; one per processor by default.

    Yields:
        Record batches with one row per finding, in the order of the stays.
    """
    return (block.findings for block in audited_blocks(batches, model, settings, threads))


def audited_blocks(
    batches: Iterable[pa.RecordBatch],
    model: Model,
    settings: AuditSettings | None = None,
    threads: int | None = None,
) -> Iterator[AuditedBlock]:
    """The findings of a stream of stays, with counts; one thread per processor by default."""
    auditor = Auditor(model, settings or AuditSettings())
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
            ("strength", pa.float64()),
            ("probability", pa.float64()),
            ("rank", pa.int32()),
            ("because", pa.list_(reason)),
        ]
    )


class Auditor:
    """A model with the settings of an audit; several threads may ask at once."""

    def __init__(self, model: Model, settings: AuditSettings) -> None:
        self.model, self.flagger = model, Flagger(model, settings)
        self.blocks = EvenBlocks(model)
        self.procedures = StayEncoder(model.procedures, {})
        self.procedure_codes = pa.array(model.files.procedures, pa.string())
        self.procedure_titles = pa.array([title(code).text for code in model.files.procedures], pa.string())
        self._codes: dict[str, str | None] = {}  # the diagnosis that a text means

    def audit(self, block: pa.RecordBatch) -> AuditedBlock:
        """The findings of a record batch of stays."""
        stays = self.blocks.encoder.encode(block.column("diagnoses"))
        coded = self.procedures.encode(block.column("procedures"))
        found, supports = self._found(stays, coded, self.blocks.known(block))
        because = self._because(block.column("diagnoses"), found, supports)
        return AuditedBlock(self._table(block, found, because), _counts(stays, coded, found))

    def _found(
        self, stays: EncodedStays, coded: EncodedStays, known: Known | None
    ) -> tuple[Findings, list[Support]]:
        """Findings in the order of the stays, each with what supports it."""
        parts = [self._flagged(block, coded.rows) for block in self.blocks.of(stays.rows, known)]
        found = joined([part for part, _ in parts])
        supports = [support for _, part in parts for support in part]
        order = np.argsort(found.stay, kind="stable")
        return found.take(order), [supports[place] for place in order.tolist()]

    def _flagged(self, block: EvenBlock, coded: Ragged) -> tuple[Findings, list[Support]]:
        found = self.flagger.flag(block.scorer, block.rows, coded.take(block.filled))
        found = found.take(found.stay < block.size)
        flat = reasons(block.scorer, block.rows, found)
        stretches = pairwise(offsets_of(block.rows.lengths[found.stay]).tolist())
        supports = [
            self.model.support(block.scorer, block.rows[stay], flat[a:b])
            for stay, (a, b) in zip(found.stay.tolist(), stretches, strict=True)
        ]
        return replace(found, stay=block.places[found.stay]), supports

    def _because(
        self, diagnoses: pa.Array, found: Findings, supports: Sequence[Support]
    ) -> list[list[dict[str, Any]]]:
        """The reasons of each finding; codes are looked up only for stays with findings."""
        stays, places = np.unique(found.stay, return_inverse=True)
        codes = [self._codes_of(texts) for texts in diagnoses.take(pa.array(stays)).to_pylist()]
        return [
            [asdict(reason) for reason in strongest_reasons(codes[place], support)]
            for place, support in zip(places.tolist(), supports, strict=True)
        ]

    def _codes_of(self, texts: Sequence[str | None]) -> list[str]:
        """The diagnoses that count, each once, in the order in which the encoder has them."""
        if len(self._codes) > _REMEMBERED:
            self._codes.clear()
        codes = (self._code_of(text) for text in texts if text is not None)
        return list(dict.fromkeys(code for code in codes if code is not None))

    def _code_of(self, text: str) -> str | None:
        if text not in self._codes:
            try:
                found = self.model.diagnoses.find(text)
                self._codes[text] = None if found.status == "unknown" else found.code
            except CodeError:  # it may mean several codes
                self._codes[text] = None
        return self._codes[text]

    def _table(
        self, block: pa.RecordBatch, found: Findings, because: list[list[dict[str, Any]]]
    ) -> pa.RecordBatch:
        schema = findings_schema(block.schema.field("stay_id").type)
        procedures = pa.array(found.procedure)
        columns = {
            "stay_id": block.column("stay_id").take(pa.array(found.stay)),
            "kind": pa.array(np.where(found.missing, MISSING, UNSUPPORTED), pa.string()),
            "code": self.procedure_codes.take(procedures),
            "title": self.procedure_titles.take(procedures),
            "strength": pa.array(found.strength),
            "probability": pa.array(found.probability),
            "rank": pa.array(found.rank.astype(np.int32)),
            "because": pa.array(because, schema.field("because").type),
        }
        return pa.record_batch(columns, schema=schema)


def _counts(stays: EncodedStays, coded: EncodedStays, found: Findings) -> AuditCounts:
    missing = int(found.missing.sum())
    return AuditCounts(
        stays=len(stays.rows),
        stays_without_answer=int((stays.rows.lengths == 0).sum()),
        unsupported=len(found) - missing,
        missing=missing,
        backed_off_diagnoses=int(stays.backed_off.sum()),
        unknown_diagnoses=int(stays.unknown.sum()),
        unknown_procedures=int(coded.unknown.sum()),
    )
