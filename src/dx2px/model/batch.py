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
class Share:
    """Where the stays of a batch stand in the larger one that several processes learn from together.

    Draws are made as if for the whole, so that they do not depend on how it is cut.
    """

    first: int  # place of the first stay in the whole
    lengths: Offsets  # number of diagnoses of every stay of the whole


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch of Algorithm 1: D_i, P_i⁺ and P_i⁻ of the same stays."""

    diagnoses: Ragged
    procedures: Ragged
    negatives: Ragged
    share: Share | None = None  # None: this is the whole

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


def sample_negatives(procedures: Ragged, vocabulary: int, *, seed: int, step: int, first: int = 0) -> Ragged:
    """Draw P_i⁻ ⊂ P∖P_i⁺ with |P_i⁻| = |P_i⁺|, uniformly and without replacement.

    Where P∖P_i⁺ holds fewer than |P_i⁺| codes, all of them are taken. The draw is a function of (seed, step,
    position in the batch) and keeps no state, so a resumed run draws the same, with any number of threads.
    `first` is the position of the first stay, where the stays are a share of a batch.
    """
    lengths = procedures.lengths
    if len(lengths) and lengths.max() > vocabulary:
        raise InputError(
            f"negative sampling: a stay has {lengths.max()} procedures, the vocabulary only {vocabulary}"
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
    """Floyd's sampling among the codes outside a stay's set; place x stands for the x-th such code."""
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
    """By insertion: rows are short, and numba takes seconds to compile the library's sort."""
    for end in range(1, len(x)):
        value, j = x[end], end
        while j > 0 and x[j - 1] > value:
            x[j] = x[j - 1]
            j -= 1
        x[j] = value


def group(codes: Codes, marks: Codes) -> Any:
    """The distinct codes, where each of them occurs (groups, places), and the slot of each occurrence.

    `marks` is a workspace of zeros, one a code of the vocabulary, and is left so: nothing here takes time that
    grows with the vocabulary.
    """
    distinct = np.sort(_distinct(codes, marks))
    return _places(codes, distinct, marks)


@compiled
def _distinct(codes: Codes, marks: Codes) -> Any:
    """Each code once, and in `marks` how often it occurs."""
    found, size = np.empty(len(codes), np.int32), 0
    for code in codes:
        if marks[code] == 0:
            found[size] = code
            size += 1
        marks[code] += 1
    return found[:size]


@compiled
def _places(codes: Codes, distinct: Codes, marks: Codes) -> Any:
    groups = np.zeros(len(distinct) + 1, np.int32)
    for s in range(len(distinct)):
        groups[s + 1] = groups[s] + marks[distinct[s]]
        marks[distinct[s]] = s
    slot, places = np.empty(len(codes), np.int32), np.empty(len(codes), np.int32)
    fill = groups[:-1].copy()
    for n in range(len(codes)):
        s = marks[codes[n]]
        slot[n] = s
        places[fill[s]] = n
        fill[s] += 1
    for code in distinct:
        marks[code] = 0
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
