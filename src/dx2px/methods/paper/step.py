"""One training step of Algorithm 1: plans, gradient of eq 8, Adam. Two engines, one result.

`compiled` runs on the CPU: the gradient written out by hand, ragged kernels around three matrix products. `torch` runs
on any device: the plain objective and its automatic gradient. Both work on the same flat buffer and optimiser state, so
a run may be resumed with the other engine.

Axes: as in `kernels`.
"""

from __future__ import annotations

from typing import Any, Literal

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dx2px.errors import InputError
from dx2px.methods.buffers import Buffers
from dx2px.methods.paper import kernels, objective
from dx2px.methods.paper.arrangement import group, merge, owners
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.transport import TransportConfig, empty_plans
from dx2px.ragged import offsets_of
from dx2px.training.adam import AdamConfig, FlatAdam
from dx2px.training.batch import Batch
from dx2px.training.step import StepResult

Array = NDArray[Any]
Engine = Literal["compiled", "torch"]
FUSION = {"self-attention": kernels.SELF_ATTENTION, "max": kernels.MAX, "mean": kernels.MEAN}


class PaperStep:
    """Updates a network batch by batch.

    Threads are those of `numba.set_num_threads` and `torch.set_num_threads`.
    """

    def __init__(
        self,
        network: PaperNetwork,
        transport: TransportConfig | None = None,
        adam: AdamConfig | None = None,
        engine: Engine | None = None,
        seed: int = 0,
    ) -> None:
        self.network, self.seed = network, seed
        self.transport = transport or TransportConfig()
        on_cpu = network.U.device.type == "cpu"
        self.engine: Engine = engine or ("compiled" if on_cpu else "torch")
        if self.engine == "compiled" and not on_cpu:
            raise InputError(f"the compiled engine runs on the CPU, but the network is on {network.U.device}")
        self.optimiser = FlatAdam(network, adam or AdamConfig())
        self._compiled = Gradient(network, self.optimiser) if self.engine == "compiled" else None

    def step(self, batch: Batch) -> StepResult:
        """Lines 7 to 12 of Algorithm 1."""
        result = self.gradient(batch)
        self.update()
        return result

    def update(self) -> None:
        """Move along the gradient."""
        self.optimiser.update()

    def gradient(self, batch: Batch) -> StepResult:
        """The losses of a batch; their gradient is left in `gradients`. Negatives are drawn unless it has them."""
        drawn = (
            batch if isinstance(batch, PaperBatch) else PaperBatch.of(batch, len(self.network.V), self.seed)
        )
        _check_codes(drawn, self.network)
        return self._torch(drawn) if self._compiled is None else self._compiled(drawn, self.transport)

    def _torch(self, batch: PaperBatch) -> StepResult:
        found = objective.losses(self.network, batch, self.transport)
        parts = torch.autograd.grad(found.total, list(self.network.parameters()))
        torch.cat([part.reshape(-1) for part in parts], out=self.optimiser.gradient)
        plans = found.plans
        evidence = (plans.unconverged, int(plans.iterations.sum())) if plans else ()
        losses = found.predictive.item(), found.transport.item()
        return _result(self.network.config, len(batch), *losses, *evidence)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what a step measures beside its loss."""
        return _measures(self.network.config)

    @property
    def gradients(self) -> dict[str, Tensor]:
        """The gradient of the last batch, by parameter."""
        return self.optimiser.views(self.optimiser.gradient)


def _measures(config: PaperConfig) -> tuple[str, ...]:
    transport = ("loss_transport", "unconverged", "transport_steps")
    return ("loss_predictive", *(transport if config.mutual_attention else ()))


def _result(
    config: PaperConfig,
    stays: int,
    predictive: float,
    transport: float = 0.0,
    unconverged: int = 0,
    steps: int = 0,
) -> StepResult:
    """Sums over the stays, before the update (eqs 2, 6, 8)."""
    values = (predictive, transport, unconverged, steps)
    # Without mutual attention only the first has a name.
    measures = dict(zip(_measures(config), values, strict=False))
    return StepResult(stays, predictive + config.alpha * transport, measures)


class Gradient:
    """The hand-written gradient of eq 8 for a network on the CPU; its buffers are reused from step to step."""

    def __init__(self, network: PaperNetwork, optimiser: FlatAdam) -> None:
        self.config = network.config
        self.parameters = {name: p.detach() for name, p in network.named_parameters()}
        self.gradients = optimiser.views(optimiser.gradient)
        self.dtype = self.parameters["U"].numpy().dtype
        self._buffer = Buffers(self.dtype)
        self._marks = {name: np.zeros(len(self.parameters[name]), np.int32) for name in "UV"}
        self._touched: tuple[Array, Array] = (np.empty(0, np.int32), np.empty(0, np.int32))

    def __call__(self, batch: PaperBatch, transport: TransportConfig) -> StepResult:
        workers, M, K = numba.get_num_threads(), self.config.dim, self.config.heads
        fusion, mutual = FUSION[self.config.fusion], self.config.mutual_attention
        attention = fusion == kernels.SELF_ATTENTION
        U, V, dU, dV = (x[name].numpy() for x in (self.parameters, self.gradients) for name in "UV")
        # Clears the rows of the last batch, which this one may not have; all others are 0 already.
        dU[self._touched[0]], dV[self._touched[1]] = 0, 0

        positives = batch.procedures.lengths
        D = self._side("U", batch.diagnoses.offsets, batch.diagnoses.values, U, workers)
        positive, negative = batch.procedures, batch.negatives
        indptr, targets = merge(positive.offsets, positive.values, negative.offsets, negative.values)
        P = self._side("V", indptr, targets, V, workers)
        self._touched = D.codes, P.codes
        plans = empty_plans(offsets_of(batch.diagnoses.lengths * positives * mutual), self.dtype)
        out = self._pass(D, P, fusion)
        heads = self._heads(D, attention)
        H = self._buffer("H", (len(D.codes), K * M * attention))  # (q, k·m)
        dX = self._buffer("dX", (len(D.codes) * attention, M))  # (q, m)
        if attention:
            A, a = self.parameters["A"].view(K * M, M), self.parameters["a"].numpy()
            torch.mm(torch.from_numpy(D.rows), A.T, out=torch.from_numpy(H))
            kernels.activate(H.reshape(-1, K, M), a, heads.S, workers)
        solver = transport.solver(self.dtype)
        kernels.stays(D, P, positives, heads, fusion, mutual, solver, out, plans, workers)
        if attention:
            da, dB, db = (self.gradients[name].numpy() for name in "aBb")
            kernels.heads_back(D, heads, out, H.reshape(-1, K, M), a, da, dB, db)
            dZ = torch.from_numpy(H)  # (q, k·m)
            torch.mm(dZ.T, torch.from_numpy(D.rows), out=self.gradients["A"].view(K * M, M))
            torch.mm(dZ, A, out=torch.from_numpy(dX))
        alpha = self.dtype.type(self.config.alpha)
        kernels.rows_back(D, P, positives, fusion, mutual, alpha, out, plans, dX, dU, dV, workers)
        predictive = float(out.loss.sum())
        if not mutual:
            return _result(self.config, len(batch), predictive)
        cost = float(plans.evidence[0].sum(dtype=np.float64))
        unconverged = int(len(batch) - plans.converged.sum())
        return _result(self.config, len(batch), predictive, cost, unconverged, int(plans.iterations.sum()))

    def _side(self, name: str, indptr: Array, codes: Array, table: Array, workers: int) -> kernels.Side:
        slot, distinct, groups, places = group(codes, self._marks[name])
        shape = len(distinct), table.shape[1]
        rows, unit = self._buffer(name + "rows", shape), self._buffer(name + "unit", shape)
        norm = self._buffer(name + "norm", shape[:1])
        kernels.gather(table, distinct, rows, unit, norm, workers)
        return kernels.Side(indptr, owners(indptr), slot, distinct, groups, places, rows, unit, norm)

    def _heads(self, D: kernels.Side, attention: bool) -> kernels.Heads:
        K, n = self.config.heads * attention, len(D.slot)
        B, b = (
            self.parameters[x].numpy() if attention else self._buffer("", (0,) * r)
            for x, r in (("B", 2), ("b", 1))
        )
        W, Y, dz = (self._buffer(name, (K, n)) for name in ("W", "Y", "dz"))
        return kernels.Heads(self._buffer("S", (len(D.codes), K)), B, b, W, Y, dz)

    def _pass(self, D: kernels.Side, P: kernels.Side, fusion: int) -> kernels.Pass:
        i, n, t, M = len(D.indptr) - 1, len(D.slot), len(P.slot), self.config.dim
        return kernels.Pass(
            mu=self._buffer("mu", (n,)),
            dmu=self._buffer("dmu", (n,)),
            f=self._buffer("f", (i, M)),
            winner=np.empty((i, M if fusion == kernels.MAX else 0), np.int32),
            loss=np.empty(i, np.float64),
            dy=self._buffer("dy", (t,)),
            df=self._buffer("df", (i, M)),
        )


def _check_codes(batch: PaperBatch, network: PaperNetwork) -> None:
    limits = (
        ("diagnoses", batch.diagnoses, len(network.U)),
        ("procedures", batch.procedures, len(network.V)),
        ("negatives", batch.negatives, len(network.V)),
    )
    for name, rows, size in limits:
        if len(rows.values) and not 0 <= rows.values.min() <= rows.values.max() < size:
            raise InputError(f"batch: {name} hold a code outside 0…{size - 1}, the network's vocabulary")
