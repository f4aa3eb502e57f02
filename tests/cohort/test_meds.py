"""MEDS datasets: shards that the public package writes, stays by id and by time, and what belongs to no stay."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dx2px import CohortError, prepare
from dx2px.cohort import Prepared
from dx2px.cohort.sources.meds_codes import Meaning, meaning

Event = tuple[int, str | None, str] | tuple[int, str | None, str, Any]


def events(*rows: Event, stay: str | None = None) -> pa.Table:
    """A shard: subject, time as text, code and, if `stay` names a column, the id of the stay."""
    columns: dict[str, pa.Array] = {
        "subject_id": pa.array([row[0] for row in rows], pa.int64()),
        "time": pa.array([row[1] and datetime.fromisoformat(row[1]) for row in rows], pa.timestamp("us")),
        "code": pa.array([row[2] for row in rows], pa.string()),
        "numeric_value": pa.nulls(len(rows), pa.float32()),
    }
    if stay is not None:
        columns[stay] = pa.array([row[3] if len(row) > 3 else None for row in rows])
    return pa.table(columns)


def write(folder: Path, **shards: pa.Table) -> Path:
    """A dataset: a folder per split with one shard, and the table of codes, which is no shard."""
    for name, table in shards.items():
        path = folder / "data" / name / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table, path)
    (folder / "metadata").mkdir()
    pq.write_table(pa.table({"code": ["x"]}), folder / "metadata" / "codes.parquet")
    return folder


def run(path: Path, out: Path, **more: Any) -> Prepared:
    prepared = prepare("meds", path, out / "C.parquet", **more)
    counts = prepared.counts
    assert counts.entries_read == sum(counts.rejected.values()) + counts.entries_used
    return prepared


def rows(prepared: Prepared) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(prepared.path).to_pylist()
    return found


def rejects(prepared: Prepared) -> list[tuple[Any, ...]]:
    found = pq.read_table(prepared.rejects_path).to_pylist()
    return [(row["file"], row["line"], row["reason"], row["detail"]) for row in found]


def test_stays_by_id_from_shards_of_the_public_package(tmp_path: Path) -> None:
    meds = pytest.importorskip("meds", reason="meds is not installed")
    first = events(
        (10, None, "GENDER//F"),
        (10, "1950-06-01", meds.birth_code),
        (10, "2020-03-01 10:00", "HOSPITAL_ADMISSION//EW EMER.//EMERGENCY ROOM", 7),
        (10, "2020-03-01 11:00", "LAB//50912//mg/dL", 7),
        (10, "2020-03-02", "PROCEDURE//ICD//9//3995", 7),
        (10, "2020-03-05 12:00", "DIAGNOSIS//ICD//9//5856", 7),
        (10, "2020-03-05 12:00", "DIAGNOSIS//ICD//9//4280 ", 7),
        (10, "2020-03-05 12:00", "HOSPITAL_DISCHARGE//HOME", 7),
        (10, "2021-03-05", "DIAGNOSIS//ICD//9//4019"),
        stay="hadm_id",
    )
    second = events(
        (11, "2020-03-02", "ICD10PCS/5A1D70Z", 8),
        (11, "2020-03-05", "DIAGNOSIS//ICD10CM//N18.6", 8),
        (11, "2020-03-05", "DIAGNOSIS//ICD10CA//N18.6", 8),
        (11, "2020-03-05", "ICD//10//N186", 8),
        (11, "2020-03-05", "ICD10CM//zzz", 8),
        stay="hadm_id",
    )
    shards = {"train": meds.DataSchema.align(first), "held_out": meds.DataSchema.align(second)}
    prepared = run(write(tmp_path / "meds", **shards), tmp_path, max_rejected=1)
    assert rows(prepared) == [
        {
            "stay_id": "7",
            "patient_id": "10",
            "diagnoses": ["icd9cm:5856", "icd9cm:4280"],
            "procedures": ["icd9pcs:3995"],
            "principal": None,
            "age": 69,
            "sex": "F",
            "admission": "ew emer.",
        },
        {
            "stay_id": "8",
            "patient_id": "11",
            "diagnoses": ["icd10cm:N186"],
            "procedures": ["icd10pcs:5A1D70Z"],
            "principal": None,
            "age": None,
            "sex": None,
            "admission": None,
        },
    ]
    assert rejects(prepared) == [
        ("held_out/0.parquet", 3, "not_icd", "N18.6"),
        ("held_out/0.parquet", 4, "missing_kind", "N186"),
        ("held_out/0.parquet", 5, "not_a_code", "zzz"),
        ("train/0.parquet", 9, "outside_stay", "4019"),
    ]
    assert "5 events are neither diagnosis nor procedure." in prepared.notes


def test_stays_by_time_where_events_carry_no_id(tmp_path: Path) -> None:
    """By the clock first, then by the day; a discharge and an admission at one moment are two stays."""
    table = events(
        (1, "1950-06-01", "MEDS_BIRTH"),
        (1, "2020-03-01 10:00", "HOSPITAL_ADMISSION//URGENT//X"),
        (1, "2020-03-01 10:00", "HOSPITAL_ADMISSION//URGENT//X"),  # a shard may repeat an event
        (1, "2020-03-01", "PROCEDURE//ICD//9//3995"),  # only a date: before the hour of admission
        (1, "2020-03-02 09:00", "ADMISSION//ICU"),  # within the stay
        (1, "2020-03-05 12:00", "DIAGNOSIS//ICD//9//5856"),  # at the moment of discharge
        (1, "2020-03-05 12:00", "HOSPITAL_DISCHARGE//HOME"),
        (1, "2020-03-05 12:00", "HOSPITAL_ADMISSION//ELECTIVE//X"),
        (1, "2020-03-05 12:01", "DIAGNOSIS//ICD//9//4280"),
        (1, "2020-03-06 08:00", "PROCEDURE//ICD//9//3893"),
        (1, "2020-03-06 09:00", "HOSPITAL_DISCHARGE//HOME"),
        (1, "2020-03-07 00:00", "DIAGNOSIS//ICD//9//0389"),  # the day after
        (1, None, "DIAGNOSIS//ICD//9//0389"),
        (2, "2020-03-02", "DIAGNOSIS//ICD//9//0389"),  # another subject
        (2, "2020-04-01 09:00", "HOSPITAL_ADMISSION//URGENT"),  # never discharged
        (2, "2020-04-02 09:00", "DIAGNOSIS//ICD//9//0389"),
    )
    prepared = run(write(tmp_path / "meds", train=table), tmp_path)
    assert [(r["stay_id"], r["diagnoses"], r["procedures"], r["admission"]) for r in rows(prepared)] == [
        ("1-1", ["icd9cm:5856"], ["icd9pcs:3995"], "urgent"),
        ("1-2", ["icd9cm:4280"], ["icd9pcs:3893"], "elective"),
    ]
    assert prepared.counts.rejected == {"outside_stay": 4}
    assert [line for _, line, _, _ in rejects(prepared)] == [12, 13, 14, 16]
    assert "(1 admission without one gives no stay)" in prepared.notes[0]


@pytest.mark.realdata
def test_mimic_as_meds_gives_the_stays_of_mimic(data: Path, tmp_path: Path) -> None:
    """By id exactly those; by time all but the few whose procedures carry a date of another stay or of none."""
    hosp = data / "mimic4demo" / "hosp"
    admissions, patients, diagnoses, procedures = (
        pa.csv.read_csv(hosp / f"{name}.csv.gz").to_pylist()
        for name in ("admissions", "patients", "diagnoses_icd", "procedures_icd")
    )
    discharged = {row["hadm_id"]: row["dischtime"] for row in admissions}

    def code(kind: str, row: dict[str, Any]) -> str:
        return f"{kind}//ICD//{row['icd_version']}//{row['icd_code']}"

    found: list[Event] = [(row["subject_id"], None, f"GENDER//{row['gender']}") for row in patients]
    for row in admissions:
        who, stay = row["subject_id"], row["hadm_id"]
        found.append((who, str(row["admittime"]), f"HOSPITAL_ADMISSION//{row['admission_type']}//X", stay))
        found.append((who, str(row["dischtime"]), "HOSPITAL_DISCHARGE//HOME", stay))
    for row in diagnoses:
        time = str(discharged[row["hadm_id"]])
        found.append((row["subject_id"], time, code("DIAGNOSIS", row), row["hadm_id"]))
    for row in procedures:
        time = str(row["chartdate"])
        found.append((row["subject_id"], time, code("PROCEDURE", row), row["hadm_id"]))
    with_ids, without = events(*found, stay="hadm_id"), events(*found)

    def stays(prepared: Prepared) -> Counter[Any]:
        codes = ("diagnoses", "procedures")
        known = ("patient_id", "sex", "admission")
        return Counter(
            (*(frozenset(row[name]) for name in codes), *(row[name] for name in known))
            for row in rows(prepared)
        )

    expected = stays(prepare("mimic4", hosp, tmp_path / "M.parquet"))
    assert expected.total() > 150
    assert stays(run(write(tmp_path / "ids", train=with_ids), tmp_path)) == expected
    by_time = run(write(tmp_path / "times", train=without), tmp_path)
    assert (stays(by_time) & expected).total() >= 0.98 * expected.total()
    assert by_time.counts.rejected["outside_stay"] <= 2


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("DIAGNOSIS//ICD//10//I50.9", Meaning("entry", "I50.9", "diagnosis", 10)),
        ("procedure//icd-9-cm//39.95", Meaning("entry", "39.95", "procedure", 9)),
        ("ICD9Proc/39.95", Meaning("entry", "39.95", "procedure", 9)),
        ("ICD9CM//4280", Meaning("entry", "4280", "diagnosis", 9)),
        ("demo//diagnoses//ICD//9//4280", Meaning("entry", "4280", "diagnosis", 9)),
        ("PROCEDURE//START//225792", Meaning("entry", "225792", "procedure", -1)),
        ("DIAGNOSIS//ICD//11//XA", Meaning("entry", "XA", "diagnosis", -1)),
        ("DIAGNOSIS//ICD//10//", Meaning("entry", None, "diagnosis", 10)),
        ("HOSPITAL_ADMISSION//UNK", Meaning("admission", None)),
        ("Visit/IP", Meaning("visit", "IP")),
        ("MIMIC_IV_Gender/F", Meaning("sex", "F")),
        ("MEDS_BIRTH", Meaning("birth", None)),
        ("ADMISSION_DIAGNOSIS//SEPSIS", None),
        ("LAB//ICD//10", None),
        ("SNOMED/84114007", None),
        ("", None),
    ],
)
def test_meanings_of_codes(code: str, expected: Meaning | None) -> None:
    assert meaning(code) == expected


def test_what_is_no_dataset_is_refused_in_a_sentence(tmp_path: Path) -> None:
    old = events((1, None, "x")).rename_columns(["patient_id", "time", "code", "numeric_value"])
    with pytest.raises(CohortError, match=r"train/0\.parquet has no column subject_id, so it is not a shard"):
        run(write(tmp_path / "old", train=old), tmp_path)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "0.parquet").write_bytes(b"PAR1")
    with pytest.raises(CohortError, match="cannot be read as Parquet"):
        run(tmp_path / "damaged", tmp_path)
