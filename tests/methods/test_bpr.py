"""BPR: the loss against a loop over triples, and how triples are formed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dx2px.methods.bpr import loss, pairs
from dx2px.methods.negatives import sample_negatives
from dx2px.ragged import Ragged
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches


def batch_of(planted: Any) -> Batch:
    return next(Batches(planted.cohort, planted.training, 20, 0).epoch(0))


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_the_loss_is_that_of_a_loop_over_triples(planted: Any, ridge: float) -> None:
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((13, 4)), rng.standard_normal((13, 4))
    batch, expected = batch_of(planted), 0.0
    negatives = sample_negatives(batch.procedures, 13, seed=0, step=0)
    for i in range(len(batch)):
        f = U[batch.diagnoses[i]].mean(axis=0)
        for p, q in zip(batch.procedures[i], negatives[i], strict=True):
            expected += np.log1p(np.exp(-(f @ V[p] - f @ V[q])))
    codes = set(batch.procedures.values.tolist()) | set(negatives.values.tolist())
    expected += ridge * sum((U[d] ** 2).sum() for d in set(batch.diagnoses.values.tolist()))
    expected += ridge * sum((V[p] ** 2).sum() for p in codes)
    found = loss(torch.from_numpy(U), torch.from_numpy(V), batch, negatives, ridge)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_negatives_are_never_recorded_and_short_lists_pair_what_there_is() -> None:
    stay, better, worse = pairs(Ragged.from_lists([[0, 1, 2], [3]]), Ragged.from_lists([[3], [0]]))
    assert stay.tolist() == [0, 1]
    assert better.tolist() == [0, 3]
    assert worse.tolist() == [3, 0]
