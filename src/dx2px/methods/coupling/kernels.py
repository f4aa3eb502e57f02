"""The compiled CPU code of the default method: loops over stays and codes around the matrix products of `gradient`.

Each function works on some stays or some codes alone and lets other threads run meanwhile. Every output is summed by
one thread in a fixed order, so results do not depend on the number of threads. As in the paper's kernels, functions
that call each other are in one file, and inner loops start at 0 and run over views of rows.

Axes: i stays, n rows of evidence of all stays laid flat, p procedures, m dimensions, q rows of the model.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.methods.compiled import inlined, threaded

Array = NDArray[Any]

TINY = np.float32(1e-30)  # log of a sum that underflowed stays finite
_LOWEST = np.float32(-87.0)  # e to the power of less would be a subnormal number, which is slow: 0 instead
_PER_BIT = np.float32(1 / math.log(2))
_BIT_HIGH = np.float32(355 / 512)  # log 2 in two parts: multiples of the first are exact
_BIT_LOW = np.float32(math.log(2) - 355 / 512)
_TAYLOR = tuple(np.float32(1 / math.factorial(k)) for k in range(8))
_ONE, _TWO, _HALF = np.float32(1), np.float32(2), np.float32(0.5)
# Steele, Lea and Flood (2014), "Fast splittable pseudorandom number generators".
_STRIDE, _FIRST, _SECOND = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_S30, _S27, _S31 = (np.uint64(x) for x in (30, 27, 31))


@inlined
def exp(x: Any) -> Any:
    """e to the power of x ≤ 88 in single precision, by operations that are vectorised; the library's are not.

    x = k log 2 + r with |r| ≤ log(2)/2; e^r by its Taylor series, 2^k by its bits.
    """
    limited = _LOWEST if x < _LOWEST else x
    k = np.floor(limited * _PER_BIT + _HALF)
    r = limited - k * _BIT_HIGH
    r = r - k * _BIT_LOW
    y = _TAYLOR[7] * r + _TAYLOR[6]
    y = y * r + _TAYLOR[5]
    y = y * r + _TAYLOR[4]
    y = y * r + _TAYLOR[3]
    y = y * r + _TAYLOR[2]
    y = y * r + _TAYLOR[1]
    y = y * r + _TAYLOR[0]
    power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(0) if x < _LOWEST else y * power


@inlined
def tanh(x: Any) -> Any:
    """Hyperbolic tangent in single precision, to about 1e-7."""
    return _ONE - _TWO / (exp(_TWO * min(x, np.float32(40))) + _ONE)


@inlined
def kept(key: Any, m: Any, share: Any) -> Any:
    """Whether feature m is kept, with a probability of share/2⁶⁴: number m of the SplitMix64 stream of a key."""
    z = key + np.uint64(m) * _STRIDE
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return (z ^ (z >> _S31)) < share


def dropout(share: float) -> tuple[np.uint64, np.float32]:
    """The probability that a feature is kept, of 2⁶⁴, and the factor of those that are."""
    return np.uint64((1 - share) * 2**64) if share else np.uint64(0), np.float32(1 / (1 - share))


@threaded
def masks(keys: Array, share: Any, scale: Any, out: Array) -> None:
    """The factor of each feature in dropout: `scale` if it is kept, else 0; one key per row of evidence."""
    for n in range(len(keys)):
        key, factors = keys[n], out[n]
        for m in range(len(factors)):
            factors[m] = scale if kept(key, m, share) else np.float32(0)


@threaded
def gather(codes: Array, offsets: Array, U: Array, S: Array, of_row: Array, u: Array, c: Array) -> None:
    """u of the rows of evidence, own part and shared part added, and c of their stays."""
    for i in range(len(offsets) - 1):
        total = c[i]
        total[:] = 0
        for n in range(offsets[i], offsets[i + 1]):
            own, shared, row = U[codes[n]], S[of_row[codes[n]]], u[n]
            for m in range(len(row)):
                row[m] = own[m] + shared[m]
                total[m] += row[m]
        scale = _ONE / np.float32(math.sqrt(offsets[i + 1] - offsets[i]))
        for m in range(len(total)):
            total[m] *= scale


@threaded
def gates(
    offsets: Array, keys: Array, share: Any, scale: Any, g: Array, a: Array, u: Array, h: Array
) -> None:
    """a ← tanh(a + g); h = u ⊙ factor; u ← factor = (1 + a) ⊙ mask. The mask is 1 without dropout (scale 1)."""
    for i in range(len(offsets) - 1):
        inner = a[i]
        for m in range(len(inner)):
            inner[m] = tanh(inner[m] + g[m])
        for n in range(offsets[i], offsets[i + 1]):
            row, hidden = u[n], h[n]
            if scale == _ONE:
                for m in range(len(row)):
                    factor = _ONE + inner[m]
                    hidden[m] = row[m] * factor
                    row[m] = factor
            else:
                key = keys[n]
                for m in range(len(row)):
                    factor = (_ONE + inner[m]) * scale if kept(key, m, share) else np.float32(0)
                    hidden[m] = row[m] * factor
                    row[m] = factor


@threaded
def _highest(X: Array, s: Array, b: Array, tops: Array) -> Any:
    """The highest X + s + b of one stay, (n, p). One maximum per procedure first: that loop is vectorised."""
    tops[:] = -np.inf
    for n in range(len(X)):
        row, own = X[n], s[n]
        for p in range(len(row)):
            value = row[p] + own
            tops[p] = value if value > tops[p] else tops[p]
    highest = np.float32(-np.inf)
    for p in range(len(tops)):
        highest = max(highest, tops[p] + b[p])
    return highest


@threaded
def _powers(X: Array, s: Array, b: Array, shut: Array, sums: Array) -> Any:
    """X ← exp(X + s + b − highest) of one stay, (n, p), 0 for `shut` procedures; sums over its rows; the highest."""
    for n in range(len(X)):
        for p in shut:
            X[n, p] = -np.inf
    highest = _highest(X, s, b, sums)
    sums[:] = 0
    for n in range(len(X)):
        row, shift = X[n], s[n] - highest
        for p in range(len(row)):
            power = exp(row[p] + (b[p] + shift))
            row[p] = power
            sums[p] += power
    return highest


@threaded
def couple(
    offsets: Array, X: Array, s: Array, b: Array, coded: Array, shut: Array, asked: Array, hits: Array,
    balance: Any, ds: Array, db: Array,
) -> Any:  # fmt: skip
    """The loss of the stays, and its gradients: X ← that of h·v, `ds` of s, `db` of b.

    With Z the sum of all powers of a stay, π = power/Z, and the gradient of a pair is w (|P| π − [p ∈ P] power/sum_p).
    P is `hits[asked[i] : asked[i + 1]]`. Procedures that are coded already, `shut[coded[i] : coded[i + 1]]`, have no
    part.
    """
    sums, factor = np.empty(len(b), np.float32), np.empty(len(b), np.float32)
    db[:] = 0
    loss = 0.0
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        mine, found = X[start:stop], hits[asked[i] : asked[i + 1]]
        _powers(mine, s[start:stop], b, shut[coded[i] : coded[i + 1]], sums)
        Z = np.float32(0)
        for p in range(len(sums)):
            Z += sums[p]
        weight = np.float32((1 + balance) / (balance + len(found)))
        even = weight * len(found) / Z
        factor[:] = np.float32(even)
        lost = len(found) * math.log(Z)
        for p in found:
            column = max(sums[p], TINY)
            factor[p] -= weight / column
            lost -= math.log(column)
        loss += float(weight * lost)
        for p in range(len(sums)):
            db[p] += sums[p] * factor[p]
        for n in range(len(mine)):
            row, total = mine[n], np.float32(0)
            for p in range(len(row)):
                row[p] *= factor[p]
                total += row[p]
            ds[start + n] = total
    return loss


@threaded
def totals(offsets: Array, X: Array, s: Array, b: Array, out: Array) -> None:
    """log Σ_d exp(X + s) + b of each stay, (i, p); changes X."""
    none = np.empty(0, np.int64)
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        highest = _powers(X[start:stop], s[start:stop], b, none, out[i])
        for p in range(len(b)):
            out[i, p] = math.log(max(out[i, p], TINY)) + highest


@threaded
def gates_back(offsets: Array, h: Array, dh: Array, a: Array) -> None:
    """a ← the gradient of a's argument: (1 − a) ⊙ Σ_n dh ⊙ h, since h holds the factor 1 + a."""
    total = np.empty(a.shape[1], np.float32)
    for i in range(len(offsets) - 1):
        total[:] = 0
        for n in range(offsets[i], offsets[i + 1]):
            x, dx = h[n], dh[n]
            for m in range(len(total)):
                total[m] += x[m] * dx[m]
        inner = a[i]
        for m in range(len(total)):
            inner[m] = (_ONE - inner[m]) * total[m]


@threaded
def rows_back(offsets: Array, factor: Array, dc: Array, du: Array) -> None:
    """du, which holds dh: through h = u ⊙ factor, and through the context c."""
    for i in range(len(offsets) - 1):
        scale, context = _ONE / np.float32(math.sqrt(offsets[i + 1] - offsets[i])), dc[i]
        for m in range(len(context)):
            context[m] *= scale
        for n in range(offsets[i], offsets[i + 1]):
            row, by = du[n], factor[n]
            for m in range(len(row)):
                row[m] = row[m] * by[m] + context[m]


@threaded
def places_of(codes: Array, rows: int) -> Any:
    """Where each row of the model occurs among the rows of evidence: starts (q + 1,) in places (n,)."""
    starts = np.zeros(rows + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for q in range(rows):
        starts[q + 1] += starts[q]
    fill, places = starts[:-1].copy(), np.empty(len(codes), np.int64)
    for n in range(len(codes)):
        places[fill[codes[n]]] = n
        fill[codes[n]] += 1
    return starts, places


@threaded
def _sum(rows: Array, chosen: Array, out: Array) -> None:
    out[:] = 0
    for x in chosen:
        row = rows[x]
        for m in range(len(out)):
            out[m] += row[m]


@threaded
def sum_groups(group_ptr: Array, members: Array, rows: Array, out: Array) -> None:
    """The sum of the rows of each group."""
    for k in range(len(group_ptr) - 1):
        _sum(rows, members[group_ptr[k] : group_ptr[k + 1]], out[k])


@threaded
def codes_back(
    first: int, step: int, group_ptr: Array, members: Array, starts: Array, places: Array, du: Array, ds: Array,
    dU: Array, dS: Array, d_s: Array, d_t: Array,
) -> None:  # fmt: skip
    """Gradients of the own and the shared parts of every `step`-th category: sums over the places of each code."""
    for k in range(first, len(group_ptr) - 1, step):
        group = members[group_ptr[k] : group_ptr[k + 1]]
        d_t[k] = 0
        for q in group:
            mine = places[starts[q] : starts[q + 1]]
            _sum(du, mine, dU[q])
            d_s[q] = 0
            for n in mine:
                d_s[q] += ds[n]
            d_t[k] += d_s[q]
        _sum(dU, group, dS[k])
