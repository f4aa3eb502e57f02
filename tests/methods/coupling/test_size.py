"""Settings that follow the number of training stays: what is set stays, the rest is chosen once the stays are known."""

from __future__ import annotations

import pytest

from dx2px import CouplingConfig, CouplingTraining
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods import recommender
from dx2px.methods.coupling import CouplingModel
from dx2px.methods.coupling.size import batch_size, dropout
from dx2px.training.learned import LearnedModel
from dx2px.training.run import SplitConfig, learn


@pytest.mark.parametrize(
    ("stays", "batch", "share"),
    [
        (1, 1, 0.6),
        (216, 27, 0.6),
        (2_399, 299, 0.6),
        (2_400, 300, 0.6),
        (9_999, 300, 0.6),
        (10_000, 300, 0.4),
        (53_366, 300, 0.4),
    ],
)
def test_small_cohorts_have_small_batches_and_more_dropout(stays: int, batch: int, share: float) -> None:
    assert (batch_size(stays), dropout(stays)) == (batch, share)
    chosen = CouplingTraining().for_stays(stays)
    assert (chosen.batch_size, chosen.model.dropout) == (batch, share)


def test_what_is_set_is_kept() -> None:
    asked = CouplingTraining(batch_size=300, model=CouplingConfig(dropout=0.4))
    assert asked.for_stays(216) == asked
    partly = CouplingTraining(batch_size=50).for_stays(216)
    assert (partly.batch_size, partly.model.dropout) == (50, 0.6)
    no_dropout = CouplingTraining(model=CouplingConfig(dropout=0.0)).for_stays(216)
    assert (no_dropout.batch_size, no_dropout.model.dropout) == (27, 0.0)


def test_options_of_train_are_kept_too() -> None:
    made = recommender("coupling", batch_size=300)
    assert isinstance(made, LearnedModel)
    assert made.settings_for(216, seed=0)["batch_size"] == 300


def test_a_trained_model_records_what_was_chosen_and_another_cohort_gets_its_own() -> None:
    model = CouplingModel(CouplingTraining(epochs=1, model=CouplingConfig(dim=4)))
    for stays, batch in ((400, 400 * 0.72 // 8), (200, 200 * 0.72 // 8)):
        learn(generate(SyntheticConfig(stays=stays))[0], model, SplitConfig(by="stay"), threads=1)
        found = model.settings()
        assert (found["batch_size"], found["model"]["dropout"]) == (batch, 0.6)
        assert len(model.history) == 1
