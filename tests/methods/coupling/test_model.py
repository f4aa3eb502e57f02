"""The default model from cohort to answer: it learns what was planted, saved and loaded it says the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dx2px.answers import Model
from dx2px.cohort import Cohort
from dx2px.lab.synthetic import PRESETS, generate
from dx2px.methods import recommender
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.coupling import CouplingScorer
from dx2px.training.run import Trained, learn


@pytest.fixture(scope="module")
def planted() -> tuple[Cohort, object]:
    from dataclasses import replace

    return generate(replace(PRESETS["small"], stays=6000), seed=3)


@pytest.fixture(scope="module")
def trained(planted: tuple[Cohort, object]) -> Trained:
    config = CouplingTraining(epochs=10, model=CouplingConfig(dim=48))
    return learn(planted[0], CouplingModel(config), seed=1, threads=1)


@pytest.fixture(scope="module")
def loaded(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("coupling") / "model"
    trained.save(folder)
    return Model.load(folder)


def test_it_is_far_ahead_of_popularity(trained: Trained) -> None:
    popular = learn(trained.cohort, recommender("popularity")).evaluate("test").mean("f1")
    ours = trained.evaluate("test").mean("f1")
    assert all(ours[at] > 1.5 * popular[at] for at in (1, 3, 5))


def test_saved_and_loaded_it_scores_the_same_without_torch(trained: Trained, loaded: Model) -> None:
    stays = stay_rows(loaded.scorer, trained.stays("test"))
    assert np.array_equal(loaded.scorer.scores(stays), trained.scorer.scores(stays))


def test_the_arrays_kept_are_the_same_however_often_they_are_asked_for(trained: Trained) -> None:
    first, second = trained.recommender.arrays(), trained.recommender.arrays()
    evidence = {f"{kind}_{array}" for kind in ("coded", "context", "principal") for array in "Us"}
    levels = {"beside_a", "beside_A", "beside_B"} & first.keys()  # kept if validation gains
    assert first.keys() == {"U", "V", "G", "g", "s", "b", *evidence, *levels}
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_shares_are_the_models_own_weights_and_name_the_planted_cause(
    planted: tuple[Cohort, object], loaded: Model
) -> None:
    cohort, truth = planted
    scorer = loaded.scorer
    assert isinstance(scorer, CouplingScorer)
    rows = stay_rows(scorer, cohort)
    pi = scorer.coupling(rows)  # (n, p)
    row = cohort.procedures.row_of_entry
    starts, widths = rows.offsets[:-1][row], cohort.diagnoses.lengths[row]  # the diagnoses come first
    flat = np.concatenate(
        [
            pi[start : start + width, p]
            for start, width, p in zip(starts, widths, cohort.procedures.values, strict=True)
        ]
    )
    best = truth.top1_accuracy(truth.posterior)  # type: ignore[attr-defined]
    assert truth.top1_accuracy(flat) >= 0.95 * best  # type: ignore[attr-defined]


def test_the_score_is_the_sum_of_its_reasons(trained: Trained, loaded: Model) -> None:
    scorer = loaded.scorer
    assert isinstance(scorer, CouplingScorer)
    stays = stay_rows(scorer, trained.stays("test")).take(np.arange(50))
    pi = scorer.coupling(stays)
    np.testing.assert_allclose(np.add.reduceat(pi.sum(axis=1), stays.offsets[:-1]), 1.0, rtol=1e-9)
    scores = scorer.scores(stays).astype(np.float64)
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.add.reduceat(pi, stays.offsets[:-1], axis=0), softmax, rtol=1e-4)
    np.testing.assert_allclose(scorer.significance(stays), pi.sum(axis=1), rtol=1e-5)


def test_a_stays_answer_does_not_depend_on_the_other_stays(trained: Trained, loaded: Model) -> None:
    stays = stay_rows(loaded.scorer, trained.stays("test")).take(np.arange(700))
    together = loaded.scorer.scores(stays)
    for i in (0, 255, 256, 699):
        assert np.array_equal(loaded.scorer.scores(stays.take(np.array([i])))[0], together[i])


def test_recommended_with_the_models_own_shares(trained: Trained, loaded: Model) -> None:
    cohort = trained.stays("test")
    row = int(np.argmax(cohort.diagnoses.lengths))
    answer = loaded.recommend(cohort.diagnoses_of(row), top=3)
    assert [one.kind for one in answer.evidence] == ["background"]
    assert sum(one.significance for one in (*answer.diagnoses, *answer.evidence)) == pytest.approx(1.0)
    scorer = loaded.scorer
    assert isinstance(scorer, CouplingScorer)
    pi = scorer.coupling(stay_rows(scorer, cohort.subset([row]), "codes"))
    for one in answer.recommendations:
        column = pi[:, loaded.procedures.vocabulary.index(one.code)]
        assert sum(reason.share for reason in one.because) == pytest.approx(1.0)
        assert one.because[0].share == pytest.approx(column.max() / column.sum())


def test_a_run_stopped_and_resumed_equals_an_undisturbed_one(
    planted: tuple[Cohort, object], tmp_path: Path
) -> None:
    from dx2px.training.loop import Hooks

    cohort = planted[0].subset(np.arange(900))
    config = CouplingTraining(epochs=3, model=CouplingConfig(dim=8))
    whole = learn(cohort, CouplingModel(config), threads=1)
    steps = iter(range(100))
    stopped = CouplingModel(config, checkpoint=tmp_path / "c", hooks=Hooks(stop=lambda: next(steps) == 4))
    learn(cohort, stopped, threads=1)
    assert stopped.outcome is not None
    assert not stopped.outcome.finished
    resumed = learn(cohort, CouplingModel(config, checkpoint=tmp_path / "c", resume=True), threads=1)
    left, right = whole.recommender.arrays(), resumed.recommender.arrays()
    assert all(np.array_equal(left[name], right[name]) for name in left)
