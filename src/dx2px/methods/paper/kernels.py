"""The compiled CPU code of the model: ragged loops over stays and codes, no padding, no autograd.

Functions that call each other are in this one file: numba renews its on-disk cache when a function's own file changes,
not when a callee's file does. Parallel loops run over *outputs*, each summed by one worker in a fixed order, so results
do not depend on the number of workers. Their bodies are separate functions, which numba compiles faster. Inner loops
start at 0 and run over views of rows, because only such loops are vectorised.

In order: Algorithm 2 (`solve_all`); forward, stay by stay (`gather`, `activate`, `stays`); backward (`heads_back`,
`rows_back`).

Axes: i stays; n diagnoses and t targets (a stay's procedures, then its negatives) of all stays laid flat;
q distinct codes on one side of the batch; k heads; m dimensions; d, p diagnoses and procedures of one stay.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from dx2px.methods.compiled import compiled, parallel, without_nan

Array = NDArray[Any]

SELF_ATTENTION, MAX, MEAN = 0, 1, 2  # fusions
CHECK_EVERY = 8  # steps between two checks of a transport problem's evidence; a check costs about two steps
GAP_FLOOR = 2e-4  # of the costs' spread; a finer gap is not required, or problems with almost no cost would never stop
ROUNDING = 1e-6  # cosine costs are in [0, 2]: less than this is lost in single precision
# Least denominator of a scaling. Entries of a plan below it are set to 0: they would become subnormal numbers, which
# are slow, and which rounding keeps from ever reaching 0.
TINY = 1e-30
NORM_FLOOR = 1e-12  # keeps the cosine of a zero vector at 0


class Solver(NamedTuple):
    """Settings of Algorithm 2, see `transport.TransportConfig`."""

    beta: Any
    tolerance: Any
    gap_tolerance: Any
    steps: int
    fixed: bool
    adaptive: bool
    penalised: bool  # a marginal may be missed: the entropic problem instead of the proximal one
    entropy: Any
    diagnosis_penalty: Any  # ρ, infinity if the marginal is exact
    procedure_penalty: Any
    of_rows: Any  # κ = ρ/(ρ + ε), 1 if the marginal is exact
    of_columns: Any


class Plans(NamedTuple):
    """Results of Algorithm 2; `evidence` has cost, marginal error and gap."""

    indptr: Array  # (i + 1,)
    plan: Array  # (Σ dp,)
    evidence: Array  # (3, i)
    iterations: Array  # (i,)
    converged: Array  # (i,)


class Side(NamedTuple):
    """One side of a batch, diagnoses or targets: codes laid flat, and the distinct codes with their embeddings."""

    indptr: Array  # (i + 1,)
    owner: Array  # (n,) stay
    slot: Array  # (n,) place among the distinct codes
    codes: Array  # (q,)
    groups: Array  # (q + 1,) start of each code's occurrences in `places`
    places: Array  # (n,)
    rows: Array  # (q, m)
    unit: Array  # (q, m) rows of length 1
    norm: Array  # (q,)


class Heads(NamedTuple):
    """Self-attention over the diagnoses: scores of the distinct codes, parameters, and each layer's values."""

    S: Array  # (q, k) a_kᵀ tanh(A_k u_d)
    B: Array  # (k, k)
    b: Array  # (k,)
    W: Array  # (k, n) first layer, eq 3
    Y: Array  # (k, n) tanh(B W)
    dz: Array  # (k, n) gradient of B W


class Pass(NamedTuple):
    """What the forward half computes for the backward half."""

    mu: Array  # (n,)
    dmu: Array  # (n,) gradient of μ, in the end of the second layer's scores
    f: Array  # (i, m)
    winner: Array  # (i, m) the diagnosis that max pooling took
    loss: Array  # (i,)
    dy: Array  # (t,) gradient of the logits
    df: Array  # (i, m) gradient of f


def tanh(x: Any) -> Any:
    """Hyperbolic tangent: the library's for doubles; for singles a rational function, which is vectorised."""
    return math.tanh(x)


def _tanh_single(x: Any) -> Any:
    # Lambert's continued fraction for tanh(x/2) = N/D, then the double-angle formula 2ND/(D² + N²).
    h = np.float32(0.5) * min(max(x, np.float32(-9.0)), np.float32(9.0))
    s = h * h
    N = h * (((s + np.float32(378.0)) * s + np.float32(17325.0)) * s + np.float32(135135.0))
    D = ((np.float32(28.0) * s + np.float32(3150.0)) * s + np.float32(62370.0)) * s + np.float32(135135.0)
    return np.float32(2.0) * N * D / (D * D + N * N)


def _tanh_double(x: Any) -> Any:
    return math.tanh(x)


def _choose_tanh(x: Any) -> Any:
    return _tanh_single if x == numba.types.float32 else _tanh_double


overload(tanh, inline="always")(_choose_tanh)


@compiled
def _dot(x: Array, y: Array) -> Any:
    total = x[0] * 0
    for m in range(len(x)):
        total += x[m] * y[m]
    return total


@compiled
def _add(out: Array, weight: Any, x: Array) -> None:
    for m in range(len(out)):
        out[m] += weight * x[m]


# Algorithm 2


@compiled
def _marginal_error(T: Array, a: Array, mu: Array, nu: Array, r: Array) -> Any:
    """L1 error of rows and columns. T is (p, d) without its last factor a; r has the sums over p."""
    error = mu.dtype.type(0)
    for d in range(len(mu)):
        error += abs(r[d] * a[d] - mu[d])
    for p in range(len(nu)):
        error += abs(_dot(T[p, : len(mu)], a) - nu[p])
    return error


@without_nan
def _cost_and_gap(
    C: Array, T: Array, a: Array, mu: Array, nu: Array, beta: Any, f: Array, dual_f: Array
) -> Any:
    """⟨C, T⟩, and how far it is above the dual value of the c-transforms of β log a."""
    n, zero, cost, dual = len(mu), mu.dtype.type(0), mu.dtype.type(0), mu.dtype.type(0)
    for d in range(n):
        f[d] = beta * math.log(a[d]) if mu[d] > 0 and a[d] > 0 else -math.inf
        dual_f[d] = math.inf
    for p in range(len(nu)):
        Cp, Tp, g = C[p], T[p], C[p, 0] - f[0]
        for d in range(n):
            cost += Tp[d] * a[d] * Cp[d]
            g = min(g, Cp[d] - f[d])
        if nu[p] > 0:
            dual += nu[p] * g
            for d in range(n):
                dual_f[d] = min(dual_f[d], Cp[d] - g)
    for d in range(n):
        dual += mu[d] * dual_f[d] if mu[d] > 0 else zero
    return cost, cost - dual


@compiled
def _side_gap(f: Any, total: Any, aim: Any, rho: Any) -> Any:
    """What one entry of a marginal adds to primal minus dual of a penalised plan (text of `transport`)."""
    if not math.isfinite(rho):
        return f * (total - aim)
    if rho == 0:
        return f * 0
    divergence = aim - total
    if total > 0:
        divergence += total * math.log(total / aim)
    return f * total + rho * divergence + rho * aim * math.expm1(-f / rho)


@compiled
def _penalised_evidence(
    C: Array, T: Array, a: Array, mu: Array, nu: Array, least: Array, b: Array, r: Array, how: Solver
) -> Any:
    """⟨C, T⟩, error of the exact marginals, and gap; r has the sums of T over p, without the factor a."""
    zero, tiny = mu.dtype.type(0), mu.dtype.type(TINY)
    cost, error, gap = zero, zero, zero
    for d in range(len(mu)):
        if mu[d] > 0:
            total = r[d] * a[d]
            gap += _side_gap(how.entropy * math.log(max(a[d], tiny)), total, mu[d], how.diagnosis_penalty)
            error += zero if math.isfinite(how.diagnosis_penalty) else abs(total - mu[d])
    for p in range(len(nu)):
        total = zero
        for d in range(len(mu)):
            mass = T[p, d] * a[d]
            total += mass
            cost += mass * C[p, d]
        if nu[p] > 0:
            g = how.entropy * math.log(max(b[p], tiny)) + least[p]
            gap += _side_gap(g, total, nu[p], how.procedure_penalty)
            error += zero if math.isfinite(how.procedure_penalty) else abs(total - nu[p])
    return cost, error, gap


@without_nan
def _prepare(
    C: Array, mu: Array, nu: Array, how: Solver, G: Array, T: Array, least: Array, pull: Array
) -> Any:
    """Fill the kernel G and the first plan T; return β, the spread of the costs and the lowest cost.

    The balanced problem subtracts the lowest cost from C, which changes no plan. The penalised one subtracts the
    `least` cost of each procedure, only in the exponent, so that no column of G vanishes; `pull` corrects the mass of
    a procedure for that.
    """
    n, m, zero, one = len(mu), len(nu), mu.dtype.type(0), mu.dtype.type(1)
    lowest, highest = C[0, 0], C[0, 0]
    for p in range(m):
        column = mu.dtype.type(math.inf)
        for d in range(n):
            lowest, highest = min(lowest, C[p, d]), max(highest, C[p, d])
            column = min(column, C[p, d]) if mu[d] > 0 else column
        least[p] = column
    spread, beta = highest - lowest, how.beta
    if how.adaptive:
        beta *= mu.dtype.type(min(max(spread, ROUNDING), 1.0))
    if how.penalised:
        beta = how.entropy
    for p in range(m):
        if how.penalised:
            pull[p] = math.exp(-least[p] * (one - how.of_columns) / beta)
            for d in range(n):
                G[p, d] = math.exp(-max(C[p, d] - least[p], zero) / beta) * mu[d] * nu[p]
        else:
            for d in range(n):
                C[p, d] -= lowest
                G[p, d] = math.exp(-C[p, d] / beta)
                T[p, d] = mu[d] * nu[p]
    return beta, spread, lowest


@without_nan
def _sweep(
    mu: Array, nu: Array, how: Solver, G: Array, T: Array, a: Array, b: Array, r: Array, pull: Array
) -> None:
    """One Sinkhorn sweep. T is left without its last factor a; r has its sums over p."""
    n, zero, tiny = len(mu), mu.dtype.type(0), mu.dtype.type(TINY)
    for d in range(n):
        r[d] = 0
    for p in range(len(nu)):
        Gp, Tp, s = G[p], T[p], zero
        if how.penalised:
            for d in range(n):
                Tp[d] = Gp[d]
                s += Gp[d] * a[d]
            b[p] = (nu[p] / max(s, tiny)) ** how.of_columns * pull[p]
        else:
            for d in range(n):
                K = Tp[d] * a[d] * Gp[d]
                Tp[d] = K
                s += K * a[d]
            b[p] = nu[p] / max(s, tiny)
        scale = b[p]
        for d in range(n):
            K = Tp[d] * scale
            Tp[d] = K
            r[d] += K
    if how.penalised:
        for d in range(n):
            a[d] = (mu[d] / max(r[d], tiny)) ** how.of_rows
    else:
        for d in range(n):
            a[d] = mu[d] / max(r[d], tiny)


@without_nan
def _solve(
    C: Array, mu: Array, nu: Array, how: Solver, G: Array, T: Array, lines: Array, columns: Array
) -> Any:
    """One problem. C, G and T are (p, d): diagnoses, mostly the longer side, lie together in memory.

    T is left without its last factor a, which is `lines[0]`. The balanced problem changes C.
    """
    n, m, zero, tiny = len(mu), len(nu), mu.dtype.type(0), mu.dtype.type(TINY)
    a, r, f = lines[0], lines[1], lines[2]
    least, b, pull = columns[0], columns[1], columns[2]
    beta, spread, lowest = _prepare(C, mu, nu, how, G, T, least, pull)
    floor = max(GAP_FLOOR * spread, ROUNDING)
    limit = max(how.tolerance * how.entropy, mu.dtype.type(ROUNDING))
    for d in range(n):
        a[d] = 1
    step, good = 0, False
    cost = error = gap = zero
    while step < how.steps and not good:
        step += 1
        _sweep(mu, nu, how, G, T, a, b, r, pull)
        if step == how.steps or (not how.fixed and (step == 1 or step % CHECK_EVERY == 0)):
            if how.penalised:
                cost, error, gap = _penalised_evidence(C, T, a, mu, nu, least, b, r, how)
                good = error <= how.tolerance and gap <= limit
                continue
            for p in range(m):
                Tp = T[p]
                for d in range(n):
                    Tp[d] = Tp[d] if Tp[d] * a[d] > tiny else zero
            error = _marginal_error(T, a, mu, nu, r)
            if error <= how.tolerance or step == how.steps:
                cost, gap = _cost_and_gap(C, T, a, mu, nu, beta, f, r)
                cost += lowest
                good = error <= how.tolerance and gap <= max(how.gap_tolerance * cost, floor)
    return cost, error, gap, step, good


@compiled
def _scratch(D_ptr: Array, P_ptr: Array, like: Array) -> Any:
    """Room for the largest problem: tables (p, d), lines (d,) and columns (p,)."""
    n = m = 1
    for i in range(len(D_ptr) - 1):
        n, m = max(n, D_ptr[i + 1] - D_ptr[i]), max(m, P_ptr[i + 1] - P_ptr[i])
    return np.empty((3, m, n), like.dtype), np.empty((3, n), like.dtype), np.empty((4, m), like.dtype)


@compiled
def _store(i: int, n: int, m: int, T: Array, a: Array, found: Any, out: Plans) -> None:
    """The result of problem i; its plan is turned to (d, p) and gets its last factor a."""
    out.evidence[0, i], out.evidence[1, i], out.evidence[2, i] = found[0], found[1], found[2]
    out.iterations[i], out.converged[i] = found[3], found[4]
    plan = out.plan[out.indptr[i] : out.indptr[i + 1]]
    for d in range(n):
        for p in range(m):
            plan[d * m + p] = T[p, d] * a[d]


@compiled
def _solve_some(
    w: Any,
    workers: int,
    C: Array,
    mu: Array,
    mu_ptr: Array,
    nu: Array,
    nu_ptr: Array,
    how: Solver,
    out: Plans,
) -> None:
    tables, lines, columns = _scratch(mu_ptr, nu_ptr, C)
    Ct, G, T = tables[0], tables[1], tables[2]
    for i in range(w, len(mu_ptr) - 1, workers):
        n, m, c = mu_ptr[i + 1] - mu_ptr[i], nu_ptr[i + 1] - nu_ptr[i], C[out.indptr[i] : out.indptr[i + 1]]
        for d in range(n):
            for p in range(m):
                Ct[p, d] = c[d * m + p]
        M, N = mu[mu_ptr[i] : mu_ptr[i + 1]], nu[nu_ptr[i] : nu_ptr[i + 1]]
        _store(i, n, m, T, lines[0], _solve(Ct, M, N, how, G, T, lines, columns), out)


@parallel
def solve_all(
    C: Array, mu: Array, mu_ptr: Array, nu: Array, nu_ptr: Array, how: Solver, out: Plans, workers: int
) -> None:
    """All problems; C and the plans are laid flat row by row, (d, p)."""
    for w in numba.prange(workers):
        _solve_some(np.int64(w), workers, C, mu, mu_ptr, nu, nu_ptr, how, out)


# Forward, stay by stay, and back to the head scores


@compiled
def _gather_some(
    w: Any, workers: int, table: Array, codes: Array, rows: Array, unit: Array, norm: Array
) -> None:
    for q in range(w, len(codes), workers):
        source, row, scaled = table[codes[q]], rows[q], unit[q]
        norm[q] = max(math.sqrt(_dot(source, source)), NORM_FLOOR)
        inverse = 1 / norm[q]
        for m in range(len(source)):
            row[m] = source[m]
            scaled[m] = source[m] * inverse


@parallel
def gather(table: Array, codes: Array, rows: Array, unit: Array, norm: Array, workers: int) -> None:
    """Rows of an embedding table, as they are and scaled to length 1."""
    for w in numba.prange(workers):
        _gather_some(np.int64(w), workers, table, codes, rows, unit, norm)


@compiled
def _activate_some(w: Any, workers: int, H: Array, a: Array, S: Array) -> None:
    for q in range(w, len(H), workers):
        for k in range(len(a)):
            h = H[q, k]
            for m in range(len(h)):
                h[m] = tanh(h[m])
            S[q, k] = _dot(a[k], h)


@parallel
def activate(H: Array, a: Array, S: Array, workers: int) -> None:
    """Eq 3 after its matrix product, H (q, k, m): H ← tanh H in place, S_qk = a_kᵀ H_qk."""
    for w in numba.prange(workers):
        _activate_some(np.int64(w), workers, H, a, S)


@compiled
def _softmax(x: Array, indptr: Array, first: int, last: int) -> None:
    """In place, over each of the stays from `first` up to `last`."""
    for i in range(first, last):
        part = x[indptr[i] : indptr[i + 1]]
        peak, total = part[0], part[0] * 0
        for d in range(len(part)):
            peak = max(peak, part[d])
        for d in range(len(part)):
            part[d] = math.exp(part[d] - peak)
            total += part[d]
        for d in range(len(part)):
            part[d] /= total


@compiled
def _softmax_back(y: Array, dy: Array, indptr: Array, first: int, last: int) -> None:
    """Gradient of a softmax: dy ← y ∘ (dy − Σ y ∘ dy), stay by stay."""
    for i in range(first, last):
        yi, di = y[indptr[i] : indptr[i + 1]], dy[indptr[i] : indptr[i + 1]]
        inner = _dot(yi, di)
        for d in range(len(yi)):
            di[d] = yi[d] * (di[d] - inner)


@compiled
def _attend(D: Side, heads: Heads, first: int, last: int, mu: Array) -> None:
    """μ of some stays from their codes' head scores (eqs 3, 4)."""
    n0, n1, K = D.indptr[first], D.indptr[last], len(heads.b)
    slot, weights = D.slot[n0:n1], mu[n0:n1]
    for k in range(K):
        w = heads.W[k, n0:n1]
        for n in range(len(w)):
            w[n] = heads.S[slot[n], k]
        _softmax(heads.W[k], D.indptr, first, last)
    weights[:] = 0
    for j in range(K):
        y = heads.Y[j, n0:n1]
        y[:] = 0
        for k in range(K):
            _add(y, heads.B[j, k], heads.W[k, n0:n1])
        for n in range(len(y)):
            y[n] = tanh(y[n])
        _add(weights, heads.b[j], y)
    _softmax(mu, D.indptr, first, last)


@compiled
def _attend_back(D: Side, heads: Heads, first: int, last: int, out: Pass) -> None:
    """Back through eq 4 to the products B W."""
    _softmax_back(out.mu, out.dmu, D.indptr, first, last)
    n0, n1 = D.indptr[first], D.indptr[last]
    dscore = out.dmu[n0:n1]
    for j in range(len(heads.b)):
        y, dz, b = heads.Y[j, n0:n1], heads.dz[j, n0:n1], heads.b[j]
        for n in range(len(y)):
            dz[n] = dscore[n] * b * (1 - y[n] * y[n])


@compiled
def _fuse(slot: Array, X: Array, mu: Array, fusion: int, f: Array, winner: Array) -> None:
    """f(U_D) of one stay: the sum weighted by μ, or the maximum, with the first diagnosis that has it."""
    for m in range(len(f)):
        f[m] = X[slot[0], m] if fusion == MAX else 0
    for d in range(len(slot)):
        x = X[slot[d]]
        if fusion != MAX:
            _add(f, mu[d], x)
            continue
        for m in range(len(f)):
            winner[m] = d if d == 0 or x[m] > f[m] else winner[m]
            f[m] = max(f[m], x[m])


@compiled
def _predict(slot: Array, positives: int, V: Array, f: Array, dy: Array, df: Array) -> Any:
    """Eqs 1 and 2 of one stay: the loss, dy = σ(v·f) − [p ∈ P⁺], and df = Σ dy v_p."""
    loss = 0.0
    df[:] = 0
    for t in range(len(slot)):
        v = V[slot[t]]
        z = _dot(v, f)
        small = math.exp(-abs(z))
        loss += max(-z if t < positives else z, 0.0) + math.log1p(small)
        dy[t] = (1.0 if z > 0 else small) / (1 + small) - (1.0 if t < positives else 0.0)
        _add(df, dy[t], v)
    return loss


@compiled
def _stays_some(
    w: Any, workers: int, D: Side, P: Side, positives: Array, heads: Heads, fusion: int, mutual: bool,
    how: Solver, out: Pass, plans: Plans,
) -> None:  # fmt: skip
    share = (len(positives) + workers - 1) // workers
    first, last = w * share, min((w + 1) * share, len(positives))
    if first >= last:
        return
    if fusion == SELF_ATTENTION:
        _attend(D, heads, first, last, out.mu)
    tables, lines, columns = _scratch(D.indptr, P.indptr, D.rows)
    C, G, T, nu = tables[0], tables[1], tables[2], columns[3]
    for i in range(first, last):
        d0, d1, t0, t1, m = D.indptr[i], D.indptr[i + 1], P.indptr[i], P.indptr[i + 1], positives[i]
        n, slot, target, mu, dmu = d1 - d0, D.slot[d0:d1], P.slot[t0:t1], out.mu[d0:d1], out.dmu[d0:d1]
        if fusion != SELF_ATTENTION:
            mu[:] = 1 / mu.dtype.type(n)
        _fuse(slot, D.rows, mu, fusion, out.f[i], out.winner[i])
        out.loss[i] = _predict(target, m, P.rows, out.f[i], out.dy[t0:t1], out.df[i])
        if fusion == SELF_ATTENTION:
            for d in range(n):
                dmu[d] = _dot(D.rows[slot[d]], out.df[i])
        if mutual:
            for p in range(m):
                nu[p] = 1 / mu.dtype.type(m)
                for d in range(n):
                    C[p, d] = 1 - _dot(D.unit[slot[d]], P.unit[target[p]])  # eq 5
            _store(i, n, m, T, lines[0], _solve(C, mu, nu[:m], how, G, T, lines, columns), plans)
    if fusion == SELF_ATTENTION:
        _attend_back(D, heads, first, last, out)


@parallel
def stays(
    D: Side, P: Side, positives: Array, heads: Heads, fusion: int, mutual: bool, how: Solver, out: Pass,
    plans: Plans, workers: int,
) -> None:  # fmt: skip
    """Everything within one stay: significance, fusion, prediction, transport, and back through eq 4."""
    for w in numba.prange(workers):
        _stays_some(np.int64(w), workers, D, P, positives, heads, fusion, mutual, how, out, plans)


# Backward, head by head and code by code


@compiled
def _head_back(
    k: Any, D: Side, heads: Heads, out: Pass, H: Array, a: Array, da: Array, dB: Array, db: Array
) -> None:
    db[k] = _dot(out.dmu, heads.Y[k])
    dS = np.zeros(len(out.dmu), out.dmu.dtype)  # (n,)
    for j in range(len(db)):
        dB[k, j] = _dot(heads.dz[k], heads.W[j])
        _add(dS, heads.B[j, k], heads.dz[j])
    _softmax_back(heads.W[k], dS, D.indptr, 0, len(D.indptr) - 1)
    ak, dak = a[k], da[k]
    dak[:] = 0
    for q in range(len(H)):
        h, s = H[q, k], dS[0] * 0
        for x in range(D.groups[q], D.groups[q + 1]):
            s += dS[D.places[x]]
        for m in range(len(h)):
            value = h[m]
            dak[m] += s * value
            h[m] = s * ak[m] * (1 - value * value)


@parallel
def heads_back(D: Side, heads: Heads, out: Pass, H: Array, a: Array, da: Array, dB: Array, db: Array) -> None:
    """Back through eq 3: H ← dS_qk a_k ∘ (1 − H²) in place, da_k = Σ_q dS_qk H_qk, and dB and db."""
    for k in numba.prange(len(a)):
        _head_back(np.int64(k), D, heads, out, H, a, da, dB, db)


@compiled
def _sphere_back(g: Array, unit: Array, norm: Any, alpha: Any, out: Array) -> None:
    """out −= α (g − (g·û) û)/‖u‖, the gradient of −α g·û with respect to u."""
    along, scale = _dot(g, unit), alpha / norm
    for m in range(len(g)):
        out[m] -= scale * (g[m] - along * unit[m])


@compiled
def _diagnosis_back(
    q: int, D: Side, P: Side, positives: Array, fusion: int, mutual: bool, alpha: Any, out: Pass,
    plans: Plans, pull: Array, g: Array,
) -> None:  # fmt: skip
    pull[:] = 0
    for n in D.places[D.groups[q] : D.groups[q + 1]]:
        i = D.owner[n]
        d, df, m = n - D.indptr[i], out.df[i], positives[i]
        if fusion == MAX:
            winner = out.winner[i]
            for x in range(len(g)):
                g[x] += df[x] if winner[x] == d else 0
        else:
            _add(g, out.mu[n], df)
        if mutual:
            for p in range(m):
                _add(pull, plans.plan[plans.indptr[i] + d * m + p], P.unit[P.slot[P.indptr[i] + p]])
    if mutual:
        _sphere_back(pull, D.unit[q], D.norm[q], alpha, g)


@compiled
def _procedure_back(
    q: int, D: Side, P: Side, positives: Array, mutual: bool, alpha: Any, out: Pass, plans: Plans,
    pull: Array, g: Array,
) -> None:  # fmt: skip
    pull[:] = 0
    for t in P.places[P.groups[q] : P.groups[q + 1]]:
        i = P.owner[t]
        p, m = t - P.indptr[i], positives[i]
        _add(g, out.dy[t], out.f[i])
        if mutual and p < m:
            for d in range(D.indptr[i + 1] - D.indptr[i]):
                _add(pull, plans.plan[plans.indptr[i] + d * m + p], D.unit[D.slot[D.indptr[i] + d]])
    if mutual:
        _sphere_back(pull, P.unit[q], P.norm[q], alpha, g)


@compiled
def _rows_some(
    w: Any, workers: int, D: Side, P: Side, positives: Array, fusion: int, mutual: bool, alpha: Any,
    out: Pass, plans: Plans, dX: Array, dU: Array, dV: Array,
) -> None:  # fmt: skip
    pull = np.empty(dU.shape[1], dU.dtype)
    for q in range(w, len(D.codes), workers):
        g = dU[D.codes[q]]
        g[:] = 0
        if fusion == SELF_ATTENTION:
            _add(g, dX.dtype.type(1), dX[q])
        _diagnosis_back(q, D, P, positives, fusion, mutual, alpha, out, plans, pull, g)
    for q in range(w, len(P.codes), workers):
        g = dV[P.codes[q]]
        g[:] = 0
        _procedure_back(q, D, P, positives, mutual, alpha, out, plans, pull, g)


@parallel
def rows_back(
    D: Side, P: Side, positives: Array, fusion: int, mutual: bool, alpha: Any, out: Pass, plans: Plans,
    dX: Array, dU: Array, dV: Array, workers: int,
) -> None:  # fmt: skip
    """Gradients of the embeddings, code by code: each sums over the stays in which it occurs."""
    for w in numba.prange(workers):
        _rows_some(np.int64(w), workers, D, P, positives, fusion, mutual, alpha, out, plans, dX, dU, dV)
