"""Batches that could not be learned from are refused."""

from __future__ import annotations

import pytest

from dx2px.errors import InputError
from dx2px.methods.paper.batch import PaperBatch
from dx2px.ragged import Ragged
from dx2px.training.batch import Batch


def test_lists_that_do_not_fit_together_are_refused():
    one, two, none = (Ragged.from_lists(rows) for rows in ([[1]], [[1], [2]], [[]]))
    with pytest.raises(InputError, match="must be equal"):
        Batch(one, two)
    with pytest.raises(InputError, match="at least one diagnosis"):
        Batch(none, one)
    with pytest.raises(InputError, match="1 stays have negatives for 2"):
        PaperBatch(one, one, negatives=two)
