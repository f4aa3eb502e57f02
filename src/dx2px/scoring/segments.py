"""Sums, softmaxes and fusions over the entries of each row of a `Ragged`; no row may be empty.

A row's result is the same, to the bit, alone and among others: its entries are always added in the same order.

Axes: i rows, n entries of all rows laid flat, m dimensions, q codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Arrays = Mapping[str, NDArray[np.float32]]  # of a model, by name

# OpenBLAS uses one thread up to this many multiplications. Above it, its threads wait for each other, on a busy machine
# for milliseconds; our products are many and small, and our own threads share out the rows.
_ONE_THREAD = 262_144
_NORM_FLOOR = 1e-12  # keeps a zero vector at zero
# Rows of a product: BLAS is fast at these shapes. OpenBLAS's kernel for AVX2 gives the first six of twelve or sixteen
# rows other numbers than the rest; eight rows it treats alike.
_TILES = (16, 8)
_LOW = (2, 4, 8, 12)  # rows of a last product that has no more, where BLAS gives them the same numbers
_EVEN = (64, 16)  # what the columns of a product are a multiple of: the first, where they are as many


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


class Right(Protocol):
    """The right side of products."""

    def __rmatmul__(self, left: Floats) -> Floats: ...


class Factor:
    """The right side of many products, cut into strips, so that every product of BLAS has one shape.

    BLAS sums in another order near the edges of a matrix. With products of one shape, the last one filled up, a row's
    result is the same, to the bit, wherever it stands and whatever the rows beside it. A trial finds the tallest shape
    for which that holds; if there is none, products are summed in double precision and rounded once. Where another
    trial shows that lower products give the same numbers, the last rows are filled up to one of those: a single stay
    has few rows.
    """

    def __init__(self, right: Floats) -> None:
        self._columns = right.shape[1]
        self._strips: list[NDArray[Any]] = []
        self._heights: list[int] = []
        if not any(self._cut(right, tile) for tile in _TILES):
            self._strips = [strip.astype(np.float64) for strip in self._strips]
            self._heights = [self._tile]

    def _cut(self, right: Floats, tile: int) -> bool:
        """Into strips for products of so many rows; returns whether BLAS treats these rows alike."""
        most = _ONE_THREAD // (tile * len(right))
        even = next((even for even in _EVEN if even <= most), 1)
        self._tile, self._width = tile, max(most // even * even, 1)
        if self._columns % self._width == 1:  # numpy multiplies a single column in another way
            right = np.pad(right, ((0, 0), (0, 1)))
        self.shape = right.shape
        self._strips = [
            np.ascontiguousarray(right[:, at : at + self._width], np.float32)
            for at in range(0, right.shape[1], self._width)
        ]
        self._heights = [height for height in _LOW if height < tile and self._same(height)] + [tile]
        return self._same(tile)

    def __rmatmul__(self, left: Floats) -> Floats:
        rest = len(left) % self._tile
        even = len(left) - rest
        height = next(height for height in self._heights if height >= rest) if rest else 0
        out = np.empty((even + height, self.shape[1]), np.float32)
        if even:
            self._multiply(left[:even], out[:even], self._tile)
        if rest:
            last = np.zeros((height, self.shape[0]), np.float32)
            last[:rest] = left[even:]
            self._multiply(last, out[even:], height)
        return out[: len(left), : self._columns]

    def _multiply(self, left: Floats, out: Floats, height: int) -> None:
        """Of any number of full tiles."""
        tiles = left.reshape(-1, height, self.shape[0])
        found = out.reshape(-1, height, self.shape[1])
        for place, strip in enumerate(self._strips):
            part = slice(place * self._width, (place + 1) * self._width)
            np.matmul(tiles, strip, out=found[:, :, part], casting="same_kind")

    def _same(self, height: int) -> bool:
        """Whether BLAS gives equal rows of a product so high equal numbers, those of a full tile."""
        rows = np.tile(np.cos(np.arange(self.shape[0], dtype=np.float32)), (self._tile, 1))
        return all(bool((rows[:height] @ strip == (rows @ strip)[0]).all()) for strip in self._strips)

    # Makes numpy leave `array @ factor` to us.
    __array_ufunc__ = None


class Once:
    """The right side of a few products of a single stay: cutting it up as `Factor` does would take longer than they do.

    Given transposed, since its columns are rows of a larger table: (c, m) for m × c.
    """

    def __init__(self, columns: Floats) -> None:
        self._columns = columns

    def __rmatmul__(self, left: Floats) -> Floats:
        # A single row would be a product of BLAS that takes several threads much sooner.
        rows = left if len(left) > 1 else np.repeat(left, 2, axis=0)
        out = np.empty((len(rows), len(self._columns)), np.float32)
        width = max(_ONE_THREAD // max(rows.size, 1), 1)
        for at in range(0, len(self._columns), width):
            strip = slice(at, at + width)
            np.matmul(rows, self._columns[strip].T, out=out[:, strip])
        return out[: len(left)]

    __array_ufunc__ = None


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
