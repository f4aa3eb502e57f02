"""The estimator: scikit-learn's manners, and a planted answer."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px import InputError
from dx2px.methods.estimator import ProcedureRecommender

PAIRS = [("585.6", "39.95"), ("427.5", "99.60"), ("540.9", "47.01"), ("574.10", "51.23"), ("820.21", "79.35")]


def planted(stays: int = 600) -> tuple[list[list[str]], list[list[str]]]:
    """Each stay has one cause and a bystander; the procedure follows the cause."""
    rng = np.random.default_rng(0)
    causes = rng.integers(0, len(PAIRS), stays)
    return [[PAIRS[c][0], "401.9"] for c in causes], [[PAIRS[c][1]] for c in causes]


@pytest.fixture(scope="module")
def fitted() -> ProcedureRecommender:
    return ProcedureRecommender(dim=16, heads=2, epochs=30, batch_size=50, lr=0.01).fit(*planted())


def test_it_finds_what_was_planted(fitted: ProcedureRecommender) -> None:
    for diagnosis, procedure in PAIRS:
        assert fitted.predict([[diagnosis, "4019"]], top=1) == [[f"icd9pcs:{procedure.replace('.', '')}"]]
    probabilities = fitted.predict_proba([["585.6"]])
    assert probabilities.shape == (1, len(fitted.classes_))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert fitted.score(*planted(50)) == pytest.approx(
        1 / 3, abs=0.01
    )  # one hit among five: F1 = 2·(1/5)/(1/5 + 1)


def test_parameters_are_those_of_the_constructor() -> None:
    from sklearn.base import clone

    recommender = ProcedureRecommender(dim=50)
    assert recommender.get_params()["dim"] == 50
    assert recommender.set_params(alpha=0.5).alpha == 0.5
    assert clone(recommender).get_params() == recommender.get_params()
    with pytest.raises(InputError, match="no parameter colour"):
        recommender.set_params(colour=1)


def test_what_cannot_be_asked_is_said(fitted: ProcedureRecommender) -> None:
    with pytest.raises(InputError, match="call fit first"):
        ProcedureRecommender().predict([["585.6"]])
    with pytest.raises(InputError, match="1 of 2 stays have no diagnosis that the model knows"):
        fitted.predict_proba([["585.6"], ["250.00"]])
    assert fitted.score([["585.6"]], [["38.93"]]) == 0.0
