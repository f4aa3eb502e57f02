"""The whole study: the same for a seed, only unseen stays, and clear refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dx2px.cohort import Cohort, Split
from dx2px.errors import InputError
from dx2px.lab.faithfulness import StudyConfig, Subject, study
from dx2px.lab.faithfulness.markdown import markdown
from dx2px.lab.faithfulness.planted import Planted
from dx2px.lab.faithfulness.study import Stays
from dx2px.methods import recommender
from dx2px.training.run import learn

# The models learn for a moment only: the transport of a few of their stays does not converge.
pytestmark = pytest.mark.filterwarnings("ignore::dx2px.methods.paper.transport.ConvergenceWarning")
SMALL = StudyConfig(samples=60, seed=3)


@pytest.fixture(scope="module")
def record(world):
    return study([world.subject(name) for name in world.models], world.path, SMALL)


def test_it_has_all_parts_and_is_plain_json(record, world) -> None:
    json.dumps(record, allow_nan=False)
    assert record["cohort"]["asked"] == 60
    assert set(record["models"]) == set(world.models)
    for model in record["models"].values():
        assert {"accuracy", "deletion", "curves", "planted", "causes_first"} <= set(model)
        assert model["deletion"]["coded"]["leave-one-out"]["of_best"]["value"] == 1
    assert set(record["stability"]) == {"coupling"}
    assert "own plan" in record["models"]["relaxed"]["planted"]
    held = {name: set(model.get("background", {})) for name, model in record["models"].items()}
    assert held["default-0"] == {"significance", "share"}
    assert not held["paper"]
    assert 0 < record["models"]["default-0"]["background"]["share"] < 0.5
    assert "plan_settings" in record["models"]["paper"]
    by_penalty = {
        (f["diagnosis_penalty"], f["entropy"]): f["accuracy"] for f in record["models"]["paper"]["penalties"]
    }
    assert by_penalty[0.0, 0.05] > by_penalty[None, 0.0]


def test_a_seed_fixes_every_number(record, world) -> None:
    again = study([world.subject("default-0")], world.path, SMALL)
    assert again["models"]["default-0"] == record["models"]["default-0"]


def test_stays_are_unseen_and_the_background_is_what_was_learned(world) -> None:
    subject = world.subject("default-0")
    stays = Stays.of([subject], world.cohort, SMALL)
    split = Split.from_bytes(subject.files.split)
    assert set(stays.rows) <= set(split.test)
    assert stays.background.diagnoses.sum() == world.cohort.diagnoses.lengths[split.training(0)].sum()
    assert Stays.of([subject], world.cohort, replace(SMALL, seed=4)).rows.tolist() != stays.rows.tolist()


def test_another_cohort_has_deletion_but_no_truth(world, tmp_path) -> None:
    path = tmp_path / "other.parquet"
    world.cohort.subset(np.arange(200)).save(path)
    found = study([world.subject("default-0")], path, SMALL)
    assert found["cohort"]["own"] is False
    assert found["cohort"]["set_aside"]["stays"] == 200
    assert "planted" not in found["models"]["default-0"]
    assert "lift" not in found["models"]["default-0"]["deletion"]["coded"]


def test_a_stay_of_one_diagnosis_is_no_deletion(world, tmp_path) -> None:
    path = tmp_path / "one.parquet"
    codes = world.cohort.diagnosis_vocabulary[0], world.cohort.procedure_vocabulary[0]
    Cohort.from_lists([[codes[0]]], [[codes[1]]]).save(path)
    found = study([world.subject("default-0")], path, SMALL)
    assert found["models"]["default-0"]["deletion"] == {}


def test_a_model_that_looks_at_nothing_has_no_best_deletion(world) -> None:
    """Popularity recommends the same for every stay: no removal has an effect, so there is no share of it."""
    popular = learn(world.cohort, recommender("popularity"))
    found = study([Subject("popularity", popular.files())], world.path, SMALL)
    for one in found["models"]["popularity"]["deletion"]["coded"].values():
        assert one["fall"]["value"] == 0
        assert one["of_best"] is None
    assert "–" in markdown(found)


def test_a_sample_that_shows_nothing_is_refused(world) -> None:
    seeds = (StudyConfig(samples=1, seed=seed) for seed in range(100))
    alone = next(
        c for c in seeds if not _measurable(world, Stays.of([world.subject("default-0")], world.cohort, c))
    )
    with pytest.raises(InputError, match="too few stays"):
        study([world.subject("default-0")], world.path, alone)


def _measurable(world, stays) -> bool:
    planted = Planted.of(world.truth, world.cohort, stays.rows)
    return bool(planted.explained.any()) and planted.pairs.diagnoses.lengths[0] > 1


def test_models_that_cannot_be_compared_are_refused(world) -> None:
    subject = world.subject("default-0")
    with pytest.raises(InputError, match="same folder name"):
        study([subject, subject], world.path, SMALL)
    with pytest.raises(InputError, match="at least one model"):
        study([], world.path, SMALL)
    other = replace(
        subject, name="other", files=replace(subject.files, diagnoses=subject.files.diagnoses[::-1])
    )
    with pytest.raises(InputError, match="know different codes"):
        study([subject, other], world.path, SMALL)
    foreign = replace(subject, name="foreign", files=replace(subject.files, settings={}))
    with pytest.raises(InputError, match="Some of the models learned from this cohort"):
        study([subject, foreign], world.path, SMALL)
    whole = replace(subject, files=replace(subject.files, split=None))
    with pytest.raises(InputError, match="does not say how its cohort was split"):
        study([whole], world.path, SMALL)
    with pytest.raises(InputError, match="at least 1"):
        StudyConfig(samples=0)
