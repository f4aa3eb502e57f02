"""The best L of each row of scores, in a fixed order: by falling score, equal scores by rising index."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_INDEX_BITS = 32
_INDEX_MASK = (1 << _INDEX_BITS) - 1


def top_l(scores: NDArray[Any], L: int) -> NDArray[np.int32]:
    """Indices of the L highest scores of each row, all of them where there are fewer; scores are not NaN."""
    L = min(L, scores.shape[1])
    if scores.dtype == np.float32:
        return _top_of_singles(scores, L)
    order = np.argsort(-scores.astype(np.float64, copy=False), axis=1, kind="stable")
    return order[:, :L].astype(np.int32)  # (n, l)


def _top_of_singles(scores: NDArray[np.float32], L: int) -> NDArray[np.int32]:
    """Score and index share one 64-bit integer, so that a plain partition settles ties as well."""
    last = scores.shape[1] - 1
    keys = (scores + np.float32(0)).view(np.int32).astype(np.int64)  # −0 + 0 = 0
    # The bits of floats grow with their value, those of negative ones once all but the sign are turned.
    keys ^= (keys >> 31) & 0x7FFFFFFF
    keys <<= _INDEX_BITS
    keys |= np.arange(last, -1, -1)
    if last >= L:
        keys.partition(last - L, axis=1)
    best = np.sort(keys[:, last + 1 - L :], axis=1)[:, ::-1]  # (n, l)
    indices: NDArray[np.int64] = last - (best & _INDEX_MASK)
    return indices.astype(np.int32)
