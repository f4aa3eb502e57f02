"""The same tables give the same cohort file, byte for byte, from DuckDB, a real PostgreSQL and Spark."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dx2px import CohortError, prepare
from dx2px.cohort import Prepared
from dx2px.cohort.assembly import even
from dx2px.cohort.engines import open_engine
from dx2px.cohort.engines.engine import BATCH_ROWS
from dx2px.cohort.sources import SourceOptions

Tables = dict[str, pa.Table]


class Warehouse:
    """An engine, and a way to put tables into it."""

    def __init__(self, url: str, lay_out: Any) -> None:
        self.url, self._lay_out = url, lay_out

    def schema(self, tables: Tables) -> str:
        """Put the tables into a new schema and return its name."""
        name = f"s{uuid.uuid4().hex[:12]}"
        self._lay_out(name, tables)
        return name


def into_duckdb(file: Path) -> Any:
    import duckdb

    def lay_out(schema: str, tables: Tables) -> None:
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
            for name, rows in tables.items():
                connection.register("rows_", rows)
                connection.execute(f"CREATE TABLE {schema}.{name} AS SELECT * FROM rows_")

    return lay_out


def into_postgres(server: Any) -> Any:
    def kind(field: pa.Field) -> str:
        if field.name == "icd_code":
            return "CHAR(7)"  # as in MIMIC-IV's official build: padded with blanks
        if pa.types.is_list(field.type):
            return "VARCHAR[]"
        if pa.types.is_timestamp(field.type):
            return "TIMESTAMP"
        return "INTEGER" if pa.types.is_integer(field.type) else "VARCHAR"

    def lay_out(schema: str, tables: Tables) -> None:
        with server.connect() as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
            for name, rows in tables.items():
                columns = ", ".join(f'"{field.name}" {kind(field)}' for field in rows.schema)
                connection.execute(f"CREATE TABLE {schema}.{name} ({columns})")
                with connection.cursor().copy(f"COPY {schema}.{name} FROM STDIN") as copy:
                    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
                        copy.write_row(row)

    return lay_out


def into_spark(session: Any) -> Any:
    def lay_out(schema: str, tables: Tables) -> None:
        session.sql(f"CREATE DATABASE {schema}")
        for name, rows in tables.items():
            session.createDataFrame(rows).write.saveAsTable(f"{schema}.{name}")

    return lay_out


@pytest.fixture(scope="module")
def warehouses(postgres: Any, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Warehouse]:
    file = tmp_path_factory.mktemp("duckdb") / "held.duckdb"
    return [
        Warehouse(f"duckdb://{file}", into_duckdb(file)),
        Warehouse(postgres.url, into_postgres(postgres)),
        Warehouse("spark", into_spark(spark)),
    ]


def run(source: str, path: str | Path, out: Path, engine: str = "duckdb", **settings: Any) -> Prepared:
    out.mkdir(exist_ok=True)
    options = SourceOptions(**settings.pop("options", {}))
    return prepare(source, path, out / "C.parquet", engine=engine, options=options, **settings)


def everywhere(
    warehouses: list[Warehouse],
    source: str,
    tables: Tables,
    out: Path,
    path: str = "{schema}",
    **settings: Any,
) -> Prepared:
    """Prepare in every warehouse; all must write the same two files. Returns what the first one wrote."""
    found = [
        run(source, path.format(schema=held.schema(tables)), out / str(place), held.url, **settings)
        for place, held in enumerate(warehouses)
    ]
    for other in found[1:]:
        assert other.counts == found[0].counts
        assert other.path.read_bytes() == found[0].path.read_bytes()
        assert other.rejects_path.read_bytes() == found[0].rejects_path.read_bytes()
    return found[0]


def as_files(tables: Tables, folder: Path) -> Path:
    """The same tables as CSV."""
    folder.mkdir()
    for name, rows in tables.items():
        pacsv.write_csv(rows, folder / f"{name}.csv")
    return folder


def lists(prepared: Prepared) -> dict[str, tuple[list[str], list[str]]]:
    rows = pq.read_table(prepared.path).to_pylist()
    return {row["stay_id"]: (row["diagnoses"], row["procedures"]) for row in rows}


def awkward(rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = dict(
        zip(("hadm_id", "subject_id", "seq_num", "icd_code"), zip(*rows, strict=True), strict=True)
    )
    types = {name: pa.array(values, pa.string()) for name, values in columns.items()}
    return pa.table({**types, "icd_version": pa.array([9] * len(rows), pa.int32())})


# Ids that sort differently by language and by bytes; all sorts of blanks; invalid numbers; a stay with two patients.
AWKWARD: Tables = {
    "diagnoses_icd": awkward(
        [
            ("b", "p", "1", "4280"),
            ("B", "p", "2", "4280"),
            ("B", "p", "1", "v5867"),
            ("_a", "p", "1", "4280"),
            ("é", "p", "1", "4280"),
            ("10", "p", "1.0", "4280"),
            ("10", "p", "10", "0389"),
            ("10", "p", "9", "5856"),
            ("9", "b", "word", "0389"),
            ("9", "A", None, "4280"),
            ("9", "_", "1e3", "4280"),
            (" visit f\t", "v", "1", "4280 "),
            ("visit f", "v ", " 2 ", "\t0389"),
            ("visit f", "v", "3", "  "),
            ("  ", "v", "3", "4280"),
            (None, "v", "3", "4280"),
            ("x", None, "1", "nope"),
            ("x", None, "2", "Zz"),
            ("x", None, "3", "_z"),
        ],
    ),
    "procedures_icd": awkward(
        [
            (stay, "p" if stay != "9" else "a", "1", "3995")
            for stay in ("b", "B", "_a", "é", "10", "9", "visit f", "x")
        ],
    ),
}


def test_awkward_text_gives_the_same_files_everywhere(warehouses: list[Warehouse], tmp_path: Path) -> None:
    prepared = everywhere(warehouses, "mimic4", AWKWARD, tmp_path)
    found = lists(prepared)
    assert list(found) == ["9", "B", "b", "é", "10", "_a", "visit f"]
    assert found["10"][0] == ["icd9cm:4280", "icd9cm:5856", "icd9cm:0389"]
    assert found["B"][0] == ["icd9cm:V5867", "icd9cm:4280"]
    patients = pq.read_table(prepared.path).column("patient_id").to_pylist()
    assert patients == ["A", "p", "p", "p", "p", "p", "p"]
    assert prepared.counts.rejected == {"not_a_code": 3, "missing_stay": 2, "missing_code": 1}
    rejects = pq.read_table(prepared.rejects_path)
    assert rejects.column("file").unique().to_pylist() == ["diagnoses_icd"]
    assert rejects.column("line").null_count == rejects.num_rows
    assert rejects.column("detail").to_pylist() == [None, "4280", "4280", "Zz", "_z", "nope"]
    files = run("mimic4", as_files(AWKWARD, tmp_path / "csv"), tmp_path / "files")
    assert files.path.read_bytes() == prepared.path.read_bytes()


def test_corrections_give_the_same_files_everywhere(warehouses: list[Warehouse], tmp_path: Path) -> None:
    beside = "icd9pcs:3893 with icd9cm:0389 or icd9cm:V58*"  # V58.67 as it was read
    options = {"corrections": {"icd9cm:V5867": "icd9cm:4280", "icd9pcs:3995": beside}}
    plain = run("mimic4", as_files(AWKWARD, tmp_path / "csv"), tmp_path / "plain")
    prepared = everywhere(warehouses, "mimic4", AWKWARD, tmp_path, options=options)
    assert lists(prepared)["B"] == (["icd9cm:4280"], ["icd9pcs:3893"])
    assert {row["stay_id"]: row["principal"] for row in pq.read_table(prepared.path).to_pylist()}[
        "B"
    ] == "icd9cm:4280"
    changed = [stay for stay, (_, procedures) in lists(prepared).items() if procedures == ["icd9pcs:3893"]]
    assert changed == ["9", "B", "10", "visit f"]
    counts = prepared.counts
    assert (counts.corrected, counts.corrected_stays) == (5, 4)
    assert counts.repeated == plain.counts.repeated + 1
    assert prepared.counts.rejected == plain.counts.rejected
    files = run("mimic4", tmp_path / "csv", tmp_path / "files", options=options)
    assert files.path.read_bytes() == prepared.path.read_bytes()


@pytest.mark.parametrize("place", range(3))
def test_tables_without_any_stay_id_are_refused_for_that(
    warehouses: list[Warehouse], tmp_path: Path, place: int
) -> None:
    held, lost = warehouses[place], awkward([(None, "p", "1", "4280")] * 3)
    schema = held.schema({"diagnoses_icd": lost, "procedures_icd": lost})
    with pytest.raises(CohortError, match=r"no stay id \(6\)"):
        run("mimic4", schema, tmp_path, held.url)


OMOP: Tables = {
    "condition_occurrence": pa.table(
        {
            "condition_occurrence_id": [9, 2, 3, 4, 5],
            "person_id": [5, 5, 5, 6, 6],
            "visit_occurrence_id": [50, 50, 50, 60, 60],
            "condition_source_value": ["428.0", "44054006", "038.9", "428.0", "xx"],
            "condition_source_concept_id": [1, 2, 3, 1, 0],
        }
    ),
    "procedure_occurrence": pa.table(
        {
            "procedure_occurrence_id": [1, 2, 3],
            "person_id": [5, 6, 6],
            "visit_occurrence_id": [50, 60, 60],
            "procedure_source_value": ["39.95", "V58.67", "39.95"],
            "procedure_source_concept_id": [4, 5, 4],
        }
    ),
    "concept": pa.table(
        {
            "concept_id": [1, 2, 3, 4, 5],
            "concept_code": ["428.0", "44054006", "038.9", "39.95", "V58.67"],
            "vocabulary_id": ["ICD9CM", "SNOMED", "ICD9CM", "ICD9Proc", "ICD9CM"],
        }
    ),
}


def test_omop_by_concepts(warehouses: list[Warehouse], tmp_path: Path) -> None:
    prepared = everywhere(warehouses, "omop", OMOP, tmp_path)
    assert lists(prepared) == {
        "50": (["icd9cm:0389", "icd9cm:4280"], ["icd9pcs:3995"]),
        "60": (["icd9cm:V5867", "icd9cm:4280"], ["icd9pcs:3995"]),
    }
    files = run("omop", as_files(OMOP, tmp_path / "csv"), tmp_path / "files")
    assert files.path.read_bytes() == prepared.path.read_bytes()


OWN: Tables = {
    "wide": pa.table(
        {
            "Stay_ID": ["a", "b"],
            "dx1": ["4280", None],
            "dx2": ["038.9", "  "],
            "dx10": ["-", "5856"],
            "procedures": pa.array([["3995"], ["3893", " ", "3995"]], pa.list_(pa.string())),
        }
    ),
}


def test_own_table_with_columns_and_lists(warehouses: list[Warehouse], tmp_path: Path) -> None:
    prepared = everywhere(warehouses, "table", OWN, tmp_path, "{schema}.wide", options={"icd": "9"})
    assert lists(prepared) == {
        "a": (["icd9cm:4280", "icd9cm:0389"], ["icd9pcs:3995"]),
        "b": (["icd9cm:5856"], ["icd9pcs:3893", "icd9pcs:3995"]),
    }


# Times as text and as time stamps, two rows of one stay that contradict each other, letters beyond A to Z.
CONTEXT: Tables = {
    **AWKWARD,
    "admissions": pa.table(
        {
            "hadm_id": ["b", "B", " é ", "10", "10", "_a"],
            "subject_id": ["p", "p", "p", "p", "p", "q"],
            "admittime": [
                "2150-03-01 10:00:00",
                "2150-03-02T00:00",
                "01.03.2150",
                "2180-01-01",
                "2180-01-01",
                None,
            ],
            "admission_type": ["EW EMER.", " Éa ", "URGENT", "URGENT", "ELECTIVE", None],
        }
    ),
    "patients": pa.table(
        {
            "subject_id": ["p", "q"],
            "gender": [" f ", "?"],
            "anchor_age": pa.array([60, 30], pa.int32()),
            "anchor_year": pa.array([2140, 2140], pa.int32()),
        }
    ),
}


def context(prepared: Prepared) -> dict[str, tuple[Any, ...]]:
    rows = pq.read_table(prepared.path).to_pylist()
    return {row["stay_id"]: (row["principal"], row["age"], row["sex"], row["admission"]) for row in rows}


def test_context_is_the_same_everywhere(warehouses: list[Warehouse], tmp_path: Path) -> None:
    prepared = everywhere(warehouses, "mimic4", CONTEXT, tmp_path)
    assert context(prepared) == {
        "9": (None, None, None, None),
        "B": ("icd9cm:V5867", 70, "F", "éa"),
        "b": ("icd9cm:4280", 70, "F", "ew emer."),
        "é": ("icd9cm:4280", None, "F", "urgent"),
        "10": ("icd9cm:4280", 91, "F", None),
        "_a": ("icd9cm:4280", None, None, None),
        "visit f": ("icd9cm:4280", None, None, None),
    }
    files = run("mimic4", as_files(CONTEXT, tmp_path / "csv"), tmp_path / "files")
    assert files.path.read_bytes() == prepared.path.read_bytes()


def test_principal_diagnosis_and_context_of_omop(warehouses: list[Warehouse], tmp_path: Path) -> None:
    marked = OMOP["condition_occurrence"]
    marked = marked.append_column("condition_status_concept_id", pa.array([32901, 32902, 0, 32903, None]))
    marked = marked.append_column("condition_type_concept_id", pa.array([0, 0, 0, 0, 44786627]))
    tables = {
        **OMOP,
        "condition_occurrence": marked,
        "visit_occurrence": pa.table(
            {
                "visit_occurrence_id": [50, 60],
                "person_id": [5, 6],
                "visit_start_date": ["2010-05-01", "2010-05-01"],
            }
        ),
        "person": pa.table(
            {"person_id": [5, 6], "year_of_birth": [1950, 2011], "gender_concept_id": [8532, 8507]}
        ),
    }
    prepared = everywhere(warehouses, "omop", tables, tmp_path)
    # The primary diagnosis of the first is not ICD; the second has a usable one and one that is not.
    assert context(prepared) == {"50": (None, 60, "F", None), "60": (None, None, "M", None)}
    files = run("omop", as_files(tables, tmp_path / "csv"), tmp_path / "files")
    assert files.path.read_bytes() == prepared.path.read_bytes()


def test_principal_diagnosis_and_context_of_own_tables(warehouses: list[Warehouse], tmp_path: Path) -> None:
    long = pa.table(
        {
            "stay_id": ["a", "a", "a", "b", "b"],
            "kind": ["dx", "dx", "px", "dx", "px"],
            "code": ["4280", "0389", "3995", "4280", "3995"],
            "seq": pa.array([1, 0, 0, 1, 0], pa.int32()),
            "age": ["70.5", None, " 70 ", "-1", None],
            "sex": pa.array([2, 2, None, 1, 1], pa.int32()),
        }
    )
    by_order = everywhere(
        warehouses, "table", {"codes": long}, tmp_path, "{schema}.codes", options={"icd": "9"}
    )
    assert context(by_order) == {"a": ("icd9cm:0389", 70, "F", None), "b": (None, None, "M", None)}
    lists_ = pa.table(
        {
            "stay_id": ["a", "b", "c"],
            "pdx": ["038.9", " ", "4280"],
            "diagnoses": pa.array([["4280"], ["4280"], None], pa.list_(pa.string())),
            "procedures": pa.array([["3995"], ["3995"], ["3995"]], pa.list_(pa.string())),
            "admission": ["Urgent", None, " X"],
        }
    )
    options = {"icd": "9", "principal_column": "pdx"}
    named = everywhere(
        warehouses, "table", {"stays": lists_}, tmp_path, "{schema}.stays", options=options, min_count=2
    )
    assert context(named) == {
        "a": ("icd9cm:0389", None, None, "urgent"),  # below the minimum count
        "b": (None, None, None, None),
        "c": ("icd9cm:4280", None, None, "x"),
    }


def demo(folder: Path) -> Tables:
    """The tables of a demo, with lower-case names, numbers for ids and time stamps, as official builds have them."""
    texts = {name: pa.string() for name in ("icd9_code", "icd_code")}
    options = pacsv.ConvertOptions(column_types=texts, strings_can_be_null=True)
    tables = {}
    for name in ("diagnoses_icd", "procedures_icd", "admissions", "patients"):
        path = next(path for path in folder.iterdir() if path.name.lower() == f"{name}.csv.gz")
        rows = pacsv.read_csv(path, convert_options=options)
        kept = [
            n for n in rows.column_names if pa.types.is_integer(rows.schema.field(n).type) or "date" not in n
        ]
        rows = rows.select(kept).rename_columns([n.lower() for n in kept])
        tables[name] = rows.select(
            [
                n
                for n, kind in zip(rows.column_names, rows.schema.types, strict=True)
                if kind in (pa.int64(), pa.string(), pa.timestamp("s"))
            ]
        )
    return tables


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("source", "folder", "settings"),
    [
        ("mimic3", "mimic3demo", {"min_count": 5, "repeat_min_count": True}),
        ("mimic4", "mimic4demo/hosp", {"options": {"icd": "10"}}),
    ],
)
def test_the_mimic_demos_are_the_same_from_files_and_warehouses(
    warehouses: list[Warehouse],
    data: Path,
    tmp_path: Path,
    source: str,
    folder: str,
    settings: dict[str, Any],
) -> None:
    prepared = everywhere(warehouses, source, demo(data / folder), tmp_path, **dict(settings))
    files = run(source, data / folder, tmp_path / "files", **dict(settings))
    assert files.counts == prepared.counts
    assert files.path.read_bytes() == prepared.path.read_bytes()


def test_spark_reads_files_as_duckdb_does(spark: Any, tmp_path: Path) -> None:
    folder = as_files(AWKWARD, tmp_path / "csv")
    with (folder / "diagnoses_icd.csv").open("a") as file:
        file.write('"10","p","4","broken\n')
    (folder / "procedures_icd.csv").unlink()
    pq.write_table(AWKWARD["procedures_icd"], folder / "PROCEDURES_ICD.parquet")
    here = run("mimic4", folder, tmp_path / "duckdb")
    there = run("mimic4", folder, tmp_path / "spark", "spark")
    assert there.counts == here.counts
    assert there.counts.rejected["malformed_line"] == 1
    assert there.path.read_bytes() == here.path.read_bytes()
    assert there.rejects_path.read_bytes() == here.rejects_path.read_bytes()
    assert not [view for view in spark.catalog.listTables() if view.name.startswith("dx2px_")]


def test_a_failure_of_spark_is_one_sentence(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="There is no schema or table absent in Spark"):
        run("mimic4", "absent", tmp_path / "out", "spark")
    schema = Warehouse("spark", into_spark(spark)).schema(AWKWARD)
    folder = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    for file in folder.glob(f"{schema}.db/diagnoses_icd/*.parquet"):
        file.write_bytes(b"no longer Parquet")
    spark.sparkContext.setLogLevel("OFF")
    with pytest.raises(CohortError, match=r"^Spark could not finish the query \([A-Za-z_.]+\)\.$"):
        run("mimic4", schema, tmp_path / "out", "spark")
    spark.sparkContext.setLogLevel("ERROR")
    assert list((tmp_path / "out").iterdir()) == []


def test_postgres_sends_large_results_in_batches(postgres: Any, tmp_path: Path) -> None:
    engine = open_engine(postgres.url, tmp_path)
    try:
        numbers = engine.connection.sql(
            "SELECT n FROM generate_series(1, 150000) AS g(n)", schema={"n": "int64"}
        )
        sizes = [batch.num_rows for batch in engine.batches(numbers)]
    finally:
        engine.close()
    assert sizes == [BATCH_ROWS, BATCH_ROWS, 150_000 - 2 * BATCH_ROWS]


@given(some.lists(some.integers(0, 9)), some.integers(1, 7))
def test_even_batches_keep_every_row_in_order(sizes: list[int], rows: int) -> None:
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    batches = [
        pa.record_batch({"n": pa.array(range(start, start + size), pa.int64())})
        for start, size in zip(starts, sizes, strict=True)
    ]
    found = list(even(iter(batches), rows))
    assert [n for batch in found for n in batch.column("n").to_pylist()] == list(range(sum(sizes)))
    assert all(batch.num_rows == rows for batch in found[:-1])
    assert all(0 < batch.num_rows <= rows for batch in found)


@pytest.mark.parametrize(
    ("master", "chosen", "expected"), [("local[2]", False, 8), ("local[2]", True, 77), ("yarn", False, 77)]
)
def test_a_session_of_ours_on_one_machine_gets_partitions_for_its_cores(
    spark: Any, master: str, chosen: bool, expected: int
) -> None:
    from dx2px.cohort.engines.spark import _settle

    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", 77)
    settings = SimpleNamespace(contains=lambda name: chosen and name == "spark.sql.shuffle.partitions")
    context = SimpleNamespace(
        master=master, defaultParallelism=2, setLogLevel=lambda level: None, getConf=lambda: settings
    )
    _settle(context, session)
    assert int(session.conf.get("spark.sql.shuffle.partitions")) == expected
