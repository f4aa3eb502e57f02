"""One batch of Algorithm 1: the stays' diagnoses and procedures, and the negatives drawn for them.

The compiled functions at the end rearrange the flat arrays for the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.model.kernels import compiled
from dx2px.ragged import Ragged, offsets_of

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch of Algorithm 1: D_i, P_i⁺ and P_i⁻ of the same stays."""

    diagnoses: Ragged
    procedures: Ragged
    negatives: Ragged

    def __post_init__(self) -> None:
        sizes = (len(self.diagnoses), len(self.procedures), len(self.negatives))
        if len(set(sizes)) != 1:
            raise InputError(f"batch: diagnoses, procedures and negatives count {sizes} stays, must be equal")
        empty = int((self.diagnoses.lengths == 0).sum() + (self.procedures.lengths == 0).sum())
        if empty:
            raise InputError(
                f"batch: {empty} rows are empty, every stay needs at least one diagnosis and one procedure"
            )

    def __len__(self) -> int:
        return len(self.diagnoses)


def sample_negatives(procedures: Ragged, vocabulary: int, *, seed: int, step: int) -> Ragged:
    """Draw P_i⁻ ⊂ P∖P_i⁺ with |P_i⁻| = |P_i⁺|, uniformly and without replacement.

    Where P∖P_i⁺ holds fewer than |P_i⁺| codes, all of them are taken. The draw is a function of (seed, step,
    position in the batch) and keeps no state, so a resumed run draws the same, with any number of threads.
    """
    lengths = procedures.lengths
    if len(lengths) and lengths.max() > vocabulary:
        raise InputError(
            f"negative sampling: a stay has {lengths.max()} procedures, the vocabulary only {vocabulary}"
        )
    indptr = offsets_of(np.minimum(lengths, vocabulary - lengths))
    drawn = np.empty(indptr[-1], dtype=np.int32)
    key = np.uint64(seed), np.uint64(step)
    _draw(procedures.offsets, procedures.values, vocabulary, *key, indptr, drawn)
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
    indptr: Offsets, indices: Codes, vocabulary: int, seed: Any, step: Any, out_ptr: Offsets, out: Codes
) -> None:
    """Floyd's sampling among the codes outside a stay's set; place x stands for the x-th such code."""
    for i in range(len(indptr) - 1):
        positives = indices[indptr[i] : indptr[i + 1]].copy()
        _sort(positives)
        word = _mix(_mix(_mix(seed) ^ step) ^ np.uint64(i))
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
    """By insertion: rows are short, and numba takes seconds to compile the library's sort."""
    for end in range(1, len(x)):
        value, j = x[end], end
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


@compiled
def group(codes: Codes, vocabulary: int) -> Any:
    """The distinct codes, where each of them occurs (groups, places), and the slot of each occurrence."""
    count = np.zeros(vocabulary, np.int32)
    for code in codes:
        count[code] += 1
    size = 0
    for code in range(vocabulary):
        size += count[code] > 0
    distinct, groups = np.empty(size, np.int32), np.zeros(size + 1, np.int32)
    size = 0
    for code in range(vocabulary):
        if count[code]:
            distinct[size] = code
            groups[size + 1] = groups[size] + count[code]
            count[code] = size
            size += 1
    slot, places = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    fill = groups[:-1].copy()
    for n in range(len(codes)):
        s = count[codes[n]]
        slot[n] = s
        places[fill[s]] = n
        fill[s] += 1
    return slot, distinct, groups, places


@compiled
def merge(pos_ptr: Offsets, pos: Codes, neg_ptr: Offsets, neg: Codes) -> Any:
    """The targets of each stay: its procedures, then its negatives."""
    indptr = np.empty(len(pos_ptr), np.int64)
    for i in range(len(pos_ptr)):
        indptr[i] = pos_ptr[i] + neg_ptr[i]
    codes = np.empty(indptr[-1], np.int32)
    for i in range(len(pos_ptr) - 1):
        t = indptr[i]
        for x in range(pos_ptr[i], pos_ptr[i + 1]):
            codes[t] = pos[x]
            t += 1
        for x in range(neg_ptr[i], neg_ptr[i + 1]):
            codes[t] = neg[x]
            t += 1
    return indptr, codes


@compiled
def owners(indptr: Offsets) -> Any:
    """The row that each entry belongs to."""
    owner = np.empty(indptr[-1], np.int32)
    for i in range(len(indptr) - 1):
        for n in range(indptr[i], indptr[i + 1]):
            owner[n] = i
    return owner
