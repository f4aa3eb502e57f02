"""Scores in numpy: against a literal loop over the equations, and against the torch model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.errors import InputError, ModelError
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.scoring import attention as module
from dx2px.scoring.attention import AttentionScorer
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.factor import Factor
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS as DECLARED
from dx2px.scoring.methods import VARIANTS as METHODS
from dx2px.scoring.ranking import top_l
from dx2px.scoring.scorer import rank

Arrays = dict[str, NDArray[np.float32]]


def random_arrays(
    method: str, D: int, P: int, M: int = 16, K: int = 4, scale: float = 1.0, seed: int = 0
) -> Arrays:
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"U": (D, M), "V": (P, M)}
    if "+sa" in method:
        shapes |= {"A": (K, M, M), "a": (K, M), "B": (K, K), "b": (K,)}
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: array * scale if name in "aBb" else array for name, array in arrays.items()}


def random_stays(count: int, D: int, longest: int, seed: int = 0) -> Ragged:
    rng = np.random.default_rng(seed)
    sizes = np.concatenate([[1, longest], rng.integers(1, longest + 1, count - 2)])
    return Ragged.from_lists(rng.choice(D, size, replace=False) for size in sizes)


def stretched(x: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def literal(arrays: Arrays, stay: NDArray[np.int32], pooling: str = "max") -> tuple[Any, Any]:
    """μ and the scores of one stay, as the equations read, in double precision."""
    p = {name: array.astype(np.float64) for name, array in arrays.items()}
    U_D = p["U"][stay].T  # (M, |D|)
    if "A" in p:
        heads = range(len(p["A"]))
        W = np.stack([stretched(p["a"][k] @ np.tanh(p["A"][k] @ U_D)) for k in heads])  # eq 3
        mu = stretched(p["b"] @ np.tanh(p["B"] @ W))  # eq 4
    else:
        mu = np.full(len(stay), 1 / len(stay))
    f = U_D.max(axis=1) if "A" not in p and pooling == "max" else U_D @ mu
    return mu, p["V"] @ f


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [0, 10**6])  # vectors fused first, then compared; rows of UVᵀ added up
def test_scores_and_significance_are_those_of_the_equations(
    monkeypatch: pytest.MonkeyPatch, method: str, limit: int
) -> None:
    monkeypatch.setattr(module, "_TABLE_LIMIT", limit)
    arrays, stays = random_arrays(method, 300, 90), random_stays(300, 300, 41)
    scorer = AttentionScorer(arrays)
    mu, scores = scorer.significance(stays), scorer.scores(stays)
    assert mu.dtype == scores.dtype == np.float32
    for row in range(len(stays)):
        expected_mu, expected = literal(arrays, stays[row])
        np.testing.assert_allclose(mu[stays.offsets[row] : stays.offsets[row + 1]], expected_mu, atol=1e-6)
        np.testing.assert_allclose(scores[row], expected, rtol=1e-5, atol=2e-5)


def test_mean_pooling() -> None:
    arrays, stays = random_arrays("e+pooling", 30, 9), random_stays(50, 30, 10)
    scores = AttentionScorer(arrays, "mean").scores(stays)
    expected = [literal(arrays, stays[row], "mean")[1] for row in range(50)]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_torch_model_says_the_same(method: str) -> None:
    arrays, stays = random_arrays(method, 80, 30), random_stays(200, 80, 20)
    network = PaperNetwork(80, 30, PaperConfig(variant=method, dim=16, heads=4))  # type: ignore[arg-type]
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    scorer, rows = AttentionScorer(arrays), stays
    with torch.no_grad():
        probabilities = network(rows).numpy()
        mu = network.significance(rows).numpy()
    np.testing.assert_allclose(1 / (1 + np.exp(-scorer.scores(stays))), probabilities, atol=1e-5)
    np.testing.assert_allclose(scorer.significance(stays), mu, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_diagnoses_changes_nothing(method: str) -> None:
    scorer, stays = AttentionScorer(random_arrays(method, 50, 12)), random_stays(60, 50, 12)
    turned = Ragged.from_lists(stays[row][::-1] for row in range(60))
    np.testing.assert_allclose(scorer.scores(turned), scorer.scores(stays), atol=1e-5)
    mu, back = scorer.significance(stays), scorer.significance(turned)
    for row in range(60):
        span = slice(stays.offsets[row], stays.offsets[row + 1])
        np.testing.assert_allclose(back[span][::-1], mu[span], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_significance_sums_to_one_and_is_one_for_a_single_diagnosis(method: str) -> None:
    scorer, stays = AttentionScorer(random_arrays(method, 50, 12)), random_stays(60, 50, 12)
    sums = np.add.reduceat(scorer.significance(stays), stays.offsets[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-6)
    single = Ragged.from_lists([[7]])
    assert scorer.significance(single).tolist() == [1.0]
    np.testing.assert_allclose(scorer.scores(single)[0], scorer.V @ scorer.U[7], atol=1e-5)


def test_attention_that_is_all_but_certain_stays_finite() -> None:
    arrays, stays = random_arrays("e+sa", 60, 20, scale=100.0), random_stays(100, 60, 20)
    scorer = AttentionScorer(arrays)
    assert scorer.attention is not None
    assert scorer.attention.exponentials is None
    mu, expected = scorer.significance(stays), [literal(arrays, stays[row])[0] for row in range(100)]
    assert np.isfinite(mu).all()
    np.testing.assert_allclose(mu, np.concatenate(expected), atol=2e-3)


@pytest.mark.parametrize("method", ["e+pooling", "e+sa+ma"])
def test_many_stays_are_scored_as_each_alone(method: str) -> None:
    count = 2 * module.BLOCK + 77
    scorer, stays = AttentionScorer(random_arrays(method, 60, 20)), random_stays(count, 60, 15)
    together = scorer.scores(stays)
    for row in (0, 1, module.BLOCK - 1, module.BLOCK, count - 1):
        alone = scorer.scores(Ragged.from_lists([stays[row]]))[0]
        np.testing.assert_allclose(together[row], alone, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_best_are_ranked_in_order_whatever_the_threads(threads: int) -> None:
    scorer, stays = AttentionScorer(random_arrays("e+sa+ma", 60, 20)), random_stays(3000, 60, 15)
    ranked, scores = rank(scorer, stays, 10, threads), scorer.scores(stays)
    assert np.array_equal(ranked.procedures, top_l(scores, 10))
    assert np.array_equal(ranked.scores, -np.sort(-scores, axis=1)[:, :10])
    assert rank(scorer, Ragged.from_lists([]), 10).procedures.shape == (0, 10)


def test_a_stay_without_diagnoses_is_refused() -> None:
    scorer = AttentionScorer(random_arrays("e+sa", 10, 4))
    for ask in (scorer.scores, scorer.significance):
        with pytest.raises(InputError, match="1 stays have no diagnosis"):
            ask(Ragged.from_lists([[1], [], [2]]))
        with pytest.raises(InputError, match="numbered 0 to 9"):
            ask(Ragged.from_lists([[1], [10]]))


def files(method: str, settings: dict[str, Any]) -> ModelFiles:
    arrays = random_arrays(method, 10, 4)
    return ModelFiles(method, settings, (), (), arrays, None, "")


def test_the_method_and_its_settings_choose_the_scorer() -> None:
    row = Ragged.from_lists([[1, 2, 3]])
    for method in METHODS:
        expected = AttentionScorer(random_arrays(method, 10, 4)).scores(row)
        assert np.array_equal(files(method, {}).scorer().scores(row), expected)
    mean = files("e+ma", {"model": {"pooling": "mean"}}).scorer()
    assert not np.allclose(mean.scores(row), files("e+ma", {}).scorer().scores(row))
    with pytest.raises(ModelError, match="pooling must be max or mean, not 'min'"):
        files("e+ma", {"model": {"pooling": "min"}}).scorer()
    with pytest.raises(ModelError, match="method 'oracle' cannot recommend"):
        ModelFiles("oracle", {}, (), (), {}, None, "").scorer()
    arrays = {name: np.ones((2, 2)[: len(axes)], np.float32) for name, axes in DECLARED["gwl"].arrays.items()}
    with pytest.raises(ModelError, match="sigma is negative"):
        ModelFiles("gwl", {}, (), (), arrays | {"sigma": np.float32(-1)}, None, "").scorer()


def test_large_products_are_made_at_once() -> None:
    rng = np.random.default_rng(0)
    for columns in (3, 300, 90_000):
        left, right = (
            rng.standard_normal((29, 4)).astype(np.float32),
            rng.standard_normal((4, columns)).astype(np.float32),
        )
        np.testing.assert_allclose(left @ Factor(right), left @ right, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 3), (200, 75), (200, 258), (819, 16), (3000, 20)])
def test_a_rows_product_is_the_same_wherever_it_stands(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    factor = Factor(rng.standard_normal(shape, np.float32))
    left = rng.standard_normal((61, shape[0]), np.float32)
    together, order = left @ factor, rng.permutation(61)
    assert np.array_equal(left[order] @ factor, together[order])
    for row in (0, 15, 16, 60):
        assert np.array_equal((left[row : row + 1] @ factor)[0], together[row])


def test_a_blas_that_depends_on_the_place_multiplies_in_double_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    right, left = rng.standard_normal((200, 75), np.float32), rng.standard_normal((37, 200), np.float32)
    monkeypatch.setattr(Factor, "_same", lambda factor, height: False)
    exact = (left.astype(np.float64) @ right.astype(np.float64)).astype(np.float32)
    assert np.array_equal(left @ Factor(right), exact)


def test_the_default_methods_scorer_refuses_empty_stays_and_strange_codes() -> None:
    scorer = coupling_scorer()
    with pytest.raises(InputError, match="1 stays have no diagnosis"):
        scorer.scores(Ragged.from_lists([[0], []]))
    for strange in ([5], [-1]):
        with pytest.raises(InputError, match="numbered 0 to 4"):
            scorer.significance(Ragged.from_lists([strange]))
    assert scorer.scores(Ragged.from_lists([])).shape == (0, 3)


def test_a_kept_stay_is_answered_like_a_new_one() -> None:
    scorer, stays = coupling_scorer(), [Ragged.from_lists([[0, 3]]), Ragged.from_lists([[1, 4, 2]])]
    for stay in (*stays, stays[0]):
        again = Ragged(stay.offsets, stay.values)
        first = scorer.scores(stay), scorer.significance(stay), scorer.coupling(stay)
        for one, other in zip(
            first, (f(again) for f in (scorer.scores, scorer.significance, scorer.coupling)), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_a_stay_alone_is_answered_as_among_others_to_the_bit() -> None:
    scorer, stays = coupling_scorer(50, 300, 200), random_stays(40, 50, 25)
    scores, weights, plans = scorer.scores(stays), scorer.significance(stays), scorer.coupling(stays)
    for row in range(len(stays)):
        alone, span = Ragged.from_lists([stays[row]]), slice(*stays.offsets[row : row + 2])
        np.testing.assert_array_equal(scorer.scores(alone)[0], scores[row])
        np.testing.assert_array_equal(scorer.significance(alone), weights[span])
        np.testing.assert_array_equal(scorer.coupling(alone), plans[span])


def coupling_scorer(D: int = 5, P: int = 3, M: int = 4) -> CouplingScorer:
    rng = np.random.default_rng(0)
    shapes = {"U": (D, M), "V": (P, M), "G": (M, M), "g": (M,), "s": (D,), "b": (P,)}
    return CouplingScorer(
        {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    )
