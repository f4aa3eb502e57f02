"""Products of matrices whose rows do not depend on the rows beside them, to the bit.

Axes: i rows, m dimensions, p columns.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring import blas
from dx2px.scoring.segments import Floats

# OpenBLAS uses one thread up to this many multiplications. Where it cannot be held to one (`blas`), products are no
# larger: its threads wait for each other, and our own share out the rows.
_ONE_THREAD = 262_144
_WIDEST = (
    304  # columns of a tall product: OpenBLAS itself would cut more into blocks, with edges of their own
)
_EVEN = (64, 16)  # what the columns of a small product are a multiple of: the first, where they are as many


class _Shape(NamedTuple):
    """Rows of a product, the columns of zeros at either side, and how few rows a last product may have."""

    rows: int
    margin: int
    low: tuple[int, ...]  # where BLAS gives them the same numbers

    @property
    def tall(self) -> bool:
        return self.margin > 0


# In the order in which they are tried. Small products are the fastest where OpenBLAS has kernels for them, as with
# AVX-512. Its kernel for AVX2 sums in another order in the first eight and last eight columns of every second half
# dozen of rows; between them it treats rows alike if they are a multiple of twelve, and the columns of eight.
_SHAPES = (
    _Shape(16, 0, (2, 4, 8, 12)),
    _Shape(192, 8, (2, 12, 15, 24, 48, 96)),
    _Shape(8, 0, (2, 4)),
)


class Right:
    """The right side of products."""

    def __rmatmul__(self, left: Floats) -> Floats:
        return self.product(left)

    def product(self, left: Floats, plus: Floats | None = None) -> Floats:
        """left @ right; with `plus`, (i,), a number more in each row."""
        raise NotImplementedError

    # Makes numpy leave `array @ right` to us.
    __array_ufunc__ = None


class Factor(Right):
    """The right side of many products, cut into strips, so that every product of BLAS has one shape.

    BLAS sums in another order near the edges of a matrix. With products of one shape, the last one filled up, a row's
    result is the same, to the bit, wherever it stands and whatever the rows beside it. A trial finds a shape for which
    that holds; if there is none, products are summed in double precision and rounded once. Where another trial shows
    that lower products give the same numbers, the last rows are filled up to one of those: a single stay has few rows.
    """

    def __init__(self, right: Floats) -> None:
        self._columns = right.shape[1]
        self._strips: list[NDArray[Any]] = []
        self._heights: list[int] = []
        if not any(self._cut(right, shape) for shape in _SHAPES if blas.can_hold() or not shape.tall):
            self._strips = [strip.astype(np.float64) for strip in self._strips]
            self._heights = [self._shape.rows]

    def _cut(self, right: Floats, shape: _Shape) -> bool:
        """Into strips for products of this shape; returns whether BLAS treats its rows alike."""
        self._shape = shape
        self._width = _even_width(right.shape[1]) if shape.tall else _width(shape.rows, len(right))
        if self._columns % self._width == 1:  # numpy multiplies a single column in another way
            right = np.pad(right, ((0, 0), (0, 1)))
        self.shape = right.shape
        self._strips = [
            _with_margins(np.ascontiguousarray(right[:, at : at + self._width], np.float32), shape.margin)
            for at in range(0, right.shape[1], self._width)
        ]
        self._heights = [height for height in shape.low if self._same(height)] + [shape.rows]
        return self._same(shape.rows)

    def product(self, left: Floats, plus: Floats | None = None) -> Floats:
        if plus is not None and not self._shape.tall:
            out = self.product(left)
            out += plus[:, None]
            return out
        if self._shape.tall and len(left) <= max(self._heights[:-1], default=0):
            return self._of_few(left, plus)
        rest = len(left) % self._shape.rows
        even = len(left) - rest
        height = next(height for height in self._heights if height >= rest) if rest else 0
        out = np.empty((even + height, self.shape[1]), np.float32)
        more = np.zeros(len(out), np.float32)
        if plus is not None:
            more[: len(left)] = plus
        if even:
            self._multiply(left[:even], out[:even], self._shape.rows, more[:even])
        if rest:
            last = np.zeros((height, self.shape[0]), np.float32)
            last[:rest] = left[even:]
            self._multiply(last, out[even:], height, more[even:])
        return out[: len(left), : self._columns]

    def _of_few(self, left: Floats, plus: Floats | None) -> Floats:
        """By tall strips, of rows that fit into one low product: with fewer steps, since a single stay has few rows."""
        height = next(height for height in self._heights if height >= len(left))
        rows = (
            left
            if len(left) == height
            else np.concatenate([left, np.zeros((height - len(left), left.shape[1]), np.float32)])
        )
        with self._held(height):
            wide = [rows @ strip for strip in self._strips]
        columns = slice(self._shape.margin, self._shape.margin + self._width)
        found = [strip[: len(left), columns] for strip in wide]
        out = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
        out = out[:, : self._columns]
        return out if plus is None else out + plus[:, None]

    def _multiply(self, left: Floats, out: Floats, height: int, plus: Floats) -> None:
        """Of any number of full products; what is added costs nothing in tall ones, and is left out of small ones."""
        tiles = left.reshape(-1, height, self.shape[0])
        found = out.reshape(-1, height, self.shape[1])
        for place, strip in enumerate(self._strips):
            part = slice(place * self._width, (place + 1) * self._width)
            if self._shape.tall:
                self._multiply_tall(tiles, strip, found[:, :, part], plus.reshape(-1, height, 1))
            else:
                np.matmul(tiles, strip, out=found[:, :, part], casting="same_kind")

    def _multiply_tall(
        self, tiles: NDArray[Any], strip: NDArray[Any], out: NDArray[Any], plus: NDArray[Any]
    ) -> None:
        """By a strip with margins. One product after another, so that each is cut out while it is in the cache."""
        wide = np.empty((tiles.shape[1], strip.shape[1]), np.float32)
        inner = wide[:, self._shape.margin :][:, : out.shape[2]]
        with self._held(tiles.shape[1]):
            for tile, found, more in zip(tiles, out, plus, strict=True):
                np.matmul(tile, strip, out=wide)
                np.add(inner, more, out=found)

    def _held(self, height: int) -> AbstractContextManager[None]:
        """OpenBLAS held to one thread, if products so high would have more."""
        return blas.one_thread() if height * self._strips[0].size > _ONE_THREAD else nullcontext()

    def _same(self, height: int) -> bool:
        """Whether BLAS gives equal rows of a product so high equal numbers, those of a full one."""
        rows = np.tile(np.cos(np.arange(self.shape[0], dtype=np.float32)), (self._shape.rows, 1))
        full, low = (np.empty((some, self.shape[1]), np.float32) for some in (self._shape.rows, height))
        for out in (full, low):
            self._multiply(rows[: len(out)], out, len(out), np.zeros(len(out), np.float32))
        return bool((full[0] == low).all())


class Once(Right):
    """The right side of a few products of a single stay: cutting it up as `Factor` does would take longer than they do.

    Given transposed, since its columns are rows of a larger table: (c, m) for m × c.
    """

    def __init__(self, columns: Floats) -> None:
        self._columns = columns

    def product(self, left: Floats, plus: Floats | None = None) -> Floats:
        # A single row would be a product of BLAS that takes several threads much sooner.
        rows = left if len(left) > 1 else np.repeat(left, 2, axis=0)
        out = np.empty((len(rows), len(self._columns)), np.float32)
        width = max(_ONE_THREAD // max(rows.size, 1), 1)
        for at in range(0, len(self._columns), width):
            strip = slice(at, at + width)
            np.matmul(rows, self._columns[strip].T, out=out[:, strip])
        out = out[: len(left)]
        if plus is not None:
            out += plus[:, None]
        return out


def _with_margins(strip: Floats, margin: int) -> Floats:
    """A multiple of eight columns, with as many zeros on either side; without a margin as it is."""
    return np.pad(strip, ((0, 0), (margin, margin + -strip.shape[1] % 8))) if margin else strip


def _even_width(columns: int) -> int:
    """Columns of a strip for tall products."""
    return max(-(-columns // max(-(-columns // _WIDEST), 1)), 1)


def _width(rows: int, inner: int) -> int:
    """Columns of a product that OpenBLAS does by one thread."""
    most = _ONE_THREAD // (rows * inner)
    even = next((even for even in _EVEN if even <= most), 1)
    return max(most // even * even, 1)
