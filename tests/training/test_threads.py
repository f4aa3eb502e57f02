"""Work in small pieces uses one thread, and gives the others back."""

from __future__ import annotations

import numpy as np
import torch

from dx2px.training.descent import descend
from dx2px.training.threads import libraries


def test_heads_are_fitted_on_one_thread_and_give_the_others_back() -> None:
    found = set()

    def slope(weights: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
        blas = [one["num_threads"] for one in libraries().info() if one["user_api"] == "blas"]
        found.add((torch.get_num_threads(), *blas))
        return {"x": weights["x"] - 1}

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with libraries().limit(limits=2, user_api="blas"):
            start = {"x": np.zeros(3, np.float32)}
            descend(start, slope, {}, 10, 3, torch.Generator().manual_seed(0))  # type: ignore[arg-type]
            assert all(one["num_threads"] == 2 for one in libraries().info() if one["user_api"] == "blas")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1
    assert set(found.pop()) == {1}
