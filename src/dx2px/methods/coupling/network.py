"""The default method while it learns: the formula of `dx2px.scoring.coupling` in torch, for its gradient, and the loss.

    c_i    = Σ_{d∈D_i} u_d / √|D_i|                    the stay's context                          `gate`
    h_d    = u_d ⊙ (1 + tanh(G c_i + g))               a row of evidence in this context           `pairs`
    π(d,p) ∝ exp(h_d·v_p + s_d + b_p)                  over d ∈ D_i and all p; sums to 1           `totals`
    loss_i = −w_i Σ_{p∈P_i} log Σ_d π(d,p),            w_i = (1 + κ)/(κ + |P_i|)                   `surprise`

What coded procedures do to the levels b_p is fitted afterwards (`beside`), with the network as it is.

While learning, u_d, s_d and v_p are each the sum of the code's own part and a part that all codes of its ICD category
share, so that a rare code learns from its siblings; `folded` adds them, and a saved model has the sums. The rows of
principal diagnoses and of coded procedures (`dx2px.scoring.evidence`) share parts among themselves likewise. Every step
shrinks the own vectors, which pulls a code towards its category: rare codes the most, since few stays pull them back.

Why w_i: a hit in the top L counts 2/(L + |P_i|) in F1@L, so κ = L would rank for F1@L alone. One κ in between serves
all L.

Axes: i stays, n rows of evidence of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from dx2px.errors import InputError
from dx2px.methods.coupling import kernels
from dx2px.methods.coupling.entries import Entries
from dx2px.methods.coupling.sampling import Chosen
from dx2px.methods.coupling.withholding import Withholding
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import Evidence, EvidenceLayout
from dx2px.scoring.segments import Floats
from dx2px.training.config import counts
from dx2px.training.draws import Source, feature_keys

UNSEEN = -10.0  # s of a diagnosis that no training stay has: next to any other it has no weight
_TINY = 1e-30  # log of a sum that underflowed stays finite


@dataclass(frozen=True)
class CouplingConfig:
    """The size of the model, its dropout, and what shapes its loss. docs/method.md has the study of each.

    Attributes:
        dim: Dimension of the vectors.
        dropout: Share of the features of each h_d that a training step leaves out; None to choose it by the number of
            stays (`dx2px.methods.coupling.size`).
        diagnosis_dropout: Share of the diagnoses that a training step leaves out, never all of a stay. Off, since it
            blurs causes.
        balance: κ of the loss: the larger, the more a stay with many procedures counts.
        decay: How much a step shrinks the codes' own vectors, per unit of learning rate.
        init_scale: Standard deviation of U and V at the start.
        pull: How much a step of a model that is adapted pulls its parameters towards where they started, per unit of
            learning rate, instead of the decay.
        sample: How many procedures a training step scores besides those of its batch; None to choose it by the number
            of procedures: all of them in most cohorts (`dx2px.methods.coupling.size`).
        evidence: `stay` to learn from all that the cohort says about a stay, `codes` from its diagnoses alone.
        withheld: How much of that evidence a training step withholds.

    Raises:
        InputError: A setting is out of range.
    """

    dim: int = 200
    dropout: float | None = None
    diagnosis_dropout: float = 0.0
    balance: float = 2.0
    decay: float = 0.3
    init_scale: float = 0.1
    pull: float = 0.0
    sample: int | None = None
    evidence: Evidence = "stay"
    withheld: Withholding = field(default_factory=Withholding)

    def __post_init__(self) -> None:
        sizes = {"dim": self.dim} | ({} if self.sample is None else {"sample": self.sample})
        problems = [problem for one in sizes.items() if (problem := counts(*one))]
        for name, value in (("dropout", self.dropout), ("diagnosis dropout", self.diagnosis_dropout)):
            if value is not None and not 0 <= value < 1:
                problems.append(f"{name} must be at least 0 and below 1, not {value}")
        for name, value in (("decay", self.decay), ("pull", self.pull)):
            if not value >= 0:
                problems.append(f"{name} must be at least 0, not {value}")
        for name, value in (("balance", self.balance), ("initial scale", self.init_scale)):
            if not value > 0:
                problems.append(f"{name} must be positive, not {value}")
        if self.evidence not in get_args(Evidence):
            problems.append(f"evidence must be {' or '.join(get_args(Evidence))}")
        if problems:
            raise InputError("model settings: " + "; ".join(problems))


class CouplingNetwork(nn.Module):
    """U, V, G, g, s, b, and what is computed from them.

    With `categories`, the number of each diagnosis's and each procedure's category, also the shared parts: S of u_d,
    t of s_d and R of v_p. With a `layout`, U and s have a row for each of its rows, not only for diagnoses.
    """

    def __init__(
        self,
        diagnoses: int,
        procedures: int,
        config: CouplingConfig,
        categories: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
        layout: EvidenceLayout | None = None,
    ) -> None:
        super().__init__()
        self.config, self.layout = config, layout
        self.shared, self.warm = categories is not None, False
        rows = diagnoses if layout is None else layout.size
        shapes: dict[str, Sequence[int]] = {
            "U": (rows, config.dim),
            "V": (procedures, config.dim),
            "G": (config.dim, config.dim),
            "g": (config.dim,),
            "s": (rows,),
            "b": (procedures,),
        }
        if categories is not None:
            if layout is not None:
                categories = _row_categories(layout, *categories), categories[1]
            numbers = [int(numbered.max()) + 1 for numbered in categories]
            shapes |= {"S": (numbers[0], config.dim), "t": numbers[:1], "R": (numbers[1], config.dim)}
            for name, numbered in zip(("of_row", "of_procedure"), categories, strict=True):
                self.register_buffer(name, torch.from_numpy(numbered), persistent=False)
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))

    U: nn.Parameter
    V: nn.Parameter
    G: nn.Parameter
    g: nn.Parameter
    s: nn.Parameter
    b: nn.Parameter
    S: nn.Parameter
    t: nn.Parameter
    R: nn.Parameter
    of_row: Tensor  # (rows,) the category of each
    of_procedure: Tensor  # (procedures,)

    @torch.no_grad()
    def init(
        self, generator: torch.Generator, seen: NDArray[np.integer], shares: NDArray[np.floating]
    ) -> Self:
        """Draw the initial parameters; b starts at the log of each procedure's share of the training stays.

        `seen` counts the training stays with each row. A row that none has gets no own part; if none has its category
        either, it gets no weight.
        """
        for X in (self.U, self.V):
            X.normal_(0, self.config.init_scale, generator=generator)
        self.G.normal_(0, self.config.dim**-0.5, generator=generator)
        self.b.copy_(torch.from_numpy(np.log(shares + 1e-6)))
        unseen = torch.from_numpy(seen == 0)
        self.U[unseen] = 0.0
        if self.shared:
            for X in (self.S, self.R):
                X.normal_(0, self.config.init_scale / 2, generator=generator)
            known = torch.zeros(len(self.t), dtype=torch.bool)
            known[self.of_row[~unseen]] = True
            self.S[~known] = 0.0
            unseen &= ~known[self.of_row]
        self.s[unseen] = UNSEEN
        return self

    @torch.no_grad()
    def start_from(self, weights: Mapping[str, NDArray[Any]]) -> Self:
        """Start from weights that were learned before, and stay near them (`shrink`)."""
        for name, X in self.named_parameters():
            X.copy_(torch.from_numpy(weights[name]))
            self.register_buffer(f"start_{name}", X.detach().clone(), persistent=False)
        self.warm = True
        return self

    @torch.no_grad()
    def shrink(self, rate: float) -> None:
        """Shrink the codes' own vectors, or pull all parameters towards their start, by the learning rate of a step."""
        if self.warm:
            for name, X in self.named_parameters():
                X.lerp_(self.get_buffer(f"start_{name}"), min(rate * self.config.pull, 1.0))
            return
        for X in (self.U, self.V):
            X.mul_(1 - rate * self.config.decay)

    def folded(self) -> tuple[Tensor, Tensor, Tensor]:
        """U, V and s with the shared parts added."""
        if not self.shared:
            return self.U, self.V, self.s
        U = self.U + embedding(self.of_row, self.S)
        V = self.V + embedding(self.of_procedure, self.R)
        return U, V, self.s + self.t.index_select(0, self.of_row)

    def pairs(self, rows: Entries, generator: Source | None = None) -> Tensor:
        """h_d·v_p + s_d of every row of evidence and procedure, (n, p); dropout where a generator is given."""
        U, V, s = self.folded()
        u = embedding(rows.codes, U)  # (n, m)
        h = u * embedding(rows.row, self.gate(U, rows))  # (n, m)
        if generator is not None and self.config.dropout != 0:
            assert self.config.dropout is not None, "the number of stays chooses it (`LoopConfig.for_stays`)"
            h = h * _kept_features(h, self.config.dropout, generator)
        return torch.addmm(s.index_select(0, rows.codes)[:, None], h, V.T)  # (n, p)

    def gate(self, U: Tensor, rows: Entries) -> Tensor:
        """The factor that a stay's context gives to each feature, (i, m)."""
        c = embedding_bag(rows.codes, U, rows.offsets[:-1], mode="sum")  # (i, m)
        c = c / rows.lengths.sqrt()[:, None]
        return 1 + torch.tanh(torch.addmm(self.g, c, self.G.T))  # (i, m)

    def arrays(self) -> dict[str, Tensor]:
        """What a model folder keeps: the parameters, with the shared parts added."""
        U, V, s = self.folded()
        kept = {
            "V": V,
            "G": self.G,
            "g": self.g,
            "b": self.b,
            **self._by_kind("U", U),
            **self._by_kind("s", s),
        }
        return {name: weight.detach() for name, weight in kept.items()}

    def _by_kind(self, name: str, rows: Tensor) -> dict[str, Tensor]:
        """The rows of diagnoses, and those of each other kind of evidence."""
        if self.layout is None:
            return {name: rows}
        diagnoses, coded, context = self.layout.starts
        kinds = {
            name: rows[:diagnoses],
            f"principal_{name}": rows[diagnoses:coded],
            f"coded_{name}": rows[coded:context],
            f"context_{name}": rows[context:],
        }
        return {kind: part for kind, part in kinds.items() if len(part)}

    def loss(
        self,
        evidence: Ragged,
        procedures: Ragged,
        generator: Source | None = None,
        chosen: Chosen | None = None,
    ) -> Tensor:
        """The sum of the stays' losses; `procedures` are those that are not coded already.

        With `chosen`, over these procedures instead of all. All are scored nevertheless; `gradient` saves that.
        """
        totals = self.scores(evidence, generator)
        if chosen is not None:
            codes, correction = (
                torch.from_numpy(x).to(totals.device) for x in (chosen.codes, chosen.correction)
            )
            totals, procedures = totals[:, codes] + correction, chosen.placed(procedures)
        return self.surprise(totals, Entries.of(procedures, self.U.device))

    def scores(self, evidence: Ragged, generator: Source | None = None) -> Tensor:
        """The scores, (i, p), −∞ for procedures that are coded already; dropout where a generator is given."""
        rows = Entries.of(evidence, self.U.device)
        if generator is not None and self.config.diagnosis_dropout:
            rows = rows.thinned(self.config.diagnosis_dropout, generator)
        totals = self.totals(rows, generator)
        if self.layout is None:
            return totals
        coded = tuple(torch.from_numpy(part).to(totals.device) for part in self.layout.coded_in(evidence))
        return totals.index_put(coded, totals.new_tensor(-torch.inf))

    @torch.no_grad()
    def plain_scores(self, evidence: Ragged, generator: Source | None = None) -> Floats:
        """`scores` as an array, without a gradient."""
        found: Floats = self.scores(evidence, generator).cpu().numpy()
        return found

    def surprise(self, totals: Tensor, coded: Entries) -> Tensor:
        """−w_i log Σ_d π(d,p) of the coded procedures, summed; `totals` (i, p) lacks the normalising constant of π."""
        w = (1 + self.config.balance) / (self.config.balance + coded.lengths)  # (i,)
        hits = totals[coded.row, coded.codes]  # (procedure entries,)
        return (torch.logsumexp(totals, 1) * w * coded.lengths).sum() - (hits * w[coded.row]).sum()

    def totals(self, rows: Entries, generator: Source | None = None) -> Tensor:
        """log Σ_d exp(h_d·v_p + s_d) + b_p, (i, p): the scores."""
        pairs = self.pairs(rows, generator)  # (n, p)
        sums: Tensor = _LogSumExp.apply(pairs, rows.row, rows.offsets)  # type: ignore[no-untyped-call]
        return sums + self.b  # (i, p)


def _row_categories(
    layout: EvidenceLayout, diagnoses: NDArray[np.int64], procedures: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The category of each row of evidence; kinds of rows have none in common, and a context row has its own."""
    kinds = [diagnoses, *([diagnoses] if layout.principal else []), procedures, np.arange(layout.context)]
    starts = np.cumsum([0, *(int(kind.max()) + 1 for kind in kinds[:-1])])
    return np.concatenate([start + kind for start, kind in zip(starts, kinds, strict=True)])


def _kept_features(h: Tensor, dropout: float, source: Source) -> Tensor:
    """A mask of zeros and 1/(1 − dropout)."""
    drawn = np.empty(h.shape, np.float32)
    kernels.masks(feature_keys(len(h), source), *kernels.dropout(dropout), drawn)
    return torch.from_numpy(drawn).to(h)


class _LogSumExp(torch.autograd.Function):
    """log Σ exp over the entries of each row, column by column. Keeps the exponentials for the gradient."""

    @staticmethod
    def forward(ctx: Any, pairs: Tensor, row: Tensor, offsets: Tensor) -> Tensor:
        highest = torch.full_like(pairs[: len(offsets) - 1, 0], -torch.inf)
        # One shift per row, not per column: what lies 87 below a row's highest value vanishes in single precision.
        highest.scatter_reduce_(0, row, pairs.amax(1), "amax")  # (i,)
        powers = pairs.sub(highest[row][:, None]).exp_()  # (n, p)
        places = torch.arange(len(row), device=row.device)
        sums = embedding_bag(places, powers, offsets[:-1], mode="sum").clamp_min_(_TINY)  # (i, p)
        ctx.save_for_backward(powers, sums, row)
        return sums.log().add_(highest[:, None])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        powers, sums, row = ctx.saved_tensors
        return powers * (gradients[0] / sums)[row], None, None
