"""Cohorts: what they refuse, and that a file gives back what was saved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dx2px import Cohort, CohortError, CohortFile, CohortWriter, Vocabulary

DX = ["icd9cm:0389", "icd9cm:4280", "icd9cm:V5867", "icd10cm:E119"]
PX = ["icd9pcs:0017", "icd9pcs:3995", "icd10pcs:02700E6"]


def small() -> Cohort:
    return Cohort.from_lists(
        [[DX[1], DX[0]], [DX[2]], [DX[3], DX[1]]],
        [[PX[1]], [PX[0], PX[1]], [PX[2]]],
        stay_ids=["a", "b", "c"],
        patient_ids=["p", "p", None],
    )


def same(left: Cohort, right: Cohort) -> bool:
    return (
        left.stay_ids.to_pylist() == right.stay_ids.to_pylist()
        and (left.patient_ids is None) == (right.patient_ids is None)
        and [left.diagnoses_of(i) for i in range(len(left))]
        == [right.diagnoses_of(i) for i in range(len(right))]
        and [left.procedures_of(i) for i in range(len(left))]
        == [right.procedures_of(i) for i in range(len(right))]
        and left.diagnosis_vocabulary == right.diagnosis_vocabulary
        and left.procedure_vocabulary == right.procedure_vocabulary
    )


def test_vocabularies_are_in_the_order_of_their_text_and_stays_keep_the_source_order() -> None:
    cohort = small()
    assert list(cohort.diagnosis_vocabulary) == sorted(DX)
    assert cohort.diagnoses_of(0) == (DX[1], DX[0])
    assert cohort.diagnosis_counts.tolist() == [1, 1, 2, 1]


def test_stays_can_be_had_one_by_one() -> None:
    cohort = small()
    assert [stay.id for stay in cohort] == ["a", "b", "c"]
    assert [(stay.diagnoses, stay.procedures) for stay in cohort] == [
        (cohort.diagnoses_of(row), cohort.procedures_of(row)) for row in range(3)
    ]
    assert [stay.patient for stay in cohort] == ["p", "p", None]
    assert cohort[-1] == cohort[2] == list(cohort)[2]
    assert cohort[0].facts == {}
    told = Cohort.from_lists(
        [[DX[0]]] * 5000, [[PX[0]]] * 5000, age=[*range(100)] * 50, sex=["F", None] * 2500
    )
    assert [stay.facts for stay in told.subset([1, 4998])] == [{"age": 1}, {"age": 98, "sex": "F"}]
    assert sum(stay.age or 0 for stay in told) == 50 * sum(range(100))
    with pytest.raises(IndexError, match="no row 3 among 3 stays"):
        cohort[3]
    with pytest.raises(TypeError, match="`subset` takes several"):
        cohort[0:2]  # type: ignore[index]


def test_a_file_gives_back_the_cohort(tmp_path: Path) -> None:
    small().save(tmp_path / "c.parquet")
    again = Cohort.load(tmp_path / "c.parquet")
    assert same(again, small())
    assert again.patient_ids is not None
    assert again.patient_ids.to_pylist() == ["p", "p", None]


stays = st.lists(
    st.tuples(
        st.lists(st.sampled_from(DX), min_size=1, max_size=4, unique=True),
        st.lists(st.sampled_from(PX), min_size=1, max_size=3, unique=True),
    ),
    min_size=1,
    max_size=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(stays)
def test_every_cohort_survives_its_file(tmp_path: Path, lists: list[tuple[list[str], list[str]]]) -> None:
    cohort = Cohort.from_lists([dx for dx, _ in lists], [px for _, px in lists])
    cohort.save(tmp_path / "c.parquet")
    assert same(Cohort.load(tmp_path / "c.parquet"), cohort)


def test_a_subset_keeps_the_vocabularies_and_the_order_asked_for() -> None:
    part = small().subset([2, 0])
    assert part.stay_ids.to_pylist() == ["c", "a"]
    assert part.diagnoses_of(0) == (DX[3], DX[1])
    assert part.procedures_of(1) == (PX[1],)
    assert part.diagnosis_vocabulary == small().diagnosis_vocabulary


def test_context_columns_are_kept(tmp_path: Path) -> None:
    table = pa.table(
        {
            "stay_id": ["1", "2"],
            "patient_id": pa.nulls(2, pa.string()),
            "diagnoses": [[DX[0]], [DX[1]]],
            "procedures": [[PX[0]], [PX[1]]],
            "age": pa.array([70, None], pa.int32()),
        }
    )
    with CohortWriter(tmp_path / "c.parquet", pa.schema([("age", pa.int32())])) as writer:
        writer.write(table)
        writer.describe({"source": "test"})
    cohort = Cohort.load(tmp_path / "c.parquet")
    assert cohort.patient_ids is None
    assert cohort.context is not None
    assert cohort.subset([1, 0]).context.to_pydict() == {"age": [None, 70]}  # type: ignore[union-attr]
    assert cohort.provenance["source"] == "test"


@pytest.mark.parametrize(
    ("diagnoses", "procedures", "sentence"),
    [
        ([[DX[0], DX[0]]], [[PX[0]]], "the same code twice among their diagnoses"),
        ([[DX[0]]], [[]], "no procedures"),
        ([["4280"]], [[PX[0]]], "1 code is not a canonical diagnosis code"),
        ([[PX[0]]], [[PX[0]]], "1 code is not a canonical diagnosis code"),
        (
            [[DX[0]]],
            [["icd9pcs:99999"]],
            "1 code is not a canonical procedure code .for example 'icd9pcs:99999'",
        ),
        ([[DX[0]], [DX[0]]], [[PX[0]]], "2 lists of diagnoses but 1 of procedures"),
    ],
)
def test_lists_that_are_not_a_cohort_are_refused(
    diagnoses: list[list[str]], procedures: list[list[str]], sentence: str
) -> None:
    with pytest.raises(CohortError, match=sentence):
        Cohort.from_lists(diagnoses, procedures)


def test_files_that_are_not_cohorts_give_one_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"x": [1]}), other)
    text = tmp_path / "text.parquet"
    text.write_text("stay_id,diagnoses\n")
    future = tmp_path / "future.parquet"
    small().save(future)
    table = pq.read_table(future)
    with pq.ParquetWriter(future, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"dx2px": json.dumps({"format": 99})})
    with pytest.raises(CohortError, match="has no column stay_id and no column patient_id"):
        CohortFile(other)
    with pytest.raises(CohortError, match="not a Parquet file"):
        CohortFile(text)
    with pytest.raises(CohortError, match="format 99"):
        CohortFile(future)
    with pytest.raises(CohortError, match="There is no cohort file"):
        CohortFile(tmp_path / "absent.parquet")
    with pytest.raises(CohortError, match="is a folder"):
        CohortFile(tmp_path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    small().save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CohortError):
        Cohort.load(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    small().save(path)
    before = path.read_bytes()

    def fail() -> None:
        with CohortWriter(path) as writer:
            writer.write(small()._table(0, 1))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.parquet"]


def test_many_batches_load_like_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cohort = Cohort.from_lists(
        [list(rng.choice(DX, rng.integers(1, 5), replace=False)) for _ in range(500)],
        [list(rng.choice(PX, rng.integers(1, 4), replace=False)) for _ in range(500)],
    )
    with CohortWriter(tmp_path / "c.parquet") as writer:
        for start in range(0, 500, 7):
            writer.write(cohort._table(start, min(start + 7, 500)))
    assert same(Cohort.load(tmp_path / "c.parquet"), cohort)


def test_a_vocabulary_holds_each_code_once() -> None:
    with pytest.raises(CohortError, match="same code twice"):
        Vocabulary(["a", "b", "a"])
    assert Vocabulary.sorted(["b", "a", "b"]).codes == ("a", "b")
    assert Vocabulary(["b", "a"]).get("c") is None
