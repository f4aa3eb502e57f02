"""Sums, softmaxes and fusions over the entries of each row of a `Ragged`; no row may be empty.

Axes: i rows, n entries of all rows laid flat, m dimensions, q codes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged

Floats = NDArray[np.float32]

# OpenBLAS works with one thread up to this many multiplications. Above it, its threads wait for each other,
# on a busy machine for milliseconds; our products are tiny and many, and rows are shared out by our own threads.
_ONE_THREAD = 262_144


def shares(positive: Floats, rows: Ragged) -> Floats:
    """Each entry divided by its row's sum, column by column."""
    sums: Floats = np.add.reduceat(positive, rows.offsets[:-1], axis=0)  # (i, …)
    parts: Floats = np.divide(positive, np.repeat(sums, rows.lengths, axis=0))
    return parts  # (n, …)


def softmax(values: Floats, rows: Ragged) -> Floats:
    """Softmax over the entries of each row, column by column."""
    peaks: Floats = np.maximum.reduceat(values, rows.offsets[:-1], axis=0)  # (i, …)
    return shares(np.exp(values - np.repeat(peaks, rows.lengths, axis=0)), rows)  # (n, …)


def uniform(rows: Ragged) -> Floats:
    """1/|row| for each entry."""
    lengths = rows.lengths
    return np.repeat(np.float32(1) / lengths.astype(np.float32), lengths)  # (n,)


def weighted_sum(X: Floats, weights: Floats, rows: Ragged) -> Floats:
    """Σ weight · x over the entries of each row; X has a row a code."""
    fused = np.zeros((len(rows), X.shape[1]), np.float32)
    for entries, vectors in _by_place(X, rows):
        vectors *= weights[entries, None]
        fused[: len(entries)] += vectors
    return _in_first_order(fused, rows)  # (i, m)


def largest(X: Floats, rows: Ragged) -> Floats:
    """The largest value of each dimension over the entries of each row."""
    fused = np.full((len(rows), X.shape[1]), -np.inf, np.float32)
    for entries, vectors in _by_place(X, rows):
        head = fused[: len(entries)]
        np.maximum(head, vectors, out=head)
    return _in_first_order(fused, rows)  # (i, m)


def product(left: Floats, right: Floats) -> Floats:
    """left @ right, cut into products that BLAS does with one thread, where these are not too small."""
    size = _ONE_THREAD // right.size // 4 * 4  # BLAS takes rows by fours
    if not size:
        return left @ right
    whole = len(left) // size * size
    out = np.empty((len(left), right.shape[1]), np.float32)
    pieces = left[:whole].reshape(-1, size, left.shape[1])
    np.matmul(pieces, right, out=out[:whole].reshape(-1, size, right.shape[1]))
    np.matmul(left[whole:], right, out=out[whole:])
    return out


def _by_place(X: Floats, rows: Ragged) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """The first entry of every row, then the second of every row that has one, and so on, with their vectors.

    Rows come longest first, so that those with an entry at some place are the first ones. The vectors may be
    changed: they are written anew, to the same memory, for the next place.
    """
    order = _longest_first(rows)
    starts, lengths = rows.offsets[:-1][order], rows.lengths[order]
    memory = np.empty((len(rows), X.shape[1]), np.float32)
    for place in range(int(lengths[0])):
        entries = starts[: np.count_nonzero(lengths > place)] + place
        # "clip" spares numpy a copy that it makes to guard `out`; indices were checked before.
        yield entries, X.take(rows.values[entries], axis=0, out=memory[: len(entries)], mode="clip")


def _in_first_order(sorted_rows: Floats, rows: Ragged) -> Floats:
    out = np.empty_like(sorted_rows)
    out[_longest_first(rows)] = sorted_rows
    return out


def _longest_first(rows: Ragged) -> NDArray[np.int64]:
    return np.argsort(-rows.lengths, kind="stable")
