"""The best L of each row of scores: highest score first, equal scores by index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 256  # entries whose rows are compared at a time
_INDEX_BITS = 32
_INDEX_MASK = (1 << _INDEX_BITS) - 1


def top_l(scores: NDArray[Any], L: int) -> NDArray[np.int32]:
    """Indices of the L highest scores of each row, or of all if there are fewer; scores must not be NaN."""
    L = min(L, scores.shape[1])
    if len(scores) == 1 and L > 0:
        return _top_of_one(scores[0], L)
    if scores.dtype == np.float32:
        return _top_of_singles(scores, L)
    order = np.argsort(-scores.astype(np.float64, copy=False), axis=1, kind="stable")
    return order[:, :L].astype(np.int32)  # (n, l)


def _top_of_one(scores: NDArray[Any], L: int) -> NDArray[np.int32]:
    """The same for a single row: only entries that reach the last of the best are put in order."""
    least = np.partition(scores, len(scores) - L)[len(scores) - L]
    reach = (scores >= least).nonzero()[0]
    best: NDArray[np.int64] = reach[(-scores[reach]).argsort(kind="stable")[:L]]
    return best[None].astype(np.int32)


def _top_of_singles(scores: NDArray[np.float32], L: int) -> NDArray[np.int32]:
    """First the entries that reach the last of the best: as a rule, L of each row. Else all are put in order."""
    columns = scores.shape[1]
    if 0 < L < columns:
        least = np.partition(scores, columns - L, axis=1)[:, columns - L]
        reach = np.flatnonzero(scores >= least[:, None])
        if len(reach) == len(scores) * L:
            column = reach.reshape(-1, L) - np.arange(0, scores.size, columns)[:, None]
            return _first(scores.reshape(-1)[reach].reshape(-1, L), column, L)
    return _first(scores, np.arange(columns), L)


def _first(scores: NDArray[np.float32], column: NDArray[np.int64], L: int) -> NDArray[np.int32]:
    """The columns of the L highest scores. A score and what is left of its column share one 64-bit integer, so that
    one order also has the ties."""
    keys = (scores + np.float32(0)).view(np.int32).astype(np.int64)  # −0 + 0 = 0
    # As integers, the bits of floats are ordered like their values; for negative ones all but the sign are flipped.
    keys ^= (keys >> 31) & 0x7FFFFFFF
    keys <<= _INDEX_BITS
    keys |= _INDEX_MASK - column
    if (rest := keys.shape[1] - L) > 0:
        keys.partition(rest - 1, axis=1)
        keys = keys[:, rest:]
    best = np.sort(keys, axis=1)[:, ::-1]  # (n, l)
    indices: NDArray[np.int64] = _INDEX_MASK - (best & _INDEX_MASK)
    return indices.astype(np.int32)


def places(
    scores: NDArray[Any], rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> NDArray[np.int64]:
    """The place of each entry (row, column) in the ranking of its row, from 1, in the order of `top_l`."""
    found = np.empty(len(rows), np.int64)
    index = np.arange(scores.shape[1])
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        theirs, column = scores[rows[part]], columns[part][:, None]
        own = np.take_along_axis(theirs, column.astype(np.int64), axis=1)
        found[part] = 1 + ((theirs > own) | ((theirs == own) & (index < column))).sum(axis=1)
    return found
