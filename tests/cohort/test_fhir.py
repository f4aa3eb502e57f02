"""FHIR bulk exports: what the public package writes is read, and every defect is rejected with its reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dx2px import Cohort, CohortError, prepare
from dx2px.cohort import Prepared
from dx2px.cohort.sources.fhir_resources import READERS, SCHEMAS

ICD9, ICD10CM = "http://hl7.org/fhir/sid/icd-9-cm", "http://hl7.org/fhir/sid/icd-10-cm"
ICD10PCS, SNOMED = "http://www.cms.gov/Medicare/Coding/ICD10", "http://snomed.info/sct"
USE = "http://terminology.hl7.org/CodeSystem/diagnosis-role"
VERIFICATION = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
NAMES = [
    "id",
    "code",
    "coding",
    "system",
    "reference",
    "encounter",
    "subject",
    "class",
    "diagnosis",
    "condition",
    "rank",
    "use",
    "period",
    "start",
]
NAMES += [
    "partOf",
    "priority",
    "type",
    "text",
    "display",
    "status",
    "verificationStatus",
    "birthDate",
    "gender",
]
Resource = dict[str, Any]


def concept(*codings: tuple[str, str]) -> Resource:
    return {"coding": [{"system": system, "code": code} for system, code in codings]}


def condition(name: str, *codings: tuple[str, str], encounter: str | None = "e1", **more: Any) -> Resource:
    where = {} if encounter is None else {"encounter": {"reference": f"Encounter/{encounter}"}}
    whose = {"subject": {"reference": "Patient/p1"}}
    return {"resourceType": "Condition", "id": name, "code": concept(*codings), **whose, **where, **more}


def procedure(name: str, *codings: tuple[str, str], encounter: str = "e1", **more: Any) -> Resource:
    found = condition(name, *codings, encounter=encounter)
    return {**found, "resourceType": "Procedure", "status": "completed", **more}


def encounter(name: str, patient: str = "p1", **more: Any) -> Resource:
    return {
        "resourceType": "Encounter",
        "id": name,
        "status": "finished",
        "class": {"code": "IMP"},
        "subject": {"reference": f"Patient/{patient}"},
        "period": {"start": "2020-03-15T08:00:00Z"},
        **more,
    }


def listed(*diagnoses: tuple[str, int | None, str | None]) -> Resource:
    return {
        "diagnosis": [
            {"condition": {"reference": f"Condition/{name}"}}
            | ({} if rank is None else {"rank": rank})
            | ({} if use is None else {"use": concept((USE, use))})
            for name, rank, use in diagnoses
        ]
    }


PATIENT = {"resourceType": "Patient", "id": "p1", "gender": "female", "birthDate": "1950-03-16"}


def write(path: Path, *resources: Resource | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, str) else json.dumps(one) for one in resources]
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def run(path: Path, out: Path, **more: Any) -> Prepared:
    prepared = prepare("fhir", path, out / "C.parquet", **more)
    counts = prepared.counts
    assert counts.entries_read == sum(counts.rejected.values()) + counts.entries_used
    return prepared


def rows(prepared: Prepared) -> dict[str, Resource]:
    return {row["stay_id"]: row for row in pq.read_table(prepared.path).to_pylist()}


def rejects(prepared: Prepared) -> list[tuple[Any, ...]]:
    found = pq.read_table(prepared.rejects_path).to_pylist()
    return [(row["file"], row["line"], row["reason"], row["detail"]) for row in found]


def test_an_export_written_by_the_public_package(tmp_path: Path) -> None:
    """`fhir.resources` writes what it accepts as valid; we read its codes, stay, patient, context and principal."""
    r4b = pytest.importorskip("fhir.resources.R4B", reason="fhir.resources is not installed")

    def valid(resource: Resource) -> str:
        model = r4b.get_fhir_model_class(resource["resourceType"])
        text: str = model.model_validate(resource).model_dump_json()
        return text

    act = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
    priority = concept(("http://terminology.hl7.org/CodeSystem/v3-ActPriority", "EM"))
    stay = encounter("e1", priority=priority, **listed(("c2", 1, "DD"), ("c1", 1, "CM"), ("c3", 2, "DD")))
    stay["class"] = {"system": act, "code": "IMP"}
    folder = tmp_path / "export"
    write(
        folder / "1.Condition.ndjson",
        valid(condition("c1", (ICD10CM, "I50.9"))),
        valid(condition("c2", (SNOMED, "46177005"), (ICD10CM, "N18.6"))),
        valid(condition("c3", (ICD10CM, "E11.9"), encounter=None)),
    )
    write(folder / "procedure" / "part-0.ndjson.gz", valid(procedure("x", (ICD10PCS, "5A1D70Z"))))
    write(folder / "1.Encounter.ndjson", valid(stay))
    write(folder / "1.Patient.ndjson", valid(PATIENT))
    write(folder / "1.Observation.ndjson", "never opened")
    prepared = run(folder, tmp_path)
    assert rows(prepared) == {
        "e1": {
            "stay_id": "e1",
            "patient_id": "p1",
            "diagnoses": ["icd10cm:I509", "icd10cm:N186", "icd10cm:E119"],
            "procedures": ["icd10pcs:5A1D70Z"],
            "principal": "icd10cm:N186",
            "age": 69,
            "sex": "F",
            "admission": "emergency",
        }
    }
    assert rejects(prepared) == [("1.Condition.ndjson", 2, "not_icd", "46177005")]
    assert "1 file was not opened: no Condition, Procedure, Encounter, Patient in the name." in prepared.notes


def test_what_cannot_be_used_is_rejected_with_file_and_line(tmp_path: Path) -> None:
    refuted = {"verificationStatus": concept((VERIFICATION, "refuted"))}
    path = write(
        tmp_path / "all.ndjson",
        encounter("e1"),
        encounter("walk-in", **{"class": {"code": "AMB"}}),
        encounter("called-off", status="cancelled"),
        condition("c1", (ICD9, "428.0")),
        procedure("x1", (ICD9, "39.95")),
        '{"resourceType": "Condition", "id": "cut',
        "[1, 2]",
        '{"id": "nameless"}',
        {"resourceType": "Encounter", "status": "finished"},
        "",
        condition("c2", (ICD9, "038.9"), encounter=None),
        condition("c3", (ICD9, "038.9"), encounter="absent"),
        condition("c4", (ICD9, "038.9"), encounter="walk-in"),
        condition("c5", (ICD9, "038.9"), encounter="called-off"),
        condition("c6", (ICD9, "038.9"), **refuted),
        procedure("x2", (ICD9, "38.93"), status="not-done"),
        condition("c7", (SNOMED, "84114007")),
        condition("c8"),
        condition("c9", (ICD9, "junk")),
        condition("c1", (ICD9, "428.0")),
        {"resourceType": "Observation", "id": "o1"},
    )
    with pytest.raises(CohortError, match=r"[Nn]othing was written"):
        prepare("fhir", path, tmp_path / "C.parquet")
    prepared = run(path, tmp_path, max_rejected=0.5)
    assert rejects(prepared) == [
        *(("all.ndjson", line, "malformed_line", detail) for line, detail in MALFORMED),
        *(("all.ndjson", line, "outside_stay", "038.9") for line in (11, 12, 13, 14)),
        ("all.ndjson", 15, "withdrawn", "038.9"),
        ("all.ndjson", 16, "withdrawn", "38.93"),
        ("all.ndjson", 17, "not_icd", "84114007"),
        ("all.ndjson", 18, "missing_code", None),
        ("all.ndjson", 19, "not_a_code", "junk"),
    ]
    assert prepared.counts.rejected["outside_stay"] == 4
    assert (prepared.counts.entries_used, prepared.counts.repeated, prepared.counts.kept) == (3, 1, 2)
    notes = " ".join(prepared.notes)
    assert "10 Conditions, 2 Procedures, 3 Encounters, 0 Patients were read." in notes
    assert "1 resource of another type was left out." in notes
    assert "1 Condition or Procedure has an id that is in the files more than once" in notes


MALFORMED = [
    (6, "the line is not a JSON object (such a file holds one object per line)"),
    (7, "the line is not a JSON object (such a file holds one object per line)"),
    (8, "the object is not a FHIR resource: it has no resourceType"),
    (9, "the Encounter has no id, so nothing can refer to it"),
]


def test_stays_are_whole_encounters_and_conditions_belong_to_those_that_list_them(tmp_path: Path) -> None:
    """A part counts as its whole; one Condition may be a diagnosis of several stays; `AD` is less than `DD`."""
    path = write(
        tmp_path / "all.jsonl",
        encounter("e1", **listed(("kidney", 1, "AD"), ("heart", 1, "DD"))),
        encounter("ward", partOf={"reference": "https://ehr.example/fhir/Encounter/e1/_history/3"}),
        encounter("e2", patient="p2", **listed(("kidney", 1, "AD"))),
        encounter("e3", **listed(("kidney", 1, None), ("heart", 1, None))),
        condition("kidney", (ICD9, "585.6")),
        condition("heart", (ICD9, "428.0"), encounter="ward"),
        procedure("x1", (ICD9, "39.95"), encounter="ward"),
        procedure("x2", (ICD9, "39.95"), encounter="e2"),
        procedure("x3", (ICD9, "39.95"), encounter="e3"),
    )
    found = rows(run(path, tmp_path))
    assert {stay: row["diagnoses"] for stay, row in found.items()} == {
        "e1": ["icd9cm:5856", "icd9cm:4280"],
        "e2": ["icd9cm:5856"],
        "e3": ["icd9cm:5856", "icd9cm:4280"],
    }
    principal = {stay: row["principal"] for stay, row in found.items()}
    assert principal == {"e1": "icd9cm:4280", "e2": "icd9cm:5856", "e3": None}  # e3 names two


def test_context_takes_partial_dates_and_types_and_distrusts_contradictions(tmp_path: Path) -> None:
    people = [
        {**PATIENT, "birthDate": "1950"},
        {**PATIENT, "id": "p2", "gender": "male", "birthDate": "1950-04"},
        {**PATIENT, "id": "p3"},
        {**PATIENT, "id": "p3", "gender": "male"},
    ]
    kinds = [{"type": [{"text": "Planned Admission"}]}, {"priority": {"text": "From ED"}}, {}]
    stays = [encounter(f"e{n + 1}", f"p{n + 1}", **kind) for n, kind in enumerate(kinds)]
    codes = [
        one
        for n in ("e1", "e2", "e3")
        for one in (condition(n, (ICD9, "4280"), encounter=n), procedure(n, (ICD9, "3995"), encounter=n))
    ]
    path = write(tmp_path / "all.ndjson", *people, *stays, *codes)
    cohort = Cohort.load(run(path, tmp_path).path)
    assert cohort.context is not None
    assert cohort.context.select(["age", "sex", "admission"]).to_pydict() == {
        "age": [70, 69, 69],
        "sex": ["F", "M", None],
        "admission": ["planned admission", "from ed", None],
    }


def test_without_encounters_the_references_are_the_stays(tmp_path: Path) -> None:
    odd = {"code": 5, "encounter": ["e1"], "subject": {"reference": "\ud800"}}
    path = write(
        tmp_path / "all.ndjson",
        condition("c1", (f"{ICD10CM.upper()}/", "N18.6"), encounter="0c3151bd"),
        condition("c2", (ICD10CM, "I50.9")) | {"encounter": {"reference": "urn:uuid:0c3151bd"}},
        procedure("x1", (ICD10PCS, "5A1D70Z")) | {"encounter": {"reference": "urn:uuid:0c3151bd"}},
        {"resourceType": "Condition", **odd},
        condition("c3", (ICD10CM, "I50.9")) | {"encounter": {"reference": "#inside"}},
    )
    prepared = run(path, tmp_path, max_rejected=1)
    assert rows(prepared)["0c3151bd"]["diagnoses"] == ["icd10cm:N186", "icd10cm:I509"]
    assert [reason for _, _, reason, _ in rejects(prepared)] == ["outside_stay"] * 2
    assert any("There are no Encounters" in note for note in prepared.notes)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(READERS)), st.dictionaries(st.sampled_from(NAMES), json_values))
def test_no_json_value_anywhere_in_a_resource_stops_the_reading(kind: str, resource: Resource) -> None:
    """Every row fits its table; a Condition or Procedure always gives at least one entry to account for."""
    found = list(READERS[kind](resource))
    for name, schema in SCHEMAS.items():
        pa.Table.from_pylist([row for table, row in found if table == name], schema)
    assert found


def test_other_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    bundle = tmp_path / "in" / "bundle.json"
    write(bundle, {"resourceType": "Bundle"})
    with pytest.raises(CohortError, match=r"in has no file that ends in \.ndjson"):
        run(tmp_path / "in", tmp_path)
    with pytest.raises(CohortError, match=r"bundle\.json is not a file that ends in \.ndjson"):
        run(bundle, tmp_path)
    write(tmp_path / "in" / "pretty.ndjson", "{", '"resourceType": "Bundle"', "}")
    with pytest.raises(CohortError, match="such a file holds one object per line"):
        run(tmp_path / "in", tmp_path)
    with pytest.raises(CohortError, match="only the engines duckdb and spark can read"):
        prepare("fhir", "main", tmp_path / "C.parquet", engine=_empty_database(tmp_path))


def _empty_database(folder: Path) -> str:
    import duckdb

    with duckdb.connect(str(folder / "empty.duckdb")) as connection:
        connection.execute("create table t (a integer)")
    return f"duckdb:///{folder / 'empty.duckdb'}"
