"""The default model: every stay makes its own coupling of its diagnoses with all procedures.

    c      = Σ_{d∈D_i} u_d / √|D_i|                    the company that the stay's diagnoses keep
    h_d    = u_d ⊙ (1 + tanh(G c + g))                 a diagnosis as it is meant in this company
    π(d,p) ∝ exp(h_d·v_p + s_d + b_p)                  over d ∈ D_i and p ∈ P; sums to 1

π has the form of an entropic transport plan. All answers are sums over it: Σ_d π(d,p) ranks the procedures,
Σ_p π(d,p) is the significance of a diagnosis, π(d,p) / Σ_d π(d,p) the share of a diagnosis in a procedure.
So a reason is not found afterwards: the score is the sum of its reasons.

While the model learns, u_d, s_d and v_p are sums of a part of the code's own and one that all codes of its ICD
category share, so that a rare code leans on its siblings; `folded` adds them up, and a saved model holds the sums.
Every step also draws the own parts towards zero, that is, towards the category: rare codes the most, since the data
seldom push back.

The loss of a stay is −w_i Σ_{p∈P_i} log Σ_d π(d,p) with w_i = (1 + κ)/(κ + |P_i|). A hit in the top L counts
2/(L + |P_i|) in F1@L, so κ = L would rank for F1@L alone; one κ in between serves all.

Axes: i stays, n diagnoses of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag

from dx2px.errors import InputError
from dx2px.model.draws import Source, kept_entries, kept_features
from dx2px.ragged import Ragged

UNSEEN = -10.0  # s of a diagnosis that no training stay has: beside any other it weighs nothing
_TINY = 1e-30


@dataclass(frozen=True)
class CouplingConfig:
    """How large the model is, and what is left out at random while it learns."""

    dim: int = 200
    dropout: float = 0.4  # of the features of each h_d
    diagnosis_dropout: float = (
        0.0  # of whole diagnoses; one is always left. Off: it blurs causes (docs/method.md)
    )
    balance: float = 2.0  # κ
    decay: float = 0.3  # of the vectors' own parts, a step and unit of learning rate
    init_scale: float = 0.1  # deviation of U and V at the start

    def __post_init__(self) -> None:
        problems = []
        if self.dim < 1:
            problems.append(f"dim must be at least 1, not {self.dim}")
        for name, value in (("dropout", self.dropout), ("diagnosis dropout", self.diagnosis_dropout)):
            if not 0 <= value < 1:
                problems.append(f"{name} must be at least 0 and below 1, not {value}")
        if not self.decay >= 0:
            problems.append(f"decay must be at least 0, not {self.decay}")
        for name, value in (("balance", self.balance), ("initial scale", self.init_scale)):
            if not value > 0:
                problems.append(f"{name} must be positive, not {value}")
        if problems:
            raise InputError("model settings: " + "; ".join(problems))


class CouplingNetwork(nn.Module):
    """U, V, G, g, s, b, and what follows from them.

    With `categories`, a number for each diagnosis and for each procedure, also the parts that categories share: S and
    t of the diagnoses' vectors and significance, R of the procedures' vectors.
    """

    def __init__(
        self,
        diagnoses: int,
        procedures: int,
        config: CouplingConfig,
        categories: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.shared = categories is not None
        shapes: dict[str, Sequence[int]] = {
            "U": (diagnoses, config.dim),
            "V": (procedures, config.dim),
            "G": (config.dim, config.dim),
            "g": (config.dim,),
            "s": (diagnoses,),
            "b": (procedures,),
        }
        if categories is not None:
            numbers = [int(numbered.max()) + 1 for numbered in categories]
            shapes |= {"S": (numbers[0], config.dim), "t": numbers[:1], "R": (numbers[1], config.dim)}
            for name, numbered in zip(("of_diagnosis", "of_procedure"), categories, strict=True):
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
    of_diagnosis: Tensor  # the category of each
    of_procedure: Tensor

    @torch.no_grad()
    def init(
        self, generator: torch.Generator, seen: NDArray[np.integer], shares: NDArray[np.floating]
    ) -> Self:
        """Draw the start; b takes the procedures' shares of the training stays.

        Codes never seen have no part of their own; where their category was never seen either, they stay silent.
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
            known[self.of_diagnosis[~unseen]] = True
            self.S[~known] = 0.0
            unseen &= ~known[self.of_diagnosis]
        self.s[unseen] = UNSEEN
        return self

    @torch.no_grad()
    def shrink(self, rate: float) -> None:
        """Draw the codes' own vectors towards zero, by the decay and the learning rate of a step."""
        for X in (self.U, self.V):
            X.mul_(1 - rate * self.config.decay)

    def folded(self) -> tuple[Tensor, Tensor, Tensor]:
        """U, V and s with the shared parts added."""
        if not self.shared:
            return self.U, self.V, self.s
        U, V = self.U + self.S[self.of_diagnosis], self.V + self.R[self.of_procedure]
        return U, V, self.s + self.t[self.of_diagnosis]

    def pairs(self, rows: Entries, generator: Source | None = None) -> Tensor:
        """h_d·v_p + s_d of every diagnosis entry and procedure, (n, p); dropout where a generator is given."""
        U, V, s = self.folded()
        u = embedding(rows.codes, U)  # (n, m)
        h = u * self.gate(U, rows)[rows.row]  # (n, m)
        if generator is not None and self.config.dropout:
            h = h * kept_features(h, self.config.dropout, generator)
        return torch.addmm(s[rows.codes][:, None], h, V.T)  # (n, p)

    def gate(self, U: Tensor, rows: Entries) -> Tensor:
        """What a stay's company makes of each feature, (i, m)."""
        c = embedding_bag(rows.codes, U, rows.offsets[:-1], mode="sum")  # (i, m)
        c = c / rows.lengths.sqrt()[:, None]
        return 1 + torch.tanh(torch.addmm(self.g, c, self.G.T))

    def scores(self, diagnoses: Ragged) -> Tensor:
        """log Σ_d exp(h_d·v_p + s_d) + b_p of every stay and procedure, (i, p)."""
        rows = Entries.of(diagnoses, self.U.device)
        return self.totals(rows)

    def loss(self, diagnoses: Ragged, procedures: Ragged, generator: Source | None = None) -> Tensor:
        """The sum of the stays' losses."""
        rows = Entries.of(diagnoses, self.U.device)
        if generator is not None and self.config.diagnosis_dropout:
            rows = rows.thinned(self.config.diagnosis_dropout, generator)
        s = self.totals(rows, generator)  # (i, p)
        coded = Entries.of(procedures, s.device)
        return self.surprise(s, coded)

    def surprise(self, s: Tensor, coded: Entries) -> Tensor:
        """−w_i log π(p) of the coded procedures, added up."""
        w = (1 + self.config.balance) / (self.config.balance + coded.lengths)  # (i,)
        hits = s[coded.row, coded.codes]  # (procedure entries,)
        return (torch.logsumexp(s, 1) * w * coded.lengths).sum() - (hits * w[coded.row]).sum()

    def totals(self, rows: Entries, generator: Source | None = None) -> Tensor:
        """The logarithm of each column's sum, (i, p)."""
        pairs = self.pairs(rows, generator)
        s: Tensor = _LogSumExp.apply(pairs, rows.row, rows.offsets)  # type: ignore[no-untyped-call]
        return s + self.b  # (i, p)


@dataclass(frozen=True, eq=False)
class Entries:
    """A `Ragged` as tensors."""

    codes: Tensor  # (n,)
    row: Tensor  # (n,) the stay of each entry
    offsets: Tensor  # (i + 1,)
    lengths: Tensor  # (i,) as real numbers

    @classmethod
    def of(cls, rows: Ragged, device: torch.device) -> Entries:
        codes, row = rows.values.astype(np.int64), rows.row_of_entry.astype(np.int64)
        offsets = torch.from_numpy(rows.offsets.astype(np.int64)).to(device)
        parts = torch.from_numpy(codes).to(device), torch.from_numpy(row).to(device)
        return cls(*parts, offsets, offsets.diff().float())

    def thinned(self, share: float, generator: Source) -> Entries:
        """Without a random share of the entries; a row that would lose all keeps all."""
        keep = kept_entries(self.row, self.lengths, share, generator)
        row = self.row[keep]
        lengths = torch.bincount(row, minlength=len(self.lengths))
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        return Entries(self.codes[keep], row, offsets, lengths.float())


class _LogSumExp(torch.autograd.Function):
    """log Σ exp over the entries of each row, column by column; the exponentials are kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, pairs: Tensor, row: Tensor, offsets: Tensor) -> Tensor:
        highest = torch.full_like(pairs[: len(offsets) - 1, 0], -torch.inf)
        highest.scatter_reduce_(0, row, pairs.amax(1), "amax")  # one shift a row: exp(−87) is 0 in any case
        powers = pairs.sub(highest[row][:, None]).exp_()  # (n, p)
        places = torch.arange(len(row), device=row.device)
        sums = embedding_bag(places, powers, offsets[:-1], mode="sum").clamp_min_(_TINY)  # (i, p)
        ctx.save_for_backward(powers, sums, row)
        return sums.log().add_(highest[:, None])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        powers, sums, row = ctx.saved_tensors
        return powers * (gradients[0] / sums)[row], None, None
