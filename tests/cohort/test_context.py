"""Principal diagnosis, age, sex and type of admission: what each source says of them, and what a file may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px import Cohort, CohortError, prepare
from dx2px.cohort import CohortStream, CohortWriter, Prepared
from dx2px.cohort.context import CONTEXT
from dx2px.cohort.sources import SourceOptions

Known = dict[str, tuple[Any, ...]]


def write(folder: Path, **tables: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def run(source: str, path: Path, out: Path, min_count: int = 1, **options: Any) -> Prepared:
    return prepare(
        source,
        path,
        out / "C.parquet",
        min_count=min_count,
        max_rejected=0.9,
        options=SourceOptions(**options),
    )


def known(prepared: Prepared) -> Known:
    """Principal diagnosis, age, sex and type of admission by stay, after a look at the types."""
    table = pq.read_table(prepared.path)
    assert table.select(CONTEXT.names).schema.remove_metadata() == CONTEXT
    Cohort.load(prepared.path)
    return {row["stay_id"]: tuple(row[name] for name in CONTEXT.names) for row in table.to_pylist()}


def principal(prepared: Prepared) -> dict[str, str | None]:
    return {stay: values[0] for stay, values in known(prepared).items()}


CODES = "subject_id,hadm_id,seq_num,icd9_code\n"


def test_mimic3(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        DIAGNOSES_ICD=CODES
        + "1,1,2,4280\n1,1,1,0389\n2,2,1,nope\n2,2,2,4280\n3,3,2,4280\n4,4,1,4280\n4,4,1,0389\n"
        "5,5,1,4280\n5,5,1,428.0\n",
        PROCEDURES_ICD=CODES + "".join(f"{n},{n},1,3995\n" for n in range(1, 6)),
        ADMISSIONS="hadm_id,subject_id,admittime,admission_type\n1,1,2150-03-01 10:00:00,EMERGENCY\n"
        "2,2,2150-03-02 10:00:00,Elective\n3,3,2150-03-02 10:00:00,\n4,4,,URGENT\n5,5,2150-03-02,NEWBORN\n",
        PATIENTS="subject_id,gender,dob\n1,F,2100-03-02 00:00:00\n2,M,2100-03-02 00:00:00\n3,f,1850-01-01 00:00:00\n"
        "4,U,2100-01-01 00:00:00\n5,male,2150-02-28 00:00:00\n",
    )
    prepared = run("mimic3", folder, tmp_path)
    assert known(prepared) == {
        "1": ("icd9cm:0389", 49, "F", "emergency"),  # a day before the birthday
        "2": (
            None,
            50,
            "M",
            "elective",
        ),  # the first diagnosis was rejected, and the second is not the principal one
        "3": (None, 90, "F", None),  # a birth moved to 300 years before; no first diagnosis
        "4": (None, None, None, "urgent"),  # two first diagnoses, no time, an unknown sex
        "5": ("icd9cm:4280", 0, "M", "newborn"),  # the same code twice
    }
    assert any("Age 90 means 90 or more" in note for note in prepared.notes)


def test_mimic4_and_a_version_filter(tmp_path: Path) -> None:
    head = "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
    folder = write(
        tmp_path / "in",
        diagnoses_icd=head + "1,1,1,4280,9\n1,1,2,I509,10\n2,2,1,N186,10\n2,2,2,I509,10\n",
        procedures_icd=head + "1,1,1,5A1D70Z,10\n2,2,1,5A1D70Z,10\n",
        admissions="subject_id,hadm_id,admittime,admission_type\n1,1,2182-01-01 00:00:00,EW EMER.\n"
        "2,2,2185-01-01 00:00:00,URGENT\n",
        patients="subject_id,gender,anchor_age,anchor_year\n1,F,60,2180\n2,M,89,2180\n",
    )
    assert known(run("mimic4", folder, tmp_path)) == {
        "1": ("icd9cm:4280", 62, "F", "ew emer."),
        "2": ("icd10cm:N186", 91, "M", "urgent"),
    }
    assert principal(run("mimic4", folder, tmp_path, icd="10")) == {"1": None, "2": "icd10cm:N186"}


def test_a_principal_diagnosis_below_the_minimum_count_stays_in_its_column(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        DIAGNOSES_ICD=CODES + "1,1,1,0389\n1,1,2,4280\n2,2,1,4280\n",
        PROCEDURES_ICD=CODES + "1,1,1,3995\n2,2,1,3995\n",
    )
    prepared = run("mimic3", folder, tmp_path, min_count=2)
    assert principal(prepared) == {"1": "icd9cm:0389", "2": "icd9cm:4280"}
    assert Cohort.load(prepared.path).diagnoses_of(0) == ("icd9cm:4280",)


def nhds_line(dx: str, age: str = "145", sex: str = "2", admission: str = "1") -> str:
    head = f"102{age}{sex}" + " " * 10 + "3" + " " * 9
    return head + dx.ljust(75) + "3995".ljust(32) + " " * 7 + admission + " " * 7


def test_nhds(tmp_path: Path) -> None:
    path = tmp_path / "NHDS10.txt"
    lines = [
        nhds_line("0389-4280-"),
        nhds_line("zzzzz4280-", "207", "1", "4"),
        nhds_line("-----4280-", "1xx", "9", "9"),
    ]
    path.write_text("\n".join(lines) + "\n")
    assert known(run("nhds", path, tmp_path)) == {
        "1": ("icd9cm:0389", 45, "F", "emergency"),
        "2": (None, 0, "M", "newborn"),
        "3": (None, None, None, None),
    }


def test_synpuf(tmp_path: Path) -> None:
    dx = ",".join(f"ICD9_DGNS_CD_{n}" for n in range(1, 11))
    path = tmp_path / "DE1_Inpatient_Claims_Sample_1.csv"
    rows = ["P1,7,0389,4280,,,,,,,,,3995", "P1,8,OTHER,4280,,,,,,,,,3995", "P1,9,,4280,,,,,,,,,3995"]
    path.write_text("\n".join([f"DESYNPUF_ID,CLM_ID,{dx},ICD9_PRCDR_CD_1", *rows]))
    assert known(run("synpuf", path, tmp_path)) == {
        "7": ("icd9cm:0389", None, None, None),
        "8": (None, None, None, None),
        "9": (None, None, None, None),
    }


OMOP = {
    "condition_occurrence": "condition_occurrence_id,person_id,visit_occurrence_id,condition_source_value,"
    "condition_source_concept_id,condition_type_concept_id,condition_status_concept_id\n"
    "1,5,50,428.0,1,32817,32902\n"
    "2,5,50,038.9,3,32817,32901\n"
    "3,6,60,038.9,3,38000199,0\n"
    "4,6,60,428.0,1,38000200,\n"
    "5,7,70,44054006,2,32817,32903\n"
    "6,7,70,428.0,1,32817,32908\n"
    "7,8,80,038.9,3,32817,32901\n"
    "8,9,90,428.0,1,,\n",
    "procedure_occurrence": "procedure_occurrence_id,person_id,visit_occurrence_id,procedure_source_value,"
    "procedure_source_concept_id\n" + "".join(f"{n},{n},{n}0,39.95,4\n" for n in range(5, 10)),
    "concept": "concept_id,concept_code,vocabulary_id\n1,428.0,ICD9CM\n2,44054006,SNOMED\n3,038.9,ICD9CM\n"
    "4,39.95,ICD9Proc\n",
    "visit_occurrence": "visit_occurrence_id,person_id,visit_start_date\n50,5,2010-05-01\n60,6,2010-01-01\n"
    "70,7,2010-01-01\n80,8,1930-01-01\n",
    "person": "person_id,year_of_birth,gender_concept_id\n5,1950,8532\n6,2010,8507\n7,1700,8551\n8,1950,8507\n",
}


def test_omop(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", **OMOP)
    assert known(run("omop", folder, tmp_path)) == {
        "50": (
            "icd9cm:4280",
            60,
            "F",
            None,
        ),  # a primary diagnosis counts more than a primary admission diagnosis
        "60": ("icd9cm:0389", 0, "M", None),  # by the type; "first position" says nothing
        "70": (
            None,
            None,
            None,
            None,
        ),  # a primary diagnosis that is not ICD, an age and a sex that are not known
        "80": ("icd9cm:0389", None, "M", None),
        "90": (None, None, None, None),
    }
    for name in ("visit_occurrence.csv", "person.csv"):
        (folder / name).unlink()
    assert known(run("omop", folder, tmp_path))["50"] == ("icd9cm:4280", None, None, None)


@pytest.mark.parametrize("first", [1, 0])
def test_own_table_with_one_code_per_row_by_its_order(tmp_path: Path, first: int) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "stay_id,kind,code,seq,age,gender,admission\n"
        f"a,dx,4280,{first + 1},70.9,Female,Urgent\na,dx,0389,{first},70.9,Female,Urgent\na,px,3995,{first},,,\n"
        f"b,dx,nope,{first},7,m,ÉLECTIF\nb,dx,0389,{first + 1},7,m,ÉLECTIF\nb,px,3995,{first},8,,\n"
        f"c,dx,0389,{first + 1},999,x,\nc,px,3995,{first},,,\n"
    )
    prepared = run("table", path, tmp_path, icd="9")
    assert known(prepared) == {
        "a": ("icd9cm:0389", 70, "F", "urgent"),
        "b": (None, None, "M", "électif"),  # its rows say two ages
        "c": (None, None, None, None),
    }
    assert "age = age (guessed), sex = gender (guessed), admission = admission (guessed)" in prepared.notes[0]
    assert f"the diagnosis whose seq is {first} is the stay's principal diagnosis" in prepared.notes[1]


def test_own_table_without_an_order_has_no_principal_diagnosis(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("stay_id,kind,code\na,dx,4280\na,px,3995\n")
    assert known(run("table", path, tmp_path, icd="9")) == {"a": (None, None, None, None)}
    with pytest.raises(CohortError, match="one code per row, so no column can hold the principal diagnosis"):
        run("table", path, tmp_path, icd="9", principal_column="code")


def test_own_tables_of_two_files_take_the_context_from_the_diagnoses(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        diagnoses="stay_id,code,seq_num,alter\na,4280,1,50\n",
        procedures="stay_id,code,seq_num\na,3995,1\n",
    )
    prepared = run("table", folder, tmp_path, icd="9", age_column="Alter")
    assert known(prepared) == {"a": ("icd9cm:4280", 50, None, None)}


def test_a_column_named_for_one_role_is_not_guessed_for_another(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("encounter,admission,dx1,px1\nA1,Urgent,4280,3995\n")
    assert known(run("table", path, tmp_path, icd="9")) == {"A1": (None, None, None, "urgent")}
    path.write_text("admission,dx1,px1\nUrgent,4280,3995\n")
    assert known(run("table", path, tmp_path, icd="9")) == {"Urgent": (None, None, None, None)}
    named = run("table", path, tmp_path, icd="9", admission_column="admission")
    assert known(named) == {"2": (None, None, None, "urgent")}


WIDE = "stay_id,main,dx1,dx2,px1,years,s,kind_of_admission\n"


def test_own_table_with_a_column_of_the_principal_diagnosis(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(WIDE + "a,0389,4280,,3995,50,1,X\nb,zz,4280,0389,3995,51,2,Y y\nc,,4280,,3995,,9,\n")
    named = {"age_column": "years", "sex_column": "s", "admission_column": "kind_of_admission"}
    prepared = run("table", path, tmp_path, icd="9", principal_column="Main", **named)
    assert known(prepared) == {
        "a": ("icd9cm:0389", 50, "M", "x"),
        "b": (None, 51, "F", "y y"),
        "c": (None, None, None, None),
    }
    assert Cohort.load(prepared.path).diagnoses_of(0) == ("icd9cm:0389", "icd9cm:4280")
    assert "principal = main, age = years" in prepared.notes[0]
    numbered = run("table", path, tmp_path, icd="9", principal_column="dx1")
    assert principal(numbered) == dict.fromkeys("abc", "icd9cm:4280")
    assert Cohort.load(numbered.path).diagnoses_of(0) == ("icd9cm:4280",)
    assert principal(run("table", path, tmp_path, icd="9")) == dict.fromkeys("abc")


def test_own_table_with_lists_and_a_principal_diagnosis(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "stay_id,pdx,diagnoses,procedures\na,0389,4280;0389,3995\nb,,4280,3995\nc,zz,4280,3995\nd,0389,,3995\n"
    )
    prepared = run("table", path, tmp_path, icd="9", principal_column="pdx")
    assert principal(prepared) == {"a": "icd9cm:0389", "b": None, "c": None, "d": "icd9cm:0389"}
    assert Cohort.load(prepared.path).diagnoses_of(0) == ("icd9cm:0389", "icd9cm:4280")
    assert pq.read_table(prepared.rejects_path).column("column").to_pylist() == ["pdx"]
    with pytest.raises(CohortError, match="diagnoses holds several diagnoses"):
        run("table", path, tmp_path, icd="9", principal_column="diagnoses")
    with pytest.raises(CohortError, match="has no column absent"):
        run("table", path, tmp_path, icd="9", principal_column="absent")


@pytest.mark.parametrize(
    ("cells", "sexes"),
    [
        (["1", "2", "9"], ["M", "F", None]),  # ISO 5218
        (["0", "1", "1"], [None, None, None]),  # 1 may be either
        (["0", "1", "2"], [None, None, None]),
        (["H", "M", "f"], [None, None, "F"]),  # hombre: then M is mujer
        (["8507", "8532", "0"], ["M", "F", None]),  # OMOP
    ],
)
def test_signs_for_sex_are_not_guessed(tmp_path: Path, cells: list[str], sexes: list[str | None]) -> None:
    path = tmp_path / "own.csv"
    rows = [f"{stay},4280,3995,{cell}\n" for stay, cell in enumerate(cells)]
    path.write_text("stay_id,dx1,px1,sex\n" + "".join(rows))
    assert [values[2] for values in known(run("table", path, tmp_path, icd="9")).values()] == sexes


DX, PX = [["icd9cm:4280"], ["icd9cm:0389"]], [["icd9pcs:3995"]] * 2


def test_lists_with_context(tmp_path: Path) -> None:
    cohort = Cohort.from_lists(
        DX, PX, principal=["icd9cm:5409", None], age=[70, None], sex=["F", None], admission=[None, "urgent"]
    )
    assert cohort.context is not None
    assert cohort.context.schema == CONTEXT
    cohort.save(tmp_path / "c.parquet")
    loaded = Cohort.load(tmp_path / "c.parquet")
    assert loaded.context is not None
    assert loaded.context.equals(cohort.context)
    assert Cohort.from_lists(DX, PX).context is None


WRONG: list[tuple[str, list[Any]]] = [
    ("principal", ["4280", None]),
    ("principal", ["icd9pcs:3995", None]),
    ("principal", [4280, None]),
    ("age", ["70", None]),
    ("age", [70.5, None]),
    ("age", [-1, None]),
    ("age", [300, None]),
    ("age", [2**40, None]),
    ("sex", ["woman", None]),
    ("sex", ["f", None]),
    ("sex", [2, None]),
    ("admission", ["Urgent", None]),
    ("admission", [1, None]),
]


@pytest.mark.parametrize(("name", "values"), WRONG)
def test_a_file_with_something_else_in_these_columns_is_refused(
    tmp_path: Path, name: str, values: list[Any]
) -> None:
    column = pa.array(values)
    rows = {"stay_id": ["1", "2"], "patient_id": pa.nulls(2, pa.string()), "diagnoses": DX, "procedures": PX}
    with CohortWriter(tmp_path / "c.parquet", pa.schema([(name, column.type)])) as writer:
        writer.write(pa.table({**rows, name: column}))
    sentence = rf"cannot be used as a cohort: the column {name} must hold [\w :,]*, or null where that is not known\.$"
    for opened in (Cohort.load, CohortStream):
        with pytest.raises(CohortError, match=sentence) as caught:
            opened(tmp_path / "c.parquet")
        assert str(values[0]) not in str(caught.value).removeprefix(str(tmp_path))
    with pytest.raises(CohortError, match=f"These lists cannot be used as a cohort: the column {name}"):
        Cohort.from_lists(DX, PX, **{name: values})


def test_too_few_values_are_refused() -> None:
    with pytest.raises(CohortError, match="there are 1 values of age for 2 stays"):
        Cohort.from_lists(DX, PX, age=[70])


@pytest.mark.parametrize(
    "columns",
    [
        {"age": pa.array([70, None], pa.int64()), "sex": pa.array(["F", None]).dictionary_encode()},
        {"age": pa.array([70, None], pa.uint8()), "sex": pa.array(["F", None], pa.large_string())},
    ],
)
def test_other_types_of_the_same_values_are_read(tmp_path: Path, columns: dict[str, pa.Array]) -> None:
    rows = {"stay_id": ["1", "2"], "patient_id": pa.nulls(2, pa.string()), "diagnoses": DX, "procedures": PX}
    schema = pa.schema([(name, column.type) for name, column in columns.items()])
    with CohortWriter(tmp_path / "c.parquet", schema) as writer:
        writer.write(pa.table({**rows, **columns}))
    for cohort in (
        Cohort.load(tmp_path / "c.parquet"),
        CohortStream(tmp_path / "c.parquet").subset(pa.array([0, 1]).to_numpy()),
    ):
        assert cohort.context is not None
        assert cohort.context.to_pydict() == {"age": [70, None], "sex": ["F", None]}
        assert cohort.context.schema.types == [pa.int32(), pa.string()]
