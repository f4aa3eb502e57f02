"""The default model: its coupling against plain loops, its gradient, its draws, its silence about codes never seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dx2px import InputError
from dx2px.methods.coupling.entries import Entries
from dx2px.methods.coupling.network import UNSEEN, CouplingConfig, CouplingNetwork
from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer

Categories = tuple[np.ndarray, np.ndarray]
STAYS = Ragged.from_lists([[0, 2, 3], [1], [4, 0]])
CODED = Ragged.from_lists([[1, 5], [0], [2, 3, 4]])
CATEGORIES = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 2])
SEEN = np.array([3, 1, 2, 1, 1])


def network(
    categories: Categories | None = None, seen: np.ndarray = SEEN, **settings: float
) -> CouplingNetwork:
    config = CouplingConfig(dim=4, init_scale=0.7, **settings)  # type: ignore[arg-type]
    made = CouplingNetwork(5, 6, config, categories)
    made.init(torch.Generator().manual_seed(1), seen, np.full(6, 0.2))
    with torch.no_grad():
        for name in ("g", "s", "t"):
            if hasattr(made, name):
                made.get_parameter(name).normal_(0, 0.5, generator=torch.Generator().manual_seed(2))
    return made.double()


def scores(model: CouplingNetwork, stays: Ragged) -> torch.Tensor:
    return model.totals(Entries.of(stays, torch.device("cpu")))


def by_loops(model: CouplingNetwork, stay: list[int]) -> np.ndarray:
    """exp(h_d·v_p + s_d + b_p) of one stay, written out, (d, p)."""
    U, V, s = (x.detach().numpy() for x in model.folded())
    G, g, b = (model.get_parameter(name).detach().numpy() for name in "Ggb")
    c = sum(U[d] for d in stay) / math.sqrt(len(stay))
    gate = [1 + math.tanh(sum(G[m][k] * c[k] for k in range(4)) + g[m]) for m in range(4)]
    return np.array(
        [
            [math.exp(sum(U[d][m] * gate[m] * V[p][m] for m in range(4)) + s[d] + b[p]) for p in range(6)]
            for d in stay
        ]
    )


@pytest.mark.parametrize("categories", [None, CATEGORIES])
def test_scores_are_the_logarithms_of_the_couplings_columns(categories: Categories | None) -> None:
    model = network(categories)
    found = scores(model, STAYS).detach().numpy()
    for i, stay in enumerate(STAYS):
        np.testing.assert_allclose(found[i], np.log(by_loops(model, list(stay)).sum(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("categories", [None, CATEGORIES])
def test_the_formula_for_gradients_is_the_one_that_answers(categories: Categories | None) -> None:
    """Torch while it learns, numpy when it answers: the same scores, and the same gate and terms behind them."""
    model = network(categories)
    arrays = {name: array.numpy().astype(np.float32) for name, array in model.arrays().items()}
    scorer = CouplingScorer(arrays)
    np.testing.assert_allclose(scorer.scores(STAYS), scores(model, STAYS).detach(), rtol=1e-5)
    pairs = model.pairs(Entries.of(STAYS, torch.device("cpu"))).detach()
    np.testing.assert_allclose(scorer.pairs(STAYS), pairs, rtol=1e-5, atol=1e-6)


def test_the_loss_is_the_weighted_surprise_of_the_coded_procedures() -> None:
    model = network(balance=2.0)
    expected = 0.0
    for stay, coded in zip(STAYS, CODED, strict=True):
        columns = by_loops(model, list(stay)).sum(axis=0)
        weight = 3.0 / (2.0 + len(coded))
        expected -= weight * sum(math.log(columns[p] / columns.sum()) for p in coded)
    assert model.loss(STAYS, CODED).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("categories", [None, CATEGORIES])
def test_gradients_by_finite_differences(categories: Categories | None) -> None:
    model = network(categories)
    names = [name for name, _ in model.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (STAYS, CODED))

    model.forward = model.loss  # type: ignore[method-assign]
    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), atol=1e-6)


def test_the_order_of_diagnoses_changes_nothing() -> None:
    model = network()
    turned = Ragged.from_lists([list(stay)[::-1] for stay in STAYS])
    torch.testing.assert_close(scores(model, STAYS), scores(model, turned))


def test_a_stay_is_scored_alike_alone_and_among_others() -> None:
    model = network()
    alone = torch.cat([scores(model, Ragged.from_lists([list(stay)])) for stay in STAYS])
    torch.testing.assert_close(scores(model, STAYS), alone)


def test_a_code_never_seen_is_silent_and_alone_leaves_the_popular_procedures() -> None:
    model = network(seen=np.array([3, 1, 2, 1, 0]))
    with torch.no_grad():
        model.s.zero_()
        model.s[4] = UNSEEN
    assert not model.U[4].any()
    alone, with_it = (scores(model, Ragged.from_lists([stay])) for stay in ([4], [4, 0]))
    torch.testing.assert_close(alone[0] - alone[0, 0], model.b - model.b[0])
    pairs = model.pairs(Entries.of(Ragged.from_lists([[4, 0]]), torch.device("cpu")))
    assert pairs[0].exp().max() < 1e-3 * pairs[1].exp().min()
    assert with_it.isfinite().all()


def test_a_code_never_seen_takes_its_categorys_part_where_a_sibling_was_seen() -> None:
    model = network(CATEGORIES, seen=np.array([3, 1, 2, 1, 0]))
    U = model.folded()[0]
    torch.testing.assert_close(U[4], model.S[2])
    assert model.s[4] != UNSEEN


def test_thinning_leaves_every_stay_a_diagnosis_and_about_the_share_asked_for() -> None:
    rows = Entries.of(Ragged.from_lists([[1]] * 500 + [list(range(10))] * 500), torch.device("cpu"))
    thin = rows.thinned(0.3, torch.Generator().manual_seed(0))
    assert (thin.lengths >= 1).all()
    assert thin.lengths[:500].eq(1).all()
    assert thin.lengths[500:].mean() == pytest.approx(7.0, abs=0.2)
    assert thin.offsets[-1] == len(thin.codes) == len(thin.row)
    assert (thin.row.diff() >= 0).all()


def test_dropout_keeps_the_mean_and_depends_on_the_generator_alone() -> None:
    model = network(dropout=0.5, diagnosis_dropout=0.0)
    rows = Entries.of(STAYS, torch.device("cpu"))
    draws = [model.pairs(rows, torch.Generator().manual_seed(seed)) for seed in range(4000)]
    torch.testing.assert_close(sum(draws) / len(draws), model.pairs(rows), atol=0.1, rtol=0.0)
    torch.testing.assert_close(draws[7], model.pairs(rows, torch.Generator().manual_seed(7)))
    assert not torch.equal(draws[0], draws[1])


def test_scores_far_apart_stay_finite() -> None:
    model = network()
    with torch.no_grad():
        model.s[0], model.V[:] = 300.0, 40.0
    assert scores(model, STAYS).isfinite().all()
    assert model.loss(STAYS, CODED).isfinite()


def test_all_bad_settings_are_named_at_once() -> None:
    with pytest.raises(InputError, match=r"dim .*; dropout .*; balance") as error:
        CouplingConfig(dim=0, dropout=1.0, balance=0.0)
    assert "diagnosis dropout" not in str(error.value)


def test_threads_change_no_bit_of_the_gradient() -> None:
    """Where several entries add to one row, threads must not do so in the order in which they happen to come."""
    rng = np.random.default_rng(0)
    stays = Ragged.from_lists([rng.choice(300, 12, replace=False).tolist() for _ in range(200)])
    coded = Ragged.from_lists([rng.choice(50, 3, replace=False).tolist() for _ in range(200)])
    config = CouplingConfig(dim=200)
    model = CouplingNetwork(300, 50, config, (np.arange(300) % 7, np.arange(50) % 3))
    model.init(torch.Generator().manual_seed(1), np.ones(300, np.int64), np.full(50, 0.1))

    def gradient(threads: int) -> torch.Tensor:
        torch.set_num_threads(threads)
        parts = torch.autograd.grad(model.loss(stays, coded), list(model.parameters()))
        return torch.cat([part.reshape(-1) for part in parts])

    before = torch.get_num_threads()
    try:
        several = [gradient(4) for _ in range(8)]
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, several[0]) for one in several)
