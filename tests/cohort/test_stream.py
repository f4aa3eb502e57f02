"""A streamed cohort: the same codes and fingerprint as in memory, and parts that follow from ids alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px import Cohort, CohortError
from dx2px.cohort import CohortStream, CohortWriter, split_stream
from dx2px.cohort.fingerprint import fingerprint, stream_fingerprint
from dx2px.cohort.splits import TEST
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.ragged import joined


def write(cohort: Cohort, path: Path, group: int) -> Path:
    """A cohort file of small row groups."""
    context = None if cohort.context is None else cohort.context.schema
    with CohortWriter(path, context) as writer:
        for start in range(0, len(cohort), group):
            writer.write(cohort._table(start, min(start + group, len(cohort))))
        writer.describe(cohort.provenance)
    return path


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=3000))[0]


@pytest.fixture(scope="module")
def stream(cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> CohortStream:
    return CohortStream(write(cohort, tmp_path_factory.mktemp("stream") / "C.parquet", 170))


def test_it_is_the_cohort(cohort: Cohort, stream: CohortStream) -> None:
    assert len(stream) == len(cohort)
    assert len(stream.group_sizes) == 18
    assert stream.diagnosis_vocabulary == cohort.diagnosis_vocabulary
    assert stream.procedure_vocabulary == cohort.procedure_vocabulary
    assert joined(list(stream.groups("diagnoses"))) == cohort.diagnoses
    assert joined(list(stream.groups("procedures"))) == cohort.procedures
    assert stream_fingerprint(stream) == fingerprint(cohort)


def test_a_subset_has_ids_codes_and_context(cohort: Cohort, stream: CohortStream) -> None:
    rows = np.array([0, 3, 169, 170, 700, 2999])
    some, expected = stream.subset(rows), cohort.subset(rows)
    assert some.stay_ids.to_pylist() == expected.stay_ids.to_pylist()
    assert some.patient_ids is not None
    assert expected.patient_ids is not None
    assert some.patient_ids.to_pylist() == expected.patient_ids.to_pylist()
    assert some.diagnoses == expected.diagnoses
    assert some.procedures == expected.procedures
    assert some.context is not None
    assert expected.context is not None
    assert some.context.to_pydict() == expected.context.to_pydict()
    assert len(stream.subset(rows[:0])) == 0
    with pytest.raises(CohortError, match="ascending"):
        stream.subset(rows[::-1])


def test_a_file_without_dictionaries_reads_the_same(cohort: Cohort, tmp_path: Path) -> None:
    made = write(cohort, tmp_path / "C.parquet", 500)
    source = pq.read_table(made).replace_schema_metadata(pq.ParquetFile(made).metadata.metadata)
    plain = tmp_path / "P.parquet"
    pq.write_table(source, plain, use_dictionary=False, row_group_size=400)
    assert stream_fingerprint(CohortStream(plain)) == fingerprint(cohort)
    mixed = tmp_path / "M.parquet"  # dictionaries that soon are full
    pq.write_table(source, mixed, dictionary_pagesize_limit=256, data_page_size=256, write_batch_size=64)
    assert stream_fingerprint(CohortStream(mixed)) == fingerprint(cohort)


def test_parts_have_about_their_shares_and_keep_patients_whole(cohort: Cohort, stream: CohortStream) -> None:
    split = split_stream(stream, folds=4, test_share=0.2, seed=1)
    assert split.by == "patient"
    shares = [np.mean(split.part == part) for part in (TEST, 0, 1, 2, 3)]
    assert shares == pytest.approx([0.2] * 5, abs=0.03)
    assert cohort.patient_ids is not None
    parts: dict[str, set[int]] = {}
    for patient, part in zip(cohort.patient_ids.to_pylist(), split.part.tolist(), strict=True):
        parts.setdefault(patient, set()).add(part)
    assert all(len(found) == 1 for found in parts.values())
    other = split_stream(stream, folds=4, test_share=0.2, seed=2)
    assert np.mean(other.part == split.part) == pytest.approx(0.2, abs=0.05)


def test_a_part_is_the_documented_hash_and_does_not_depend_on_the_rest(
    cohort: Cohort, stream: CohortStream, tmp_path: Path
) -> None:
    whole = split_stream(stream, by="stay", folds=10, test_share=0.2, seed=7)
    for row in (0, 11, 2999):
        key = f"7 stay {cohort.stay_ids[row].as_py()}".encode()
        place = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") / 2**64
        assert whole.part[row] == (TEST if place < 0.2 else int((place - 0.2) / 0.8 * 10))
    later = CohortStream(write(cohort.subset(np.arange(1000, 3000)), tmp_path / "L.parquet", 300))
    some = split_stream(later, by="stay", folds=10, test_share=0.2, seed=7)
    assert np.array_equal(some.part, whole.part[1000:])


def test_stays_of_unknown_patients_are_split_one_by_one(cohort: Cohort, tmp_path: Path) -> None:
    table = cohort._table(0, 600)
    place = table.column_names.index("patient_id")
    ids = table.column("patient_id").to_pylist()
    some = table.set_column(place, "patient_id", pa.array([ids[0], *[None] * 599], pa.string()))
    with CohortWriter(tmp_path / "C.parquet", cohort.context.schema if cohort.context else None) as writer:
        writer.write(some)
    split = split_stream(CohortStream(tmp_path / "C.parquet"), folds=2, test_share=0.2)
    by_stay = split_stream(CohortStream(tmp_path / "C.parquet"), by="stay", folds=2, test_share=0.2)
    assert split.by == "patient"
    assert np.array_equal(split.part[1:], by_stay.part[1:])


def test_problems_are_reported(cohort: Cohort, tmp_path: Path) -> None:
    table = cohort._table(0, 50)
    without = table.set_column(1, "patient_id", pa.nulls(50, pa.string()))
    schema = cohort.context.schema if cohort.context else None
    with CohortWriter(tmp_path / "N.parquet", schema) as writer:
        writer.write(without)
    with pytest.raises(CohortError, match="no patient ids"):
        split_stream(CohortStream(tmp_path / "N.parquet"), by="patient")
    with pytest.raises(CohortError, match="cannot be split"):
        split_stream(CohortStream(tmp_path / "N.parquet"), folds=60)
    twice = table.set_column(3, "procedures", pa.array([["icd9pcs:3722", "icd9pcs:3722"]] + [[]] * 49))
    with CohortWriter(tmp_path / "B.parquet", schema) as writer:
        writer.write(twice)
    with pytest.raises(
        CohortError, match=r"no procedures; some stays have the same code twice among their procedures"
    ):
        CohortStream(tmp_path / "B.parquet")
