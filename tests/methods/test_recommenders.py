"""What every method promises: it learns, keeps to its seed, knows what it has not seen, and survives saving."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dx2px.cohort import Ragged
from dx2px.errors import InputError
from dx2px.methods import learner_class, recommender
from dx2px.methods.baseline import Baseline
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.folder import ModelFiles, read_folder, write_folder
from dx2px.scoring.methods import METHODS
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.scorer import rank
from dx2px.training.recommender import Recommender

Get = Callable[..., Recommender]
BY_DISTANCE = ("dwl", "gwl")
BASELINES = [name for name in METHODS if issubclass(learner_class(name), Baseline)]
LEARNING = [name for name in METHODS if name != "popularity"]
DRAWING = ["word2vec", "bpr", "dwl", "gwl", "mlp"]


def test_every_declaration_leads_to_a_learner_of_its_name() -> None:
    assert BASELINES == ["popularity", "cooccurrence", "word2vec", "bpr", "dwl", "gwl", "linear", "mlp"]
    assert all(recommender(name).method == name for name in METHODS)
    with pytest.raises(InputError, match="There is no method 'oracle'; choose from popularity"):
        recommender("oracle")
    for name in ("linear", "coupling"):
        with pytest.raises(InputError, match=f"The method {name} has no setting heads"):
            recommender(name, heads=3, epochs=None)


@pytest.mark.parametrize("name", LEARNING)
def test_the_linked_procedure_comes_first_for_a_diagnosis_alone(
    planted: Any, clear: Any, fitted: Get, name: str
) -> None:
    cohort = clear if name in BY_DISTANCE else planted
    scores = fitted(name, cohort).scores(cohort.single)
    assert scores.dtype == np.float32
    assert scores.argmax(axis=1).tolist() == list(range(12))


@pytest.mark.parametrize("name", LEARNING)
def test_both_linked_procedures_lead_for_two_diagnoses(
    planted: Any, clear: Any, fitted: Get, name: str
) -> None:
    cohort = clear if name in BY_DISTANCE else planted
    stays = cohort.cohort.subset(cohort.validation[:-1])
    truth = Ragged(np.arange(0, 2 * len(stays) + 1, 2), stays.diagnoses.values)
    found = evaluate(fitted(name, cohort).scores, stays.diagnoses, truth, at=(2,))
    # A distance of 1/(1 + w) tells GWL less of w, the larger w is.
    assert found.mean("recall")[2] > (85 if name == "gwl" else 95)


@pytest.mark.parametrize("name", DRAWING)
def test_a_seed_gives_the_same_arrays_and_another_seed_others(
    planted: Any, fitted: Get, quick: Mapping[str, Any], name: str
) -> None:
    first, again, other = (
        method.arrays()
        for method in (fitted(name), planted.fit(quick[name]()), planted.fit(quick[name](), seed=1))
    )
    assert all(np.array_equal(first[key], again[key]) for key in first)
    assert any(not np.array_equal(first[key], other[key]) for key in first)


@pytest.mark.parametrize("name", BASELINES)
def test_unseen_diagnoses_are_left_out_and_alone_bring_popularity(
    planted: Any, fitted: Get, name: str
) -> None:
    new = planted.stranger
    with_it = fitted(name).scores(Ragged.from_lists([[3, new], [new], [new, 1, 2], []]))
    without = fitted(name).scores(Ragged.from_lists([[3], [1, 2]]))
    np.testing.assert_allclose(with_it[[0, 2]], without, rtol=1e-6)
    popularity = planted.cohort.subset(planted.training).procedure_counts
    assert np.array_equal(with_it[1], popularity)
    assert np.array_equal(with_it[3], popularity)


def files_of(planted: Any, method: Recommender) -> ModelFiles:
    return ModelFiles(
        method=method.method,
        settings=method.settings(),
        diagnoses=planted.cohort.diagnosis_vocabulary.codes,
        procedures=planted.cohort.procedure_vocabulary.codes,
        arrays=method.arrays(),
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
    )


@pytest.mark.parametrize("name", METHODS)
def test_a_saved_and_reloaded_model_scores_the_same_to_the_bit(
    planted: Any, fitted: Get, name: str, tmp_path: Path
) -> None:
    """What is measured while learning is what a saved model answers."""
    write_folder(tmp_path / "model", files_of(planted, fitted(name)))
    read = read_folder(tmp_path / "model")
    stays = stay_rows(read.scorer(), planted.cohort, "codes")
    ours, theirs = fitted(name).scores(planted.cohort.diagnoses), read.scorer().scores(stays)
    assert theirs.dtype == np.float32
    assert np.array_equal(theirs, ours)
    assert all(np.array_equal(read.arrays[key], array) for key, array in fitted(name).arrays().items())
    found = rank(read.scorer(), stays, top=3)
    assert np.array_equal(found.scores, np.sort(theirs, axis=1)[:, ::-1][:, :3])


@pytest.mark.parametrize("name", BASELINES)
def test_saved_models_weigh_seen_diagnoses_alike(planted: Any, fitted: Get, name: str) -> None:
    scorer, new = files_of(planted, fitted(name)).scorer(), planted.stranger
    weights = scorer.significance(Ragged.from_lists([[3, new, 5], [new], [1]]))
    assert weights.tolist() == [0.5, 0.0, 0.5, 1.0, 1.0]
    unseen = scorer.scores(Ragged.from_lists([[new], []]))
    assert np.array_equal(unseen[0], unseen[1])
    for ask in (scorer.scores, scorer.significance):
        with pytest.raises(InputError, match="numbered 0 to 12"):
            ask(Ragged.from_lists([[13]]))


@pytest.mark.parametrize("name", BASELINES)
def test_settings_are_json_and_name_the_seed_where_there_is_one(fitted: Get, name: str) -> None:
    settings = json.loads(json.dumps(fitted(name).settings(), allow_nan=False))
    assert (settings.get("seed") == 0) == (name in DRAWING)


@pytest.mark.parametrize("name", BASELINES)
def test_before_fitting_and_without_stays_there_is_a_sentence(planted: Any, quick: Any, name: str) -> None:
    with pytest.raises(InputError, match=f"method {name} has learned nothing yet"):
        quick[name]().scores(planted.single)
    with pytest.raises(InputError, match="no training stays"):
        quick[name]().fit(planted.cohort, planted.training[:0], planted.validation)
    if name != "popularity":
        with pytest.raises(InputError, match="no validation stays"):
            quick[name]().fit(planted.cohort, planted.training, planted.validation[:0])
