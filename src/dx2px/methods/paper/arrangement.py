"""Flat arrays of a batch, rearranged for `kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.methods.compiled import compiled

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]


def group(codes: Codes, marks: Codes) -> Any:
    """The slot of each occurrence among the distinct codes, these codes, and where each occurs (groups, places).

    `marks` is a workspace of zeros, one per code of the vocabulary, and is left that way: the time does not grow with
    the vocabulary.
    """
    distinct = np.sort(_distinct(codes, marks))
    return _places(codes, distinct, marks)


@compiled
def _distinct(codes: Codes, marks: Codes) -> Any:
    """Each code once; `marks` then has how often it occurs."""
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
