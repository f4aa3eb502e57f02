"""Negatives: procedures that a stay does not have, drawn for contrast with those it has (P_i⁻ of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.methods.compiled import compiled
from dx2px.ragged import Ragged, offsets_of

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


def sample_negatives(procedures: Ragged, vocabulary: int, *, seed: int, step: int, first: int = 0) -> Ragged:
    """Draw P_i⁻ ⊂ P∖P_i⁺ with |P_i⁻| = |P_i⁺|, uniformly and without replacement.

    If P∖P_i⁺ has fewer than |P_i⁺| codes, all of them are taken. The draw is a function of (seed, step, position in
    the batch) without hidden state, so a resumed run draws the same. `first` is the position of the first stay, if
    these stays are a share of a batch.
    """
    lengths = procedures.lengths
    if len(lengths) and lengths.max() > vocabulary:
        raise InputError(
            f"negative sampling: a stay has {lengths.max()} procedures, but the vocabulary only {vocabulary}"
        )
    indptr = offsets_of(np.minimum(lengths, vocabulary - lengths))
    drawn = np.empty(indptr[-1], dtype=np.int32)
    key = np.uint64(seed), np.uint64(step)
    _draw(procedures.offsets, procedures.values, vocabulary, *key, first, indptr, drawn)
    return Ragged(indptr, drawn)


@compiled
def _mix(x: Any) -> Any:
    """Scramble 64 bits (the SplitMix64 finaliser): one counter in, one uniform word out."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@compiled
def _draw(
    indptr: Offsets,
    indices: Codes,
    vocabulary: int,
    seed: Any,
    step: Any,
    first: int,
    out_ptr: Offsets,
    out: Codes,
) -> None:
    """Floyd's sampling among the codes that a stay does not have; place x stands for the x-th of them."""
    for i in range(len(indptr) - 1):
        positives = indices[indptr[i] : indptr[i + 1]].copy()
        _sort(positives)
        word = _mix(_mix(_mix(seed) ^ step) ^ np.uint64(first + i))
        row, free = out[out_ptr[i] : out_ptr[i + 1]], vocabulary - len(positives)
        for j in range(len(row)):
            top = free - len(row) + j
            word = _mix(word)
            place = int(float(word >> np.uint64(11)) * 2.0**-53 * float(top + 1))
            for taken in row[:j]:
                if taken == place:
                    place = top
                    break
            row[j] = place
        for j in range(len(row)):
            for code in positives:
                row[j] += code <= row[j]


@compiled
def _sort(x: Codes) -> None:
    """Insertion sort: rows are short, and numba takes seconds to compile numpy's sort."""
    for end in range(1, len(x)):
        value, j = x[end], end
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value
