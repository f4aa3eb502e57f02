"""Scores and gradient of the default method on the CPU, written out: `kernels` around the matrix products of BLAS.

The stays of a batch are cut into shares of one size, whatever the number of threads. Each share goes forward and back
to its rows of evidence and to the procedures; then each part of the codes sums over the places where its codes occur.
So no sum depends on the number of threads, and a share's tables stay in the cache until they are used up.

`dx2px.methods.coupling.network` has the same in torch, for other devices and for variants; a test compares the two.

Axes: as in `kernels`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dx2px.methods.buffers import Buffers
from dx2px.methods.coupling import kernels
from dx2px.methods.coupling.network import CouplingNetwork
from dx2px.methods.coupling.sampling import Chosen
from dx2px.methods.threads import Task, Threads
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.segments import Floats
from dx2px.training.draws import Source, feature_keys

Array = NDArray[Any]
SHARE = 75  # stays that a thread takes at a time
PARTS = 4  # of the codes
_NONE = np.empty(0, np.int64)


def can_compile(network: CouplingNetwork) -> bool:
    """Whether this is the plain network, on the CPU, in single precision and without dropout of whole rows."""
    plain = type(network) is CouplingNetwork and not network.config.diagnosis_dropout
    return plain and network.U.device.type == "cpu" and network.U.dtype == torch.float32


@dataclass(frozen=True, eq=False)
class _Stays:
    """Stays as the kernels take them, and memory for what is computed of them."""

    offsets: Array  # (i + 1,) of the rows of evidence
    codes: Array  # (n,)
    s: Array  # (n,)
    keys: Array  # (n,) of dropout; none without
    coded: Array  # (i + 1,) of the procedures that are coded already
    shut: Array  # these procedures
    asked: Array  # (i + 1,) of the procedures to find
    hits: Array  # these procedures
    c: Array  # (i, m)
    a: Array  # (i, m) tanh(G c + g), then the gradient of its argument
    u: Array  # (n, m), then the factor between u and h
    h: Array  # (n, m)
    X: Array  # (n, p) pairs, then their gradient
    ds: Array  # (n,)
    du: Array  # (n, m)

    def shares(self) -> Iterator[_Stays]:
        """Some stays at a time, as views."""
        count = len(self.offsets) - 1
        for start in range(0, count, SHARE):
            stays = slice(start, min(start + SHARE, count))
            ends = slice(start, stays.stop + 1)
            rows = slice(self.offsets[start], self.offsets[stays.stop])
            yield _Stays(
                *(self.offsets[ends] - rows.start, self.codes[rows], self.s[rows], self.keys[rows]),
                *(self.coded[ends], self.shut, self.asked[ends], self.hits, self.c[stays], self.a[stays]),
                *(self.u[rows], self.h[rows], self.X[rows], self.ds[rows], self.du[rows]),
            )


@dataclass(frozen=True, eq=False)
class _Targets:
    """The procedures that are asked about: all, or those that a step has chosen."""

    V: Array  # (p, m) with the shared parts
    b: Array  # (p,)


class Compiled:
    """Scores and gradients of a network that `can_compile`."""

    def __init__(self, network: CouplingNetwork) -> None:
        self.config, self.layout = network.config, network.layout
        self.parameters = _arrays(dict(network.named_parameters()), self.config.dim)
        if network.shared:
            self._of_row, self._of_procedure = network.of_row.numpy(), network.of_procedure.numpy()
        else:
            self._of_row, self._of_procedure = (np.zeros(len(X), np.int64) for X in (network.U, network.V))
        self._rows, self._procedures = _groups(self._of_row), _groups(self._of_procedure)
        self._buffer, self._threads = Buffers(np.float32), Threads()

    def scores(self, evidence: Ragged, source: Source | None = None) -> Floats:
        """The scores, (i, p), −∞ for procedures that are coded already; dropout where a source is given."""
        stays, asked = self._stays(evidence, None, source), self._targets()
        out = np.empty((len(evidence), len(asked.b)), np.float32)
        parts = (out[start : start + SHARE] for start in range(0, len(out), SHARE))
        self._threads.run(
            partial(self._score, share, asked, part)
            for share, part in zip(stays.shares(), parts, strict=True)
        )
        if self.layout is not None:
            out[self.layout.coded_in(evidence)] = -np.inf
        return out

    def gradient(
        self,
        evidence: Ragged,
        procedures: Ragged,
        source: Source | None,
        gradients: Mapping[str, Tensor],
        chosen: Chosen | None = None,
    ) -> float:
        """The sum of the stays' losses; its gradient goes to `gradients`, by parameter.

        With `chosen`, over these procedures instead of all.
        """
        stays, asked = self._stays(evidence, procedures, source, chosen), self._targets(chosen)
        shares, found = list(stays.shares()), _arrays(gradients, self.config.dim)
        losses, db = np.empty(len(shares)), np.empty((len(shares), len(asked.b)), np.float32)
        dV = self._buffer("dV", (len(shares), *asked.V.shape))
        self._threads.run(
            partial(self._back, share, asked, losses[k : k + 1], db[k], dV[k])
            for k, share in enumerate(shares)
        )
        self._threads.run(self._sums(stays, found))
        if chosen is None:
            db.sum(axis=0, out=found["b"])
            dV.sum(axis=0, out=found["V"])
            kernels.sum_groups(*self._procedures, found["V"], found["R"])
        else:
            self._scatter(chosen.codes, db.sum(axis=0), dV.sum(axis=0), found)
        return float(losses.sum())

    def _scatter(self, codes: Array, db: Array, dV: Array, found: Mapping[str, Array]) -> None:
        """The gradients of chosen procedures; those of the others are 0."""
        for name in "bVR":
            found[name][:] = 0
        found["b"][codes], found["V"][codes] = db, dV
        np.add.at(found["R"], self._of_procedure[codes], dV)

    def _stays(
        self,
        evidence: Ragged,
        procedures: Ragged | None,
        source: Source | None,
        chosen: Chosen | None = None,
    ) -> _Stays:
        codes, i, n, m = evidence.values, len(evidence), len(evidence.values), self.config.dim
        s = self.parameters["s"][codes] + self.parameters["t"][self._of_row[codes]]
        drops = source is not None and self.config.dropout != 0
        keys = feature_keys(n, source) if source is not None and drops else np.empty(0, np.uint64)
        stay, shut = (_NONE, _NONE) if self.layout is None else self.layout.coded_in(evidence)
        if chosen is not None:
            places = chosen.places(shut)
            stay, shut = stay[places >= 0], places[places >= 0]
            procedures = None if procedures is None else chosen.placed(procedures)
        asked = (_NONE, _NONE) if procedures is None else (procedures.offsets, procedures.values)
        width = len(self.parameters["b"] if chosen is None else chosen.codes)
        tables = {"c": (i, m), "a": (i, m), "u": (n, m), "h": (n, m), "X": (n, width)}
        buffers = (self._buffer(name, shape) for name, shape in (tables | {"ds": (n,), "du": (n, m)}).items())
        coded = offsets_of(np.bincount(stay, minlength=i))
        return _Stays(evidence.offsets, codes, s, keys, coded, shut, *asked, *buffers)

    def _targets(self, chosen: Chosen | None = None) -> _Targets:
        x = self.parameters
        if chosen is None:
            return _Targets(x["V"] + x["R"][self._of_procedure], x["b"])
        V = x["V"][chosen.codes] + x["R"][self._of_procedure[chosen.codes]]
        return _Targets(V, x["b"][chosen.codes] + chosen.correction)

    def _forward(self, some: _Stays, V: Array) -> None:
        """c, a, h and the pairs X of some stays."""
        x, dropout = self.parameters, self.config.dropout if len(some.keys) else 0.0
        assert dropout is not None, "the number of stays chooses it (`LoopConfig.for_stays`)"
        kernels.gather(some.codes, some.offsets, x["U"], x["S"], self._of_row, some.u, some.c)
        np.matmul(some.c, x["G"].T, out=some.a)
        kernels.gates(some.offsets, some.keys, *kernels.dropout(dropout), x["g"], some.a, some.u, some.h)
        np.matmul(some.h, V.T, out=some.X)

    def _score(self, some: _Stays, asked: _Targets, out: Array) -> None:
        self._forward(some, asked.V)
        kernels.totals(some.offsets, some.X, some.s, asked.b, out)

    def _back(self, some: _Stays, asked: _Targets, loss: Array, db: Array, dV: Array) -> None:
        """From the loss of some stays back to their rows of evidence and to the procedures."""
        self._forward(some, asked.V)
        pairs = some.offsets, some.X, some.s, asked.b
        codes = some.coded, some.shut, some.asked, some.hits
        loss[0] = kernels.couple(*pairs, *codes, self.config.balance, some.ds, db)
        np.matmul(some.X.T, some.h, out=dV)
        np.matmul(some.X, asked.V, out=some.du)
        kernels.gates_back(some.offsets, some.h, some.du, some.a)
        kernels.rows_back(some.offsets, some.u, some.a @ self.parameters["G"], some.du)

    def _sums(self, stays: _Stays, found: Mapping[str, Array]) -> Iterator[Task]:
        """The gradients that are sums over all stays."""
        places = kernels.places_of(stays.codes, len(self._of_row))
        arrays = [*self._rows, *places, stays.du, stays.ds, *(found[name] for name in "USst")]
        for part in range(PARTS):
            yield partial(kernels.codes_back, part, PARTS, *arrays)
        yield partial(np.matmul, stays.a.T, stays.c, out=found["G"])
        yield partial(np.sum, stays.a, axis=0, out=found["g"])


def _arrays(named: Mapping[str, Tensor], dim: int) -> dict[str, Array]:
    """As arrays; without categories, all codes share a part that is and stays 0."""
    nothing = {name: np.zeros((1, dim), np.float32) for name in "SR"} | {"t": np.zeros(1, np.float32)}
    return nothing | {name: tensor.detach().numpy() for name, tensor in named.items()}


def _groups(numbers: Array) -> tuple[Array, Array]:
    """The members of each group, from the number of each one's group: starts, and members."""
    return offsets_of(np.bincount(numbers)), np.argsort(numbers, kind="stable")
