"""Parquet in, findings out: the strongest findings of a file of stays, sorted, in constant memory.

All findings are counted, but only the strongest are kept: as many per 100 stays as asked for, and never more than
`most`. Nobody works through more, and keeping all would need memory that grows with the file. Equally strong ones
stay in the order of the stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from dx2px.answers.audit_stream import AUDITED, AuditCounts, Tally, audited_blocks, findings_schema
from dx2px.answers.defects import KINDS, AuditSettings, Kind
from dx2px.answers.model import Model, check_model
from dx2px.answers.population import facts_of
from dx2px.answers.population_file import METADATA_KEY, StayFile, check_output
from dx2px.codes import title
from dx2px.errors import InputError
from dx2px.scoring.identity import fingerprint
from dx2px.storage import atomic_path
from dx2px.version import __version__

MOST = 100_000
SUFFIXES = (".parquet", ".csv")
# A text that spreadsheets would run as a formula (OWASP, "CSV injection"). An apostrophe in front prevents that; texts
# that already have one get another, so that taking one away always gives back the text.
FORMULA = r"^('*[=+\-@\t\r\n＝＋－＠])"

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Group:
    """Findings of one kind of one procedure: what a team decides once, not stay by stay."""

    kind: Kind
    code: str
    title: str
    stays: int  # with this finding, kept or not
    probability: float  # their mean


@dataclass(frozen=True, eq=False)
class FileAudit:
    """The strongest findings of a file, strongest first, and the counts of all."""

    findings: pa.Table
    counts: AuditCounts
    settings: AuditSettings
    model: str  # fingerprint
    tally: Tally  # of all findings
    procedures: Sequence[str]  # the model's, in the order of the tally

    def groups(self) -> tuple[Group, ...]:
        """All findings by kind and procedure, kept or not; the largest group first."""
        number = self.tally.number.reshape(-1)
        order = np.argsort(-number, kind="stable")[: np.count_nonzero(number)]
        means = self.tally.probability.reshape(-1)[order] / number[order]
        return tuple(
            self._group(place, int(number[place]), mean)
            for place, mean in zip(order.tolist(), means.tolist(), strict=True)
        )

    def _group(self, place: int, stays: int, probability: float) -> Group:
        kind, procedure = divmod(place, len(self.procedures))
        code = self.procedures[procedure]
        return Group(KINDS[kind], code, title(code).text, stays, probability)

    @property
    def left_out(self) -> int:
        """Findings that were counted but not kept."""
        return self.counts.findings - len(self.findings)

    @property
    def formula_ids(self) -> int:
        """Findings whose `stay_id` a spreadsheet would run as a formula; a CSV file has an apostrophe before it."""
        ids = self.findings.column("stay_id")
        return int(pc.sum(pc.match_substring_regex(ids, FORMULA)).as_py() or 0) if _is_text(ids.type) else 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the findings as CSV or Parquet, by the file's ending; completely or not at all."""
        write = _write_csv if Path(path).suffix.lower() == ".csv" else self._write_parquet
        with atomic_path(path) as draft:
            write(self.findings, draft)

    def _write_parquet(self, findings: pa.Table, path: Path) -> None:
        record = {
            "version": __version__,
            "model": self.model,
            "settings": asdict(self.settings),
            "counts": self.counts.to_dict(),
            "left_out": self.left_out,
            "groups": [asdict(group) for group in self.groups()],
        }
        marked = findings.replace_schema_metadata({METADATA_KEY: json.dumps(record)})
        pq.write_table(marked, path, compression="zstd")


def audit_file(
    model: Model,
    source: str | os.PathLike[str],
    settings: AuditSettings | None = None,
    *,
    per_100: float | None = None,
    most: int = MOST,
    progress: Progress = lambda done: None,
    map: bool = True,  # noqa: A002
) -> FileAudit:
    """Audit every stay of a Parquet file and keep the strongest findings.

    Args:
        model: A calibrated model.
        source: A cohort, or any Parquet file with `stay_id`, `diagnoses` and `procedures`.
        settings: How strong a finding must be, how often coders are assumed to err, and which kinds are wanted.
        per_100: Keep only this many findings per 100 stays.
        most: Keep at most this many findings; the rest are counted.
        progress: Called with the number of stays done.
        map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

    Returns:
        The findings, strongest first, and the counts; `save` writes them as Parquet or CSV.
    """
    check_model(model)
    settings = settings or AuditSettings()
    stays = StayFile(source, AUDITED, facts_of(model))
    best = _Strongest(stays.parquet.schema_arrow.field("stay_id").type, _limit(per_100, most, stays.rows))
    procedures = model.files.procedures
    counts, tally = AuditCounts(), Tally.none(len(procedures))
    for block in audited_blocks(model, stays.batches(), settings, map=map):
        best.add(block.findings)
        counts, tally = counts.plus(block.counts), tally.plus(block.tally)
        progress(counts.stays)
    return FileAudit(best.sorted(), counts, settings, fingerprint(model.files), tally, procedures)


def check_findings_path(out: str | os.PathLike[str], source: str | os.PathLike[str]) -> None:
    """Raise an `InputError` if the findings cannot be written there; worth asking before the work begins."""
    path = Path(out)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"Findings are written to a {' or '.join(SUFFIXES)} file, not to {path.name!r}.")
    check_output(path, StayFile(source, AUDITED))


class _Strongest:
    """The strongest findings of a stream; little more than those is in memory."""

    def __init__(self, stay_id: pa.DataType, limit: int) -> None:
        self.limit = limit
        self.schema = findings_schema(stay_id)
        self.kept = self.schema.empty_table()

    def add(self, findings: pa.RecordBatch) -> None:
        self.kept = pa.concat_tables([self.kept, pa.Table.from_batches([findings], self.schema)])
        if self.kept.num_rows > 2 * self.limit + 1000:
            self.kept = self._cut(in_first_order=True)

    def sorted(self) -> pa.Table:
        return self._cut(in_first_order=False)

    def _cut(self, *, in_first_order: bool) -> pa.Table:
        """The strongest; kept in stream order until the end, so that ties do not depend on the batches."""
        order = np.argsort(-self.kept.column("strength").to_numpy(), kind="stable")[: self.limit]
        return self.kept.take(pa.array(np.sort(order) if in_first_order else order)).combine_chunks()


def _limit(per_100: float | None, most: int, stays: int) -> int:
    if most < 1:
        raise InputError(f"The most findings to keep must be at least 1, not {most}.")
    if per_100 is None:
        return most
    if not 0 < per_100 <= 100_000:
        raise InputError(f"Findings per 100 stays must be above 0 and at most 100,000, not {per_100:g}.")
    return min(most, int(np.ceil(per_100 * stays / 100)))


def _write_csv(findings: pa.Table, path: Path) -> None:
    flat = findings
    for name in ("because", "suggested", "diagnoses", "procedures"):
        texts = ["; ".join(map(_listed, entries)) for entries in findings.column(name).to_pylist()]
        flat = flat.set_column(flat.schema.get_field_index(name), name, pa.array(texts, pa.string()))
    for place, field in enumerate(flat.schema):
        if _is_text(field.type):
            flat = flat.set_column(
                place, field, pc.replace_substring_regex(flat.column(place), FORMULA, r"'\1")
            )
    pyarrow.csv.write_csv(flat, path)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _listed(entry: str | dict[str, Any]) -> str:
    """A code, or a reason with its share."""
    return entry if isinstance(entry, str) else f"{entry['code']} {entry['share']:.0%}"
