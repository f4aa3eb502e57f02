"""The estimator: scikit-learn's manners, and a planted answer."""

from __future__ import annotations

from typing import Any

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
    with pytest.raises(InputError, match="fit needs at least 10 stays, some of which validate; there are 1"):
        ProcedureRecommender().fit([["585.6"]], [["39.95"]])
    with pytest.raises(InputError, match="epochs must be a whole number, not 'two'"):
        ProcedureRecommender(epochs="two").fit([["585.6"]] * 10, [["39.95"]] * 10)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="call fit first"):
        ProcedureRecommender().predict([["585.6"]])
    with pytest.raises(InputError, match="1 of 2 stays have no diagnosis that the model knows"):
        fitted.predict_proba([["585.6"], ["250.00"]])
    assert fitted.score([["585.6"]], [["38.93"]]) == 0.0
    with pytest.raises(InputError, match="one list of codes per stay"):
        fitted.predict(["585.6"])
    with pytest.raises(InputError, match="procedures of the stays are missing"):
        ProcedureRecommender().fit([["585.6"]])


def test_stays_without_a_known_diagnosis_are_missed_and_counted(fitted: ProcedureRecommender) -> None:
    assert fitted.predict([["250.00"], ["585.6"]], top=1) == [[], ["icd9pcs:3995"]]
    alone = fitted.score([["585.6"]], [["39.95"]])
    assert fitted.score([["250.00"], ["585.6"]], [["39.95"], ["39.95"]]) == pytest.approx(alone / 2)
    assert fitted.score([["250.00"]], [["39.95"]]) == 0.0


def test_lists_a_series_and_a_frame_of_codes_are_one_thing(fitted: ProcedureRecommender) -> None:
    import pandas as pd

    X, y = planted(60)
    causes = [[code] for code, _ in PAIRS]
    lists = fitted.predict_proba(causes)
    assert np.array_equal(fitted.predict_proba(pd.Series(causes)), lists)
    names = [code for code, _ in PAIRS]
    hot = pd.DataFrame(np.eye(len(PAIRS), dtype=int), columns=names)
    assert np.array_equal(fitted.predict_proba(hot), lists)
    frame = pd.DataFrame({"diagnoses": X, "procedures": y})
    assert fitted.score(frame, frame) == fitted.score(X, y)
    with pytest.raises(InputError, match="needs names"):
        fitted.predict(hot.to_numpy())
    with pytest.raises(InputError, match="other values"):
        fitted.predict(hot * 2)
    named = ProcedureRecommender("popularity").fit(_hot(X), _hot(y))
    assert named.feature_names_in_.tolist() == list(_hot(X).columns)
    assert named.predict(_hot(X).to_numpy()) == named.predict(X)
    assert not hasattr(named.fit(X, y), "feature_names_in_")


def _hot(lists: list[list[str]]) -> Any:
    import pandas as pd

    return pd.get_dummies(pd.Series(lists).explode()).groupby(level=0).max()


def test_scikit_learn_validates_searches_and_pipes_it() -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = planted(120)
    estimator, folds = ProcedureRecommender("cooccurrence"), KFold(3)
    # Every procedure is among five: one hit among five recommendations and one recorded.
    assert cross_val_score(estimator, X, y, cv=folds) == pytest.approx([1 / 3] * 3)
    pipe = make_pipeline(FunctionTransformer(lambda stays: [[code] for code, _ in stays]), estimator)
    with pytest.raises(NotFittedError, match="not fitted"):
        pipe.predict(X)
    with pytest.raises(NotFittedError, match="call fit first"):
        estimator.predict(X)
    assert pipe.fit(X, y).predict([["585.6", "401.9"]])[0][0] == "icd9pcs:3995"

    def first_is_right(one: ProcedureRecommender, stays: Any, coded: Any) -> float:
        return float(np.mean([a == b for a, b in zip(one.predict(stays, 1), _canonical(coded), strict=True)]))

    search = GridSearchCV(
        estimator, {"method": ["popularity", "cooccurrence"]}, cv=folds, scoring=first_is_right
    )
    assert search.fit(X, y).best_params_ == {"method": "cooccurrence"}
    assert search.best_score_ == 1.0


def _canonical(lists: list[list[str]]) -> list[list[str]]:
    return [[f"icd9pcs:{code.replace('.', '')}" for code in codes] for codes in lists]


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learns_own_checks_pass_that_need_no_matrix_of_numbers(check: str) -> None:
    """The others learn from random numbers, which are no codes; the tag `two_d_array` says so."""
    from sklearn.utils import estimator_checks

    getattr(estimator_checks, check)("ProcedureRecommender", ProcedureRecommender())
