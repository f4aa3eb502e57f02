"""A PostgreSQL session writes nothing, sees one snapshot, fails with one sentence and never shows the password."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dx2px import CohortError, InputError, prepare
from dx2px.cohort.engines import open_engine

SECRET = "s3cr3t@/: %41"
ROWS = """
INSERT INTO {0}.diagnoses_icd VALUES (1, 10, 100, 1, '4280'), (2, 10, 100, 2, '0389'), (3, 11, 101, 1, '5856');
INSERT INTO {0}.procedures_icd VALUES (1, 10, 100, 1, '3995'), (2, 11, 101, 1, '3893');
INSERT INTO {0}.admissions VALUES (100, 10, 'URGENT'), (101, 11, 'ELECTIVE');
"""


@pytest.fixture(scope="module")
def reader(postgres: Any) -> str:
    """A role that may only read, and not even make temporary tables."""
    name = f"reader_{uuid.uuid4().hex[:8]}"
    with postgres.connect() as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
        owner.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    return name


@pytest.fixture
def schema(postgres: Any, reader: str) -> str:
    """MIMIC-III's tables as its official build makes them."""
    name = f"mimiciii_{uuid.uuid4().hex[:8]}"
    codes = "row_id INT, subject_id INT, hadm_id INT, seq_num INT, icd9_code VARCHAR(10)"
    with postgres.connect() as owner:
        owner.execute(f"CREATE SCHEMA {name}")
        for table in ("diagnoses_icd", "procedures_icd"):
            owner.execute(f"CREATE TABLE {name}.{table} ({codes})")
        owner.execute(
            f"CREATE TABLE {name}.admissions (hadm_id INT, subject_id INT, admission_type VARCHAR(50))"
        )
        owner.execute(ROWS.format(name))
        owner.execute(f"GRANT USAGE ON SCHEMA {name} TO {reader}")
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {reader}")
    return name


@pytest.fixture
def url(postgres: Any, reader: str) -> str:
    found: str = postgres.url_of(reader, SECRET)
    return found


def stays(path: Path) -> list[tuple[str, list[str]]]:
    return [(row["stay_id"], row["diagnoses"]) for row in pq.read_table(path).to_pylist()]


EXPECTED = [("100", ["icd9cm:4280", "icd9cm:0389"]), ("101", ["icd9cm:5856"])]


def relations(postgres: Any) -> list[Any]:
    with postgres.connect() as owner:
        found: list[Any] = owner.execute("SELECT oid, relname FROM pg_class ORDER BY oid").fetchall()
        return found


def test_the_right_to_read_is_enough_and_nothing_is_created(
    postgres: Any, schema: str, url: str, tmp_path: Path
) -> None:
    before = relations(postgres)
    prepared = prepare("mimic3", schema, tmp_path / "C.parquet", engine=url)
    assert relations(postgres) == before
    assert stays(prepared.path) == EXPECTED
    assert pq.read_table(prepared.path).column("admission").to_pylist() == ["urgent", "elective"]
    assert SECRET.encode() not in prepared.path.read_bytes() + prepared.rejects_path.read_bytes()


def test_the_session_refuses_to_write_even_for_the_owner(postgres: Any, schema: str, tmp_path: Path) -> None:
    for statement in ("CREATE TEMPORARY TABLE t (n INT)", f"DELETE FROM {schema}.admissions"):
        engine = open_engine(postgres.url, tmp_path)
        try:
            refused = pytest.raises(CohortError, match=r"could not finish the query \(error 25006\)")
            with refused, engine.plain_errors():
                engine.connection.con.execute(statement)
        finally:
            engine.close()


def test_rows_written_in_the_meantime_are_not_seen(
    postgres: Any, schema: str, url: str, tmp_path: Path
) -> None:
    def write(message: str) -> None:
        with postgres.connect() as owner:
            owner.execute(ROWS.format(schema))
            owner.execute(f"INSERT INTO {schema}.diagnoses_icd VALUES (9, 9, 9, 9, '4019')")

    prepared = prepare("mimic3", schema, tmp_path / "C.parquet", engine=url, say=write)
    assert stays(prepared.path) == EXPECTED
    assert prepared.counts.entries_read == 5


def test_a_lost_connection_is_one_sentence_and_leaves_no_file(
    postgres: Any, schema: str, reader: str, url: str, tmp_path: Path
) -> None:
    def cut(message: str) -> None:
        with postgres.connect() as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (reader,)
            )

    with pytest.raises(CohortError, match=r"^PostgreSQL 127.0.0.1:\d+/postgres closed the connection\.$"):
        prepare("mimic3", schema, tmp_path / "C.parquet", engine=url, say=cut)
    assert list(tmp_path.iterdir()) == []


def failures(postgres: Any, reader: str, schema: str) -> Iterator[tuple[str, str, str]]:
    good = postgres.url_of(reader, SECRET)
    server = f"127.0.0.1:{postgres.port}"
    yield postgres.url_of(reader, "wr0ng" + SECRET), schema, "rejected the user name or password"
    yield good.replace("/postgres", "/absent"), schema, "has no database with this name"
    yield good.replace(server, "127.0.0.1:1"), schema, "cannot be reached"
    yield good.replace(server, "/" + server), schema, "URL cannot be read|cannot be reached"
    yield f"postgresql://{reader}:{SECRET}@{server}/postgres", schema, "URL cannot be read|cannot be reached"
    yield good, "absent", "There is no schema or table absent"
    yield good, f"{schema}.diagnoses_icd", "is a table; this source needs the schema"
    yield f"mysql://{reader}:{SECRET}@{server}/x", schema, "not an engine that dx2px knows"
    yield f"{reader}:{SECRET}@{server}", schema, "not an engine that dx2px knows"


def test_a_failure_is_one_sentence_without_the_password(
    postgres: Any, reader: str, schema: str, tmp_path: Path
) -> None:
    for engine, path, sentence in failures(postgres, reader, schema):
        with pytest.raises(InputError, match=sentence) as caught:
            prepare("mimic3", path, tmp_path / "C.parquet", engine=engine)
        shown = str(caught.value)
        assert "s3cr3t" not in shown
        assert "\n" not in shown
        assert caught.value.__cause__ is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("DROP TABLE {0}.procedures_icd", "has no procedures_icd table"),
        (
            "ALTER TABLE {0}.diagnoses_icd RENAME hadm_id TO stay",
            "has no column hadm_id; it has row_id",
        ),
        ("REVOKE SELECT ON {0}.procedures_icd FROM {1}", "does not allow this user to read the tables"),
        ("DELETE FROM {0}.procedures_icd", "No stay is left"),
    ],
)
def test_missing_tables_columns_rights_and_rows_are_reported(
    postgres: Any, reader: str, schema: str, url: str, tmp_path: Path, change: str, sentence: str
) -> None:
    with postgres.connect() as owner:
        owner.execute(change.format(schema, reader))
    with pytest.raises(CohortError, match=sentence):
        prepare("mimic3", schema, tmp_path / "C.parquet", engine=url)
    assert list(tmp_path.iterdir()) == []


def test_own_table_in_the_default_schema_and_in_quotes(postgres: Any, tmp_path: Path) -> None:
    name = f"Own {uuid.uuid4().hex[:8]}"
    with postgres.connect() as owner:
        owner.execute(
            f'CREATE TABLE public."{name}" ("Encounter" UUID, "Type" TEXT, "Code" NUMERIC, seq FLOAT)'
        )
        for kind, code, order in (("DX", "585.6", 2), ("DX", "250.01", 1), ("PX", "39.95", 1)):
            values = (uuid.UUID(int=7), kind, code, order)
            owner.execute(f'INSERT INTO public."{name}" VALUES (%s, %s, %s, %s)', values)
    prepared = prepare("table", name, tmp_path / "C.parquet", engine=postgres.url)
    assert stays(prepared.path) == [(str(uuid.UUID(int=7)), ["icd9cm:25001", "icd9cm:5856"])]
    assert any("look like numbers" in note for note in prepared.notes)
    with pytest.raises(CohortError, match="fixed-width text file"):
        prepare("nhds", name, tmp_path / "D.parquet", engine=postgres.url)


def test_the_command_line_never_shows_the_password(schema: str, url: str, tmp_path: Path) -> None:
    def prepare_there(path: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dx2px", "prepare", "mimic3", path, "--engine", url]
        command += ["--out", str(tmp_path / "C.parquet")]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    good, bad = prepare_there(schema), prepare_there("absent")
    assert good.returncode == 0, good.stderr
    assert stays(tmp_path / "C.parquet") == EXPECTED
    assert (bad.returncode, bad.stderr.count("\n")) == (1, 1)
    assert "There is no schema or table absent in PostgreSQL 127.0.0.1" in bad.stderr
    shown = good.stdout + good.stderr + bad.stdout + bad.stderr
    assert "s3cr3t" not in shown
