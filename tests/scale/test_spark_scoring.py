"""Scoring on Spark gives exactly the answers of `score_file`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px import AuditSettings, audit_batches, score_file
from dx2px.answers import Model
from dx2px.answers.defects import KINDS
from dx2px.errors import InputError, ModelError
from dx2px.scoring.folder import write_folder
from synthetic_models import CLOSED, ECHO, HEART, HIP, OPEN, TRANSFUSION, beside_files, random_files

STAYS = 5000


def write_model(path: Path, seed: int) -> Path:
    write_folder(path, random_files("e+sa+ma", 60, 20, dim=16, heads=2, seed=seed))
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", seed=0)


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    """Known codes, codes with siblings, codes with none, null codes, empty and null lists; ids that are numbers."""
    rng = np.random.default_rng(1)
    codes = [*(f"icd9cm:{4000 + i}" for i in range(240)), "icd9cm:V700", "428.0", None]
    lists: list[Any] = [
        [codes[i] for i in rng.integers(0, len(codes), rng.integers(0, 9))] for _ in range(STAYS)
    ]
    lists[::97] = [None] * len(lists[::97])
    diagnoses = pa.array(lists, pa.list_(pa.string()))
    table = pa.table({"sex": ["F"] * STAYS, "stay_id": pa.array(np.arange(STAYS)), "diagnoses": diagnoses})
    pq.write_table(table, tmp_path / "C.parquet", row_group_size=1300)
    return tmp_path / "C.parquet"


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by("stay_id").combine_chunks()


def test_answers_are_those_of_the_file(spark: Any, stays: Path, model: Path, tmp_path: Path) -> None:
    from dx2px.spark import recommend

    score_file(Model.load(model), stays, tmp_path / "R.parquet", top=7)
    expected = in_order(pq.read_table(tmp_path / "R.parquet"))
    mixed = spark.read.parquet(str(stays)).repartition(3)
    for place, frame in enumerate((mixed, mixed.coalesce(1))):
        out = tmp_path / f"spark{place}"
        recommend(model, frame, top=7).write.parquet(str(out))
        found = in_order(pq.read_table(out))
        assert found.column_names == expected.column_names
        assert found.cast(expected.schema).equals(expected)


def test_findings_are_those_of_the_stream(spark: Any, tmp_path: Path) -> None:
    from dx2px.spark import audit

    write_folder(tmp_path / "model", beside_files())
    rng, codes = np.random.default_rng(2), (CLOSED, OPEN, ECHO, TRANSFUSION)
    coded = [rng.choice(codes, rng.integers(0, 4), replace=False).tolist() for _ in range(300)]
    lists = pa.list_(pa.string())
    table = pa.table(
        {
            "stay_id": pa.array(np.arange(300)),
            "diagnoses": pa.array([[HIP], ["I50.9"], [HIP, HEART]] * 100, lists),
            "procedures": pa.array(coded, lists),
        }
    )
    pq.write_table(table, tmp_path / "C.parquet")
    settings, model = AuditSettings(precision=0.02, kinds=KINDS), Model.load(tmp_path / "model")
    expected = pa.Table.from_batches(audit_batches(model, table.to_batches(), settings))
    frame = spark.read.parquet(str(tmp_path / "C.parquet"))
    audit(tmp_path / "model", frame, settings).coalesce(1).write.parquet(str(tmp_path / "found"))
    found = pq.read_table(tmp_path / "found")
    assert {*found.column("kind").to_pylist()} == {*KINDS}
    order = [
        ("stay_id", "ascending"),
        ("strength", "descending"),
        ("code", "ascending"),
        ("kind", "ascending"),
    ]
    assert found.sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()
    with pytest.raises(InputError, match="no column procedures"):
        audit(tmp_path / "model", frame.drop("procedures"))


def test_small_arrow_batches_change_nothing(spark: Any, stays: Path, model: Path) -> None:
    from dx2px.spark import recommend

    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual, frame = spark.conf.get(name), spark.read.parquet(str(stays)).limit(300)
    expected = sorted(recommend(model, frame).collect())
    try:
        spark.conf.set(name, 7)
        assert sorted(recommend(model, frame).collect()) == expected
    finally:
        spark.conf.set(name, usual)


def test_a_model_that_was_replaced_is_loaded_again(spark: Any, stays: Path, model: Path) -> None:
    """Workers are reused with the model they loaded, but only while it is the one the driver asks for."""
    from dx2px.spark import recommend

    frame = spark.read.parquet(str(stays)).where("stay_id < 50")
    before = recommend(model, frame)
    first = sorted(before.collect())
    write_model(model, seed=5)
    assert sorted(recommend(model, frame).collect()) != first


def test_sql_reads_the_lists(spark: Any, stays: Path, model: Path) -> None:
    from dx2px.spark import recommend

    frame = spark.read.parquet(str(stays)).where("stay_id between 1 and 20")
    recommend(str(model), frame, top=3).createOrReplaceTempView("answers")
    rows = spark.sql(
        "select stay_id, r.* from answers lateral view inline(arrays_zip(recommendations, scores)) r"
    ).collect()
    assert rows
    assert all(row.recommendations.startswith("icd9pcs:") for row in rows)
    empty = spark.sql("select count(*) from answers where size(recommendations) = 0").first()[0]
    assert len(rows) == 3 * (20 - empty)


def test_wrong_input_is_reported_at_once(spark: Any, stays: Path, model: Path, tmp_path: Path) -> None:
    from dx2px.spark import recommend

    frame = spark.read.parquet(str(stays))
    with pytest.raises(ModelError, match="there is no such folder"):
        recommend(tmp_path / "absent", frame)
    with pytest.raises(InputError, match="has no column diagnoses"):
        recommend(model, frame.drop("diagnoses"))
    with pytest.raises(InputError, match=r"as text \(array<string>\), not array<int>"):
        recommend(model, frame.selectExpr("stay_id", "array(1) as diagnoses"))
    with pytest.raises(InputError, match="at least 1, not 0"):
        recommend(model, frame, top=0)
