"""The study of downstream models: its ridge leaves one out as a loop would, and it reads what the survey says."""

from __future__ import annotations

import bz2
import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dx2px.lab.blocks import blocks_of
from dx2px.ragged import Ragged

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def study() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "studies"))
        return importlib.import_module("embeddings")


def test_the_page_says_what_the_kept_runs_say(study: ModuleType) -> None:
    """Where this fails: python studies/embeddings.py --write docs/embeddings.md."""
    made = study.blocks(json.loads(study.OUT.read_text(encoding="utf-8")))
    shown = blocks_of((ROOT / "docs" / "embeddings.md").read_text(encoding="utf-8"))
    assert shown == {name: text.rstrip() + "\n" for name, text in made.items()}


@pytest.mark.parametrize("features", [4, 60])
def test_ridge_chooses_the_penalty_that_a_loop_over_left_out_stays_chooses(
    study: ModuleType, features: int
) -> None:
    """With more stays than features, and with fewer."""
    ridge = importlib.import_module("ridge")
    rng = np.random.default_rng(features)
    X = rng.standard_normal((40, features))
    Y = X[:, :2] + 2 * rng.standard_normal((40, 2)) + 5
    centred = X - X.mean(0)
    penalties = ridge.PENALTIES * np.trace(centred @ centred.T) / min(X.shape)

    def fit(rows: np.ndarray, penalty: float, y: int) -> tuple[np.ndarray, float]:
        means = X[rows].mean(0)
        C = X[rows] - means
        gram = C.T @ C + penalty * np.eye(features)
        w = np.linalg.solve(gram, C.T @ (Y[rows, y] - Y[rows, y].mean()))
        return w, Y[rows, y].mean() - means @ w

    found = ridge.ridge(X, Y, (slice(0, 1), slice(1, 2)))
    for y in range(2):
        errors = []
        for penalty in penalties:
            fits = [fit(np.delete(np.arange(40), n), penalty, y) for n in range(40)]
            errors.append(sum((Y[n, y] - X[n] @ w - b) ** 2 for n, (w, b) in enumerate(fits)))
        w, b = fit(np.arange(40), penalties[int(np.argmin(errors))], y)
        np.testing.assert_allclose(found.coefficients[:, y], w, atol=1e-9)
        assert found.predict(X)[:, y] == pytest.approx(X @ w + b)


def test_outcomes_are_fields_of_the_records_asked_for(study: ModuleType, tmp_path: Path) -> None:
    def record(status: str, days: int, drg: str) -> str:
        return "x" * 11 + status + f"{days:04d}" + "x" * 122 + drg + "x" * 8

    text = "\n".join(
        [record("1", 3, "470"), record("6", 12, "871"), record("4", 5, "470"), record("9", 1, "795")]
    )
    path = tmp_path / "NHDS.txt.bz2"
    path.write_bytes(bz2.compress(text.encode()))
    found = study.read_outcomes(path, np.array([2, 3, 4]))
    assert found.died.tolist() == [True, False, False]
    assert found.facility.tolist() == [False, True, False]
    assert found.days.tolist() == [12, 5, 1]
    assert found.drg.tolist() == ["871", "470", "795"]
    assert found.known.tolist() == [True, True, False]


def test_features_are_means_of_vectors_and_the_number_of_diagnoses(study: ModuleType) -> None:
    stays = Ragged.from_lists([[0], [0, 1], [1, 2, 0]])
    U = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]])
    X = study.features(stays, U)
    means = np.array([[1.0, 0.0], [0.5, 0.5], [4 / 3, 4 / 3]])
    np.testing.assert_allclose(X[:, :2] * means[1, 0] / X[1, 0], means)
    assert X[:, :2].var(0).sum() == pytest.approx(1)
    assert X[:, 2] == pytest.approx(np.log([1, 2, 3]) / np.log([1, 2, 3]).std())
