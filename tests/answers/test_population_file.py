"""Scoring a Parquet file: what is kept of work that was stopped, and when it may be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dx2px.answers.population as population
import dx2px.answers.population_file as population_file
from dx2px import score_batches, score_file
from dx2px.answers import Model
from dx2px.errors import InputError, OtherVersionError
from dx2px.scoring.identity import fingerprint

STAYS = 1000
CODES = ["428.0", "icd9cm:25000", "0389", "icd9cm:4281", "nonsense"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 128 stays, so that a thousand stays make eight."""
    monkeypatch.setattr(population, "STAYS", 32)
    monkeypatch.setattr(population_file, "STAYS", 32)
    monkeypatch.setattr(population_file, "PART", 128)


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lists = [list(rng.choice(CODES, rng.integers(0, 4))) for _ in range(STAYS)]
    table = pa.table({"stay_id": [str(i) for i in range(STAYS)], "diagnoses": lists, "sex": ["F"] * STAYS})
    pq.write_table(table, tmp_path / "C.parquet", row_group_size=150)
    return tmp_path / "C.parquet"


class KilledError(Exception):
    """Stands for a kill."""


def stopping_after(stays: int) -> Callable[[int], None]:
    def tell(done: int) -> None:
        if done >= stays:
            raise KilledError

    return tell


def stopped(stays: Path, model: Model, out: Path, after: int, top: int = 3) -> Path:
    with pytest.raises(KilledError):
        score_file(model, stays, out, top, stopping_after(after))
    assert not out.exists()
    return out.with_name(f"{out.name}.parts")


def test_the_file_holds_what_the_stream_gives(stays: Path, model: Model, tmp_path: Path) -> None:
    told: list[int] = []
    scored = score_file(model, stays, tmp_path / "R.parquet", 3, told.append)
    found = pq.read_table(tmp_path / "R.parquet")
    expected = pa.Table.from_batches(score_batches(model, pq.ParquetFile(stays).iter_batches(77), 3))
    assert found.replace_schema_metadata().equals(expected)
    assert found["stay_id"].to_pylist() == [str(i) for i in range(STAYS)]
    assert told == [*range(128, STAYS, 128), STAYS]
    empty = pa.compute.equal(pa.compute.list_value_length(found["recommendations"]), 0)
    assert scored.stays_without_answer == pa.compute.sum(empty).as_py() > 0
    for name in ("known_diagnoses", "backed_off_diagnoses", "unknown_diagnoses"):
        assert getattr(scored, name) == pa.compute.sum(found[name]).as_py() > 0
    record = json.loads(pq.read_metadata(tmp_path / "R.parquet").metadata[b"dx2px"])
    assert record["model"] == fingerprint(model.files)
    assert (record["stays"], record["top"]) == (STAYS, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["C.parquet", "R.parquet", "model"]


@pytest.mark.parametrize("after", [1, 400, 896, STAYS])
def test_stopped_work_goes_on_to_the_same_bytes(
    after: int, stays: Path, model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_file(model, stays, tmp_path / "whole.parquet", 3)
    parts = stopped(stays, model, tmp_path / "R.parquet", after)
    kept = len(list(parts.glob("*.arrow")))
    assert kept == -(-after // 128)
    asked: list[int] = []
    first = population_file.StayFile.batches
    monkeypatch.setattr(
        population_file.StayFile, "batches", lambda file, start: (asked.append(start), first(file, start))[1]
    )
    score_file(model, stays, tmp_path / "R.parquet", 3)
    assert asked == [min(kept * 128, STAYS)]
    assert (tmp_path / "R.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not parts.exists()


def test_what_was_translated_is_counted_before_a_stop_and_after(
    stays: Path, model: Model, tmp_path: Path
) -> None:
    nine = Model(replace(model.files, diagnoses=("icd9cm:0030", *model.files.diagnoses[1:])))
    table = pq.read_table(stays)
    lists = [[*codes, "I50.9", "icd10cm:I509", "Z3A.39"] for codes in table["diagnoses"].to_pylist()]
    pq.write_table(table.set_column(1, "diagnoses", [lists]), stays)
    stopped(stays, nine, tmp_path / "R.parquet", 400)
    scored = score_file(nine, stays, tmp_path / "R.parquet", 3)
    assert scored.mapping == {"approximate": STAYS, "no-map": STAYS}  # each code once per stay
    record = json.loads(pq.read_metadata(tmp_path / "R.parquet").metadata[b"dx2px"])
    assert record["mapping"] == scored.mapping
    assert scored.stays_without_answer == 0
    with pytest.raises(OtherVersionError, match="leave out --no-map"):
        score_file(nine, stays, tmp_path / "no.parquet", map=False)


def test_parts_of_another_job_are_not_continued(stays: Path, model: Model, tmp_path: Path) -> None:
    other = Model(replace(model.files, arrays={**model.files.arrays, "V": -model.files.arrays["V"]}))
    out, whole = tmp_path / "R.parquet", tmp_path / "whole.parquet"
    stopped(stays, other, out, 500)
    stopped(stays, model, out, 300, top=2)
    score_file(model, stays, out, 3)
    score_file(model, stays, whole, 3)
    assert out.read_bytes() == whole.read_bytes()


def test_changed_stays_are_not_continued(stays: Path, model: Model, tmp_path: Path) -> None:
    stopped(stays, model, tmp_path / "R.parquet", 500)
    backwards = pq.read_table(stays).take(pa.array(np.arange(STAYS)[::-1]))
    pq.write_table(backwards, stays, row_group_size=150)
    score_file(model, stays, tmp_path / "R.parquet", 3)
    assert pq.read_table(tmp_path / "R.parquet")["stay_id"].to_pylist() == [
        str(i) for i in reversed(range(STAYS))
    ]


def test_stays_that_change_meanwhile_are_noticed(stays: Path, model: Model, tmp_path: Path) -> None:
    def touch(done: int) -> None:
        stays.touch()

    with pytest.raises(InputError, match="changed while it was scored"):
        score_file(model, stays, tmp_path / "R.parquet", 3, touch)
    assert not (tmp_path / "R.parquet").exists()


@pytest.mark.parametrize("damage", ["cut", "lost"])
def test_a_damaged_part_is_made_anew(damage: str, stays: Path, model: Model, tmp_path: Path) -> None:
    parts = stopped(stays, model, tmp_path / "R.parquet", 800)
    second = parts / "00001.arrow"
    if damage == "cut":
        second.write_bytes(second.read_bytes()[:-200])
    else:
        second.unlink()
    score_file(model, stays, tmp_path / "R.parquet", 3)
    score_file(model, stays, tmp_path / "whole.parquet", 3)
    assert (tmp_path / "R.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_folder_of_other_things_is_left_alone(stays: Path, model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "R.parquet.parts"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"holds 'letter\.txt', which dx2px did not write"):
        score_file(model, stays, tmp_path / "R.parquet", 3)
    assert (folder / "letter.txt").read_text() == "dear"


def test_one_process_at_a_time(stays: Path, model: Model, tmp_path: Path) -> None:
    def again(done: int) -> None:
        with pytest.raises(InputError, match="Another process is working"):
            score_file(model, stays, tmp_path / "R.parquet", 3)

    assert score_file(model, stays, tmp_path / "R.parquet", 3, again).stays == STAYS


def test_no_stays_give_a_file_without_rows(model: Model, tmp_path: Path) -> None:
    empty = pa.table({"stay_id": pa.array([], pa.string()), "diagnoses": pa.array([], pa.list_(pa.string()))})
    pq.write_table(empty, tmp_path / "C.parquet")
    assert score_file(model, tmp_path / "C.parquet", tmp_path / "R.parquet").stays == 0
    assert pq.read_table(tmp_path / "R.parquet").num_rows == 0


def test_the_output_may_not_be_the_input_or_a_folder(stays: Path, model: Model, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="would replace the stays"):
        score_file(model, stays, stays)
    with pytest.raises(InputError, match="is a folder"):
        score_file(model, stays, tmp_path)
    with pytest.raises(InputError, match=r"not 'R\.csv': name it R\.parquet"):
        score_file(model, stays, tmp_path / "R.csv")


def test_wrong_files_leave_nothing_behind(model: Model, tmp_path: Path) -> None:
    pq.write_table(pa.table({"stay_id": ["1"], "diagnoses": [[4280]]}), tmp_path / "numbers.parquet")
    (tmp_path / "text.parquet").write_text("no parquet")
    sentences = {
        "numbers.parquet": "lists of codes as text",
        "text.parquet": "is not a Parquet file",
        "absent.parquet": "There is no file",
        "model": "is a folder",
    }
    before = sorted(tmp_path.iterdir())
    for name, sentence in sentences.items():
        with pytest.raises(InputError, match=sentence):
            score_file(model, tmp_path / name, tmp_path / "R.parquet")
    assert sorted(tmp_path.iterdir()) == before
