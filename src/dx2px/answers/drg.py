"""MS-DRGs of an audit's findings: the group of the stay as coded, and as it would be if the finding were a mistake.

Only for stays coded in ICD-10 whose principal diagnosis is known. The groups come from drgpy (extra `[drg]`), an open
implementation of the published definitions. It knows neither age nor birth weight, and takes every patient as
discharged home alive and every diagnosis as present on admission. So a group is information, not advice on billing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dx2px.answers.audit_file import FileAudit
from dx2px.answers.model import Model
from dx2px.answers.population_file import StayFile
from dx2px.codes import System, counts_as, is_family, split
from dx2px.errors import CodeError, InputError
from dx2px.scoring.evidence import SEX_WORDS, SEXES

LATEST = "latest"
ICD10 = {System.ICD10CM, System.ICD10PCS}
_NO_GROUP = "000"  # drgpy's answer where no definition fits

OTHER_CODES = "stays with codes other than ICD-10"
FAMILIES = "findings that name a family of codes, of which one is to be chosen"
NO_PRINCIPAL = "stays without a principal diagnosis, or whose id is not unique"
NO_GROUP = "stays that fit no group, or a group that depends on the unknown sex"


@dataclass(frozen=True)
class DrgCounts:
    """For how many findings groups are known, in how many the two differ, and why others have none."""

    version: str
    grouped: int
    changed: int
    set_aside: Mapping[str, int]  # by reason


@dataclass(frozen=True)
class _Patient:
    principal: str
    sex: str | None


class Grouper:
    """The MS-DRG definitions of one version.

    Args:
        version: Such as `v43.1`, or `latest` for the newest that drgpy has.

    Raises:
        InputError: drgpy does not have the version.
    """

    def __init__(self, version: str = LATEST) -> None:
        from drgpy.msdrg import DRGEngine

        try:
            self._engine = DRGEngine(None if version == LATEST else version)
        except ValueError as error:
            raise InputError(f"{str(error).rstrip('.')}, {LATEST}.") from None
        self.version: str = self._engine.version

    def group(
        self, principal: str, diagnoses: Sequence[str], procedures: Sequence[str], sex: str | None = None
    ) -> str | None:
        """The group of a stay, from canonical ICD-10 codes; None if none fits, or if it depends on an unknown sex."""
        ordered = [_bare(code) for code in dict.fromkeys([principal, *diagnoses])]
        done = [_bare(code) for code in procedures]
        found = {str(self._engine.get_drg(ordered, done, gender=one)) for one in ([sex] if sex else SEXES)}
        return found.pop() if len(found) == 1 and _NO_GROUP not in found else None


def check_groupable(model: Model, source: str | os.PathLike[str]) -> None:
    """Raise an `InputError` if no finding of an audit could have a group; worth asking before the work begins."""
    if not any(_is_icd10(code) for code in model.files.procedures):
        raise InputError(
            "MS-DRGs need ICD-10 codes, and the model's procedures are of ICD-9: leave --drg out."
        )
    if "principal" not in StayFile(source, ("stay_id",)).parquet.schema_arrow.names:
        raise InputError(
            "MS-DRGs need the principal diagnosis, and the stays have no column principal: leave --drg out."
        )


def with_drgs(
    audit: FileAudit, source: str | os.PathLike[str], grouper: Grouper
) -> tuple[FileAudit, DrgCounts]:
    """The audit with the columns `drg_version`, `drg_coded` and `drg_changed`, and how many findings have them.

    Args:
        audit: The findings of a file.
        source: The file of stays that was audited; its columns `principal` and `sex` are read again.
        grouper: The definitions to use.

    Returns:
        `drg_changed` is the group if the finding is a mistake: without an unsupported procedure, with an absent one.
        It is null where the finding changes no procedure. Both are null where a group cannot be known.
    """
    patients = _patients(StayFile(source, ("stay_id",), ("principal", "sex")), audit.findings["stay_id"])
    aside: Counter[str] = Counter()
    groups = [_groups(finding, patients, grouper, aside) for finding in _findings(audit.findings)]
    coded, changed = [one[0] for one in groups], [one[1] for one in groups]
    findings = audit.findings
    version = [grouper.version if one else None for one in coded]
    for name, column in (("drg_version", version), ("drg_coded", coded), ("drg_changed", changed)):
        findings = findings.append_column(name, pa.array(column, pa.string()))
    differing = sum(b is not None and a != b for a, b in groups)
    counts = DrgCounts(grouper.version, sum(one is not None for one in coded), differing, dict(aside))
    return replace(audit, findings=findings), counts


def corrected(kind: str, code: str, other: str | None, procedures: Sequence[str]) -> list[str] | None:
    """The stay's procedures if the finding is a mistake; None if they would stay as they are."""
    if kind == "diagnosis":
        return None
    wrong = code if kind == "unsupported" else other if kind == "swap" else None
    right = [] if kind == "unsupported" else [code]
    return [one for one in procedures if wrong is None or not counts_as(one, wrong)] + right


def _groups(
    finding: Mapping[str, Any],
    patients: Mapping[Any, _Patient],
    grouper: Grouper,
    aside: Counter[str],
) -> tuple[str | None, str | None]:
    diagnoses, procedures = finding["diagnoses"], finding["procedures"]
    if not all(_is_icd10(code) for code in (*diagnoses, *procedures, finding["code"])):
        aside[OTHER_CODES] += 1
        return None, None
    changed = corrected(finding["kind"], finding["code"], finding["other"], procedures)
    if any(is_family(code) for code in (*procedures, *(changed or ()))):
        aside[FAMILIES] += 1
        return None, None
    patient = patients.get(finding["stay_id"])
    if patient is None:
        aside[NO_PRINCIPAL] += 1
        return None, None
    coded = grouper.group(patient.principal, diagnoses, procedures, patient.sex)
    if coded is None:
        aside[NO_GROUP] += 1
        return None, None
    return coded, None if changed is None else grouper.group(
        patient.principal, diagnoses, changed, patient.sex
    )


def _patients(stays: StayFile, wanted: pa.ChunkedArray) -> dict[Any, _Patient]:
    """Principal diagnosis and sex of the stays with findings, by id; not of ids that several stays have."""
    ids = pc.unique(wanted).drop_null()
    seen: Counter[Any] = Counter()
    found: dict[Any, _Patient] = {}
    for batch in stays.batches():
        for row in batch.filter(pc.is_in(batch["stay_id"].cast(ids.type), ids)).to_pylist():
            seen[row["stay_id"]] += 1
            if (principal := row.get("principal")) is not None and _is_icd10(principal):
                found[row["stay_id"]] = _Patient(principal, _sex(row.get("sex")))
    return {stay: patient for stay, patient in found.items() if seen[stay] == 1}


def _findings(table: pa.Table) -> Iterator[dict[str, Any]]:
    names = ["stay_id", "kind", "code", "other", "diagnoses", "procedures"]
    for batch in table.select(names).to_batches(4096):
        yield from batch.to_pylist()


def _sex(word: str | None) -> str | None:
    place = SEX_WORDS.get(str(word).strip().lower())
    return None if place is None else SEXES[place]


def _is_icd10(code: str) -> bool:
    try:
        return split(code)[0] in ICD10
    except CodeError:
        return False


def _bare(code: str) -> str:
    return split(code)[1]
