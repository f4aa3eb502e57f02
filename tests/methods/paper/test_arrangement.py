"""Flat arrays rearranged for the kernels, against plain loops."""

from __future__ import annotations

import numpy as np

from dx2px.methods.paper.arrangement import group, merge, owners
from dx2px.ragged import Ragged


def test_every_entry_knows_its_row():
    rows = Ragged.from_lists([[3, 1], [], [2]])
    assert rows.row_of_entry.tolist() == [0, 0, 2] == owners(rows.offsets).tolist()


def test_grouping_finds_every_occurrence_of_every_code():
    codes = np.random.default_rng(0).integers(0, 30, 200).astype(np.int32)
    slot, distinct, groups, places = group(codes, np.zeros(40, np.int32))
    assert distinct.tolist() == np.unique(codes).tolist()
    assert distinct[slot].tolist() == codes.tolist()
    for q, code in enumerate(distinct):
        assert places[groups[q] : groups[q + 1]].tolist() == np.flatnonzero(codes == code).tolist()


def test_targets_are_procedures_then_negatives():
    P, N = Ragged.from_lists([[1, 2], [3]]), Ragged.from_lists([[7], [8, 9]])
    indptr, codes = merge(P.offsets, P.values, N.offsets, N.values)
    assert (indptr.tolist(), codes.tolist()) == ([0, 3, 6], [1, 2, 7, 3, 8, 9])
