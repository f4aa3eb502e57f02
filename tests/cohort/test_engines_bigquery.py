"""The exact queries that BigQuery would get for a MIMIC-IV preparation, compiled without a network.

The stand-in keeps and lends tables as the BigQuery engine does. It records each query in BigQuery's dialect and answers
it with DuckDB, so the pinned queries are those that lead to the right cohort. To renew the pinned file after an
intended change: `DX2PX_RENEW=1 pytest tests/cohort/test_engines_bigquery.py`, then read the difference.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from ibis.backends.sql.compilers.bigquery import BigQueryCompiler

from dx2px import CohortError, prepare
from dx2px.cli.app import EXTRA_OF_MODULE
from dx2px.cohort.engines import ENGINES
from dx2px.cohort.engines import duckdb as in_process
from dx2px.cohort.engines.engine import Engine

PINNED = Path(__file__).parent / "bigquery_mimic4.sql"
CODES = "subject_id INT, hadm_id INT, seq_num INT, icd_code VARCHAR, icd_version INT"
TABLES = f"""
CREATE SCHEMA mimiciv_hosp;
CREATE TABLE mimiciv_hosp.diagnoses_icd ({CODES});
CREATE TABLE mimiciv_hosp.procedures_icd ({CODES});
CREATE TABLE mimiciv_hosp.admissions (subject_id INT, hadm_id INT, admittime TIMESTAMP, admission_type VARCHAR);
CREATE TABLE mimiciv_hosp.patients (subject_id INT, gender VARCHAR, anchor_age INT, anchor_year INT);
INSERT INTO mimiciv_hosp.diagnoses_icd VALUES (1, 1, 2, 'I509', 10), (1, 1, 1, 'N186', 10), (2, 2, 1, 'nope', 10);
INSERT INTO mimiciv_hosp.procedures_icd VALUES (1, 1, 1, '5A1D70Z', 10);
INSERT INTO mimiciv_hosp.admissions VALUES (1, 1, '2182-03-01 10:00:00', 'URGENT');
INSERT INTO mimiciv_hosp.patients VALUES (1, 'F', 60, 2180);
"""


class StandIn(in_process.DuckDB):
    """DuckDB that records every query as BigQuery would get it and, like BigQuery, stores no results."""

    asked: list[str]

    def keep(self, name: str, expression: Any) -> Any:
        return Engine.keep(self, name, expression)

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        compiled = BigQueryCompiler().to_sqlglot(expression.as_table())
        self.asked.append(_steady(compiled.sql(dialect="bigquery", pretty=True)))
        yield from super().batches(expression)


class Moving(StandIn):
    """A table that has one more row when it is counted again."""

    one_snapshot = False

    def value(self, expression: Any) -> Any:
        return super().value(expression) + 1


def _steady(query: str) -> str:
    """The query with fixed names in place of the random ones from Ibis."""
    query = re.sub(r"ibis_pyarrow_memtable_\w+", "verdicts", query)
    return re.sub(r"ibis_(table_unnest|read_parquet)\w+", r"\1", query)


@pytest.fixture
def held(tmp_path: Path) -> str:
    """The URL of a DuckDB file with MIMIC-IV's tables."""
    file = tmp_path / "held.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(TABLES)
    return f"duckdb://{file}"


@pytest.fixture
def asked(held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    queries: list[str] = []
    StandIn.asked = queries
    monkeypatch.setattr(in_process, "DuckDB", StandIn)
    prepared = prepare("mimic4", "mimiciv_hosp", tmp_path / "C.parquet", engine=held)
    assert pq.read_table(prepared.path).to_pylist() == [
        {
            "stay_id": "1",
            "patient_id": "1",
            "diagnoses": ["icd10cm:N186", "icd10cm:I509"],
            "procedures": ["icd10pcs:5A1D70Z"],
            "principal": "icd10cm:N186",
            "age": 62,
            "sex": "F",
            "admission": "urgent",
        }
    ]
    return queries


def test_the_queries_are_the_pinned_ones_and_only_read(asked: list[str]) -> None:
    for query in asked:
        statements = sqlglot.parse(query, read="bigquery")
        assert [type(statement) for statement in statements] == [sqlglot.exp.Select] or (
            [type(statement) for statement in statements] == [sqlglot.exp.Union]
        )
        assert " SEMI JOIN" not in query
    text = ";\n\n".join(asked) + ";\n"
    if os.environ.get("DX2PX_RENEW") == "1":
        PINNED.write_text(text)
    assert text == PINNED.read_text()


def test_tables_that_change_in_the_meantime_are_noticed(
    held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StandIn.asked = []
    monkeypatch.setattr(in_process, "DuckDB", Moving)
    with pytest.raises(
        CohortError, match="do not add up, probably because the tables changed while they were read"
    ):
        prepare("mimic4", "mimiciv_hosp", tmp_path / "C.parquet", engine=held)
    assert [path.name for path in tmp_path.iterdir()] == ["held.duckdb"]


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, url in (("google", "bigquery://p"), ("psycopg", "postgresql://h"), ("pyspark", "spark")):
        name = EXTRA_OF_MODULE[module]
        with monkeypatch.context() as without:
            for loaded in [m for m in sys.modules if m.partition(".")[0] == module]:
                without.delitem(sys.modules, loaded)
            without.setitem(sys.modules, module, None)
            without.delitem(sys.modules, f"dx2px.cohort.engines.{ENGINES[url.partition('://')[0]]}", False)
            with pytest.raises(ModuleNotFoundError) as caught:
                prepare("mimic4", "mimiciv_hosp", tmp_path / "C.parquet", engine=url)
        assert EXTRA_OF_MODULE[str(caught.value.name).partition(".")[0]] == name
