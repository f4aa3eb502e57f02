"""Lazy Adam against plain Adam: the same weights, whatever rows are touched when.

They differ by what ε does to rows in waiting; most tests make ε vanish, and so ask for the same to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dx2px.errors import InputError
from dx2px.model.adam import AdamConfig, FlatAdam
from dx2px.model.batch import Batch
from dx2px.model.lazy_adam import LAZY_FROM, LazyAdam
from dx2px.model.network import InitConfig, ModelConfig, Network
from dx2px.model.step import Stepper

SIZES = 40, 30
EXACT = AdamConfig(lr=0.01, eps=1e-20)


def network(dtype: torch.dtype = torch.float64) -> Network:
    made = Network(*SIZES, ModelConfig(variant="e+sa+ma", dim=4, heads=2), dtype)
    return made.init(torch.Generator().manual_seed(1), InitConfig("normal", 0.1))


class Pair:
    """Both optimisers, given the same gradients."""

    def __init__(self, config: AdamConfig = EXACT, dtype: torch.dtype = torch.float64) -> None:
        self.plain, self.lazy = FlatAdam(network(dtype), config), LazyAdam(network(dtype), config)
        self.rng = np.random.default_rng(3)

    def step(self, rows: dict[str, list[int]]) -> None:
        gradient = torch.zeros_like(self.plain.flat)
        parts = self.plain.views(gradient)
        for name, part in parts.items():
            drawn = torch.from_numpy(self.rng.normal(size=part.shape)).to(part.dtype)
            if name in rows:
                part[rows[name]] = drawn[rows[name]]
                self.lazy.refresh(name, np.array(rows[name], np.int32))
            else:
                part.copy_(drawn)
        for optimiser in (self.plain, self.lazy):
            optimiser.gradient.copy_(gradient)
            optimiser.update()

    def some_steps(self, steps: int, often: float = 0.15) -> None:
        for _ in range(steps):
            chosen = (np.flatnonzero(self.rng.random(size) < often).tolist() for size in SIZES)
            self.step(dict(zip("UV", chosen, strict=True)))

    def distance(self) -> float:
        return float((self.plain.flat - self.lazy.flat).abs().max())


def test_rows_touched_now_and_then_end_where_plain_adam_takes_them() -> None:
    pair = Pair()
    pair.some_steps(300)
    assert pair.distance() > 1e-4  # untouched rows have not moved yet
    pair.lazy.settle()
    assert pair.distance() < 1e-12
    for name, one in pair.plain.state().items():
        np.testing.assert_allclose(pair.lazy.state()[name], one, rtol=1e-9, atol=1e-25)


def test_with_the_usual_epsilon_in_single_precision_they_differ_less_than_a_step_by_far() -> None:
    pair = Pair(AdamConfig(lr=0.01), torch.float32)
    pair.some_steps(300)
    pair.lazy.settle()
    assert pair.distance() < 1e-4 * 0.01


@pytest.mark.parametrize("gap", [1, 2, 30, 700, 6000])
def test_a_row_left_alone_for_long_is_caught_up_when_it_is_read(gap: int) -> None:
    """6,000 steps are past the first table of sums."""
    pair = Pair()
    pair.step({"U": [5], "V": [7]})
    for _ in range(gap):
        pair.step({"U": [1], "V": [2]})
    pair.lazy.refresh("U", np.array([5]))
    pair.lazy.refresh("V", np.array([7]))
    for name, row in (("U", 5), ("V", 7)):
        plain, lazy = (one.views(one.flat)[name][row] for one in (pair.plain, pair.lazy))
        torch.testing.assert_close(lazy, plain, rtol=0, atol=1e-12)


def test_settling_in_between_changes_nothing_but_rounding() -> None:
    once, often = Pair(), Pair()
    for _ in range(10):
        once.some_steps(20)
        often.some_steps(20)
        often.lazy.settle()
    once.lazy.settle()
    torch.testing.assert_close(once.lazy.flat, often.lazy.flat, rtol=0, atol=1e-12)


def test_state_is_saved_as_it_is_and_taken_up_to_the_bit() -> None:
    pair = Pair(AdamConfig(), torch.float32)
    pair.some_steps(50)
    again = LazyAdam(network(torch.float32), pair.lazy.config)
    again.flat.copy_(pair.lazy.flat)
    again.load_state(pair.lazy.state())
    other = Pair(AdamConfig(), torch.float32)
    other.lazy, other.plain, other.rng = again, FlatAdam(network(torch.float32), again.config), pair.rng
    state = pair.rng.bit_generator.state
    pair.some_steps(50)
    other.rng.bit_generator.state = state
    other.some_steps(50)
    assert torch.equal(other.lazy.flat, pair.lazy.flat)


@pytest.mark.parametrize("variant", ["e+pooling", "e+sa", "e+ma", "e+sa+ma"])
def test_a_model_learns_the_same_weights_either_way(
    variant: Any, batch: Batch, make_network: Callable[..., Network]
) -> None:
    config = ModelConfig(variant=variant, dim=8, heads=2)
    steppers = [Stepper(make_network(config), adam=EXACT, lazy=lazy) for lazy in (False, True)]
    for start in range(12):
        rows = np.arange(start, len(batch), 3)  # every step another part of the codes
        some = Batch(*(part.take(rows) for part in (batch.diagnoses, batch.procedures, batch.negatives)))
        results = [stepper.step(some) for stepper in steppers]
        assert results[0].loss_predictive == pytest.approx(results[1].loss_predictive, rel=1e-9)
    steppers[1].optimiser.settle()
    plain, lazy = (stepper.optimiser.flat for stepper in steppers)
    torch.testing.assert_close(lazy, plain, rtol=0, atol=1e-12)


def test_large_vocabularies_are_lazy_and_small_ones_plain() -> None:
    for size, kind in ((LAZY_FROM - 2, FlatAdam), (LAZY_FROM - 1, LazyAdam)):
        made = Network(size, 1, ModelConfig(variant="e+pooling", dim=1))
        assert type(Stepper(made).optimiser) is kind
        assert type(Stepper(made, engine="torch").optimiser) is FlatAdam


def test_what_it_cannot_do_is_said() -> None:
    assert not LazyAdam.suits(AdamConfig(beta1=0.9, beta2=0.5))
    with pytest.raises(InputError, match="must be constant"):
        Pair().lazy.update(0.5)
