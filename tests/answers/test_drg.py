"""MS-DRGs beside findings: known groups, what a finding changes, and what cannot be grouped."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px.answers.audit_file import FileAudit
from dx2px.answers.audit_stream import AuditCounts, Tally, findings_schema
from dx2px.answers.defects import AuditSettings
from dx2px.answers.drg import FAMILIES, NO_GROUP, NO_PRINCIPAL, OTHER_CODES, Grouper, corrected, with_drgs
from dx2px.errors import InputError

HIP, REPLACED, PROSTATE = "icd10cm:M1611", "icd10pcs:0SR9019", "icd10cm:N400"


@pytest.fixture(scope="module")
def grouper() -> Grouper:
    pytest.importorskip("drgpy", reason="drgpy is not installed")
    return Grouper("v43.1")


def test_a_hip_replacement_makes_the_group(grouper: Grouper) -> None:
    assert (
        grouper.group(HIP, [HIP], [REPLACED], "F") == "470"
    )  # major hip and knee joint replacement without MCC
    assert grouper.group(HIP, [], [], "F") == "554"  # bone diseases and arthropathies without MCC
    assert grouper.group(HIP, [], []) == "554", "the sex does not matter here"


def test_a_group_that_depends_on_the_sex_needs_it(grouper: Grouper) -> None:
    assert grouper.group(PROSTATE, [], [], "M") == "726"  # benign prostatic hypertrophy without MCC
    assert grouper.group(PROSTATE, [], []) is None


def test_versions(grouper: Grouper) -> None:
    assert grouper.version == "v43.1"
    with pytest.raises(InputError, match=r"choose one of: v36,.*, latest"):
        Grouper("v99")


@pytest.mark.parametrize(
    ("kind", "other", "coded", "changed"),
    [
        ("unsupported", None, ["a", "x"], ["a"]),
        ("omitted", None, ["a"], ["a", "x"]),
        ("companion", "a", ["a"], ["a", "x"]),
        ("swap", "a", ["a", "b"], ["b", "x"]),
        ("diagnosis", None, ["a", "x"], None),
    ],
)
def test_what_a_finding_would_change(
    kind: str, other: str | None, coded: list[str], changed: list[str] | None
) -> None:
    assert corrected(kind, "x", other, coded) == changed


def finding(stay_id: str | None, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "stay_id": stay_id,
        "kind": kind,
        "code": REPLACED,
        "title": "",
        "other": None,
        "strength": 0.5,
        "probability": 0.5,
        "rank": 1,
        "because": [],
        "suggested": [],
        "diagnoses": [HIP],
        "procedures": [REPLACED] if kind in ("unsupported", "diagnosis") else [],
    } | more


def test_findings_get_both_groups_or_a_reason(grouper: Grouper, tmp_path: Path) -> None:
    rows = [
        finding("hip", "unsupported", code="icd10pcs:0SR9"),  # the family of what is coded
        finding("hip", "omitted"),
        finding("hip", "diagnosis"),
        finding("man", "omitted", diagnoses=[PROSTATE]),
        finding("twice", "omitted"),
        finding("none", "omitted"),
        finding(None, "omitted"),
        finding("hip", "omitted", diagnoses=["icd9cm:4280"]),
        finding("someone", "omitted", diagnoses=[PROSTATE]),
        finding("hip", "omitted", code="icd10pcs:0SR9"),
    ]
    stays = {
        "stay_id": ["hip", "man", "twice", "twice", "none", "someone", "another"],
        "principal": [HIP, PROSTATE, HIP, HIP, None, PROSTATE, HIP],
        "sex": ["F", "male", "F", "F", "F", None, "F"],
    }
    pq.write_table(pa.table(stays), tmp_path / "C.parquet")
    table = pa.Table.from_pylist(rows, schema=findings_schema(pa.string()))
    audit = FileAudit(table, AuditCounts(), AuditSettings(), "model", Tally.none(0), ())
    found, counts = with_drgs(audit, tmp_path / "C.parquet", grouper)
    groups = zip(
        found.findings["drg_coded"].to_pylist(), found.findings["drg_changed"].to_pylist(), strict=True
    )
    assert list(groups)[:3] == [("470", "554"), ("554", "470"), ("470", None)]
    assert found.findings["drg_coded"].to_pylist()[3] == "726"
    assert found.findings["drg_coded"].to_pylist()[4:] == [None] * 6
    assert found.findings["drg_version"].to_pylist() == ["v43.1"] * 4 + [None] * 6
    assert (counts.grouped, counts.changed) == (4, 3)
    assert counts.set_aside == {NO_PRINCIPAL: 3, OTHER_CODES: 1, NO_GROUP: 1, FAMILIES: 1}
    found.save(tmp_path / "F.csv")
    assert (
        (tmp_path / "F.csv").read_text().splitlines()[0].endswith('"drg_version","drg_coded","drg_changed"')
    )


@pytest.mark.realdata
def test_procedures_make_the_group_of_more_than_half_of_the_stays(grouper: Grouper, data: Path) -> None:
    """The open demo of MIMIC-IV: of its stays with diagnoses and procedures in ICD-10, 43 of 76."""
    tables: dict[str, Any] = {"diagnoses": defaultdict(list), "procedures": defaultdict(list)}
    for kind, system in (("diagnoses", "icd10cm"), ("procedures", "icd10pcs")):
        for row in _rows(data / "mimic4demo" / "hosp" / f"{kind}_icd.csv.gz"):
            if row["icd_version"] == "10":
                code = f"{system}:{row['icd_code'].strip()}"
                tables[kind][row["hadm_id"], row["subject_id"]].append((int(row["seq_num"]), code))
    sexes = {
        row["subject_id"]: row["gender"] for row in _rows(data / "mimic4demo" / "hosp" / "patients.csv.gz")
    }
    changed = []
    for stay in tables["diagnoses"].keys() & tables["procedures"].keys():
        (_, principal), *others = sorted(tables["diagnoses"][stay])
        diagnoses, procedures = [code for _, code in others], [code for _, code in tables["procedures"][stay]]
        groups = [grouper.group(principal, diagnoses, some, sexes[stay[1]]) for some in (procedures, [])]
        assert groups[0] is not None
        changed.append(groups[0] != groups[1])
    assert (sum(changed), len(changed)) == (43, 76)


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") as stream:
        return list(csv.DictReader(stream))
