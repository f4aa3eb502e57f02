"""Exports: every format gives back the codes, in order, with the very same vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px.answers import Model, export
from dx2px.codes import title
from dx2px.errors import InputError
from dx2px.scoring.folder import ModelFiles
from synthetic_models import DIAGNOSES, PROCEDURES, planted_files

KINDS = ["diagnosis"] * len(DIAGNOSES) + ["procedure"] * len(PROCEDURES)


@pytest.fixture
def random_model() -> Model:
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.integers(-30, 30, (9, 7))
    vectors = (rng.standard_normal((9, 7)) * scale).astype(np.float32)
    arrays = {"U": vectors[:5], "V": vectors[5:]}
    files = planted_files("e+ma")
    return Model(ModelFiles(files.method, {}, files.diagnoses, files.procedures, arrays, files.history, ""))


def vectors_of(model: Model) -> np.ndarray:
    return np.concatenate([model.diagnosis_vectors, model.procedure_vectors])


def test_word2vec_text(tmp_path: Path, random_model: Model) -> None:
    export(random_model, tmp_path / "v.txt", "word2vec")
    head, *lines = (tmp_path / "v.txt").read_text().splitlines()
    assert head == "9 7"
    rows = [line.split(" ") for line in lines]
    assert [row[0] for row in rows] == [*DIAGNOSES, *PROCEDURES]
    assert np.array_equal(np.array([row[1:] for row in rows], dtype=np.float32), vectors_of(random_model))


def test_parquet(tmp_path: Path, random_model: Model) -> None:
    export(random_model, tmp_path / "v.parquet", "parquet")
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["code", "kind", "title", "vector"]
    assert table["code"].to_pylist() == [*DIAGNOSES, *PROCEDURES]
    assert table["kind"].to_pylist() == KINDS
    assert table["title"].to_pylist() == [title(code).text for code in (*DIAGNOSES, *PROCEDURES)]
    assert table.schema.field("vector").type == pa.list_(pa.float32(), 7)
    assert np.array_equal(np.array(table["vector"].to_pylist(), np.float32), vectors_of(random_model))


def test_npz_needs_no_pickle(tmp_path: Path, random_model: Model) -> None:
    export(random_model, tmp_path / "v.npz", "npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as found:
        assert sorted(found) == ["codes", "kinds", "vectors"]
        assert found["codes"].tolist() == [*DIAGNOSES, *PROCEDURES]
        assert found["kinds"].tolist() == KINDS
        assert np.array_equal(found["vectors"], vectors_of(random_model))


def test_an_existing_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "v"
    target.write_text("old")
    monkeypatch.setattr(np, "savez", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        export(model, target, "npz")
    assert target.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_file()) == ["v"]
    export(model, target, "word2vec")
    assert target.read_text().startswith("9 4\n")


def test_the_ending_says_the_format(tmp_path: Path, random_model: Model) -> None:
    export(random_model, tmp_path / "v.npz")
    assert len(np.load(tmp_path / "v.npz")["codes"]) > 0
    with pytest.raises(InputError, match=r"v\.bin: end it in \.parquet"):
        export(random_model, tmp_path / "v.bin")


def test_an_unknown_format_is_refused(tmp_path: Path, model: Model) -> None:
    with pytest.raises(InputError, match="one of word2vec, parquet, npz, not 'csv'"):
        export(model, tmp_path / "v", "csv")  # type: ignore[arg-type]
