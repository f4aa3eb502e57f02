"""Sums, softmaxes and fusions over the entries of each row of a `Ragged`; no row may be empty.

A row's result is the same, to the bit, alone and among others: its entries are always added in the same order.

Axes: i rows, n entries of all rows laid flat, m dimensions, q codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Arrays = Mapping[str, NDArray[np.float32]]  # of a model, by name

_NORM_FLOOR = 1e-12  # keeps a zero vector at zero


def shares(positive: Floats, rows: Ragged) -> Floats:
    """Each entry divided by its row's sum, column by column."""
    sums: Floats = np.add.reduceat(positive, rows.offsets[:-1], axis=0)  # (i, …)
    parts: Floats = np.divide(positive, np.repeat(sums, rows.lengths, axis=0))
    return parts  # (n, …)


def softmax(values: Floats, rows: Ragged) -> Floats:
    """Softmax over the entries of each row, column by column."""
    peaks: Floats = np.maximum.reduceat(values, rows.offsets[:-1], axis=0)  # (i, …)
    return shares(np.exp(values - np.repeat(peaks, rows.lengths, axis=0)), rows)  # (n, …)


def even_shares(positive: Doubles, offsets: NDArray[np.int64]) -> Doubles:
    """Each entry divided by the sum of its stretch; equal shares where that sum is 0."""
    lengths = np.diff(offsets)
    total = np.repeat(np.add.reduceat(positive, offsets[:-1]), lengths)
    even = 1 / np.repeat(lengths, lengths)
    found: Doubles = np.divide(positive, total, out=even, where=total > 0)
    return found  # (n,)


def log_softmax(scores: NDArray[Any], counts: Doubles | None = None) -> Doubles:
    """Over the columns of each row, in double precision; a column may count as several."""
    s: Doubles = scores.astype(np.float64)
    s -= s.max(axis=1, keepdims=True)
    s -= np.log(total(np.exp(s), counts))[:, None]
    return s  # (i, p)


def total(values: Doubles, counts: Doubles | None) -> Doubles:
    """The sum of each row, (i,), in which a column counts as one, or as many as `counts` says."""
    found: Doubles = (values if counts is None else values * counts).sum(axis=1)
    return found


def directions(X: NDArray[Any]) -> Doubles:
    """Rows scaled to length 1, in double precision; a row of zeros stays as it is."""
    doubles = X.astype(np.float64)
    lengths: Doubles = np.linalg.norm(doubles, axis=1, keepdims=True)
    return doubles / np.maximum(lengths, _NORM_FLOOR)  # (·, m)


def uniform(rows: Ragged) -> Floats:
    """1/|row| for each entry."""
    lengths = rows.lengths
    return np.repeat(np.float32(1) / lengths.astype(np.float32), lengths)  # (n,)


def weighted_sum(X: Floats, weights: Floats, rows: Ragged) -> Floats:
    """Σ weight · x over the entries of each row; X has one row per code."""
    if len(rows) == 1:
        total: Floats = (X[rows.values] * weights[:, None]).sum(axis=0, keepdims=True)
        return total
    fused = np.zeros((len(rows), X.shape[1]), np.float32)
    for entries, vectors in _by_place(X, rows):
        vectors *= weights[entries, None]
        fused[: len(entries)] += vectors
    return _in_first_order(fused, rows)  # (i, m)


def largest(X: Floats, rows: Ragged) -> Floats:
    """The largest value of each dimension over the entries of each row."""
    if len(rows) == 1:
        peak: Floats = X[rows.values].max(axis=0, keepdims=True)
        return peak
    fused = np.full((len(rows), X.shape[1]), -np.inf, np.float32)
    for entries, vectors in _by_place(X, rows):
        head = fused[: len(entries)]
        np.maximum(head, vectors, out=head)
    return _in_first_order(fused, rows)  # (i, m)


class Places:
    """The entries of rows in another order: the first entry of every row, then the second of every row that has one …

    Rows come longest first, so that those with an entry at some place are the first ones. Then sums over all rows are
    sums of stretches that lie together, which is several times as fast as `reduceat` over wide values.
    """

    def __init__(self, rows: Ragged) -> None:
        if len(rows) == 1:  # what follows gives the same, in the time that a stay's products take
            self.order, self.lengths, self._stretches = np.zeros(1, np.int64), rows.lengths, []
            self.entries = np.arange(len(rows.values))
            return
        self.order = _longest_first(rows)
        self.lengths = rows.lengths[self.order]  # (i,)
        counts = np.searchsorted(
            -self.lengths, -np.arange(self.lengths.max(initial=0))
        )  # rows longer than each place
        ends = np.cumsum(counts)
        self._stretches = list(zip((ends - counts).tolist(), counts.tolist(), strict=True))
        row = np.arange(len(rows.values)) - np.repeat(ends - counts, counts)
        self.entries = rows.offsets[self.order][row] + np.repeat(np.arange(len(counts)), counts)  # (n,)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """For each row as they came, its place in this order."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(self.order))
        return found

    def sum(self, values: Floats, dtype: type[np.floating] = np.float32) -> NDArray[Any]:
        """Σ over the entries of each row, (i, …), from one value per entry in this order."""
        if len(self.order) == 1:
            total: NDArray[Any] = values.sum(axis=0, keepdims=True, dtype=dtype)
            return total
        out = values[: len(self.order)].astype(dtype)
        for start, count in self._stretches[1:]:
            out[:count] += values[start : start + count]
        return out

    def peaks(self, values: Floats) -> Floats:
        """The highest of each row's entries, column by column, (i, …)."""
        if len(self.order) == 1:
            found: Floats = values.max(axis=0, keepdims=True)
            return found
        found = values[: len(self.order)].copy()
        for start, count in self._stretches[1:]:
            np.maximum(found[:count], values[start : start + count], out=found[:count])
        return found

    def multiply(self, values: Floats, by: Floats) -> None:
        """Multiply each entry by its row's factor, in place."""
        for start, count in self._stretches if len(by) > 1 else [(0, len(values))]:
            values[start : start + count] *= by[:count]

    def multiplied(self, values: Floats, by: Doubles) -> Doubles:
        """Each entry times its row's factor, in double precision."""
        out = np.empty(values.shape)
        for start, count in self._stretches if len(by) > 1 else [(0, len(values))]:
            entries = slice(start, start + count)
            np.multiply(values[entries], by[:count], out=out[entries])
        return out

    def without(self, values: Floats, by: Floats, out: Floats | None = None) -> Floats:
        """Each entry minus its row's value."""
        out = np.empty_like(values) if out is None else out
        for start, count in self._stretches if len(by) > 1 else [(0, len(values))]:
            entries = slice(start, start + count)
            np.subtract(values[entries], by[:count], out=out[entries])
        return out

    def log_sum_exp(self, values: Floats) -> Floats:
        """log Σ exp over the entries of each row, column by column, (i, …); changes the values."""
        peaks = self.peaks(values)
        self.without(values, peaks, out=values)
        return self.log_sums(np.exp(values, out=values), peaks)

    def log_sums(self, powers: Floats, peaks: Floats) -> Floats:
        """The same from the powers, relative to their peaks."""
        sums: Floats = self.sum(powers)
        np.log(sums, out=sums)
        sums += peaks
        return sums

    def in_first_order(self, values: Floats) -> Floats:
        """One value per row, in the order in which the rows came."""
        if len(self.order) == 1:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def in_entry_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value per entry, in the order in which the entries came."""
        if len(self.order) == 1:
            return values
        out = np.empty_like(values)
        out[self.entries] = values
        return out


def by_block(rows: Ragged, size: int, columns: int, scores: Callable[[Ragged], Floats]) -> Floats:
    """The scores of many rows, `size` of them at a time."""
    out = np.empty((len(rows), columns), np.float32)
    start = 0
    for block in rows.blocks(size):
        out[start : start + len(block)] = scores(block)
        start += len(block)
    return out  # (i, columns)


def check_stays(diagnoses: Ragged, codes: int) -> None:
    """Refuse stays without diagnoses, and diagnoses that the model does not have."""
    if len(diagnoses) and not diagnoses.lengths.all():
        empty = int((diagnoses.lengths == 0).sum())
        raise InputError(f"{empty:,} stays have no diagnosis that the model knows, so they cannot be scored.")
    check_codes(diagnoses, codes)


def check_codes(diagnoses: Ragged, codes: int) -> None:
    """Refuse diagnoses that the model does not have."""
    values = diagnoses.values
    if len(values) and not 0 <= values.min() <= values.max() < codes:
        raise InputError(
            f"Diagnoses are numbered 0 to {codes - 1} in this model; project the cohort onto it."
        )


def _by_place(X: Floats, rows: Ragged) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """The entries of `Places`, place by place, with their vectors; X has one row per code.

    For narrow vectors of many rows: one place at a time is in memory. The caller may change the vectors: the next place
    overwrites the same memory.
    """
    order = _longest_first(rows)
    starts, lengths = rows.offsets[:-1][order], rows.lengths[order]
    memory = np.empty((len(rows), X.shape[1]), np.float32)
    for place in range(int(lengths[0])):
        entries = starts[: np.count_nonzero(lengths > place)] + place
        # "clip" saves the copy that numpy makes to protect `out`; the indices were checked before.
        yield entries, X.take(rows.values[entries], axis=0, out=memory[: len(entries)], mode="clip")


def _in_first_order(sorted_rows: Floats, rows: Ragged) -> Floats:
    out = np.empty_like(sorted_rows)
    out[_longest_first(rows)] = sorted_rows
    return out


def _longest_first(rows: Ragged) -> NDArray[np.int64]:
    return np.argsort(-rows.lengths, kind="stable")
