"""A stay as a model sees it, and the plans between its diagnoses and some procedures.

Axes: n the diagnoses that count, p all procedures, l those that are explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.inference.coupling import CouplingScorer
from dx2px.inference.plans import Plan, PlanChoice, PlanKind
from dx2px.inference.results import Diagnosis, Mapped, Reason
from dx2px.inference.scoring import Scorer
from dx2px.inference.transport import Doubles, Penalties, Transport, cosine_costs, solve, solve_penalised
from dx2px.model.folder import ModelFiles
from dx2px.ragged import Ragged


@dataclass(frozen=True, eq=False)
class Stay:
    """The diagnoses asked about, and what the model makes of those that it knows or that others stand in for."""

    diagnoses: tuple[Diagnosis, ...]  # all
    codes: tuple[str, ...]  # those that count
    scorer: Scorer  # the model's own, or one of this stay's rows alone
    rows: Ragged  # one row: the codes as that scorer's indices
    vectors: NDArray[np.float32] | None  # (n, m)
    mu: Doubles  # (n,)
    scores: NDArray[np.float32]  # (p,)
    probabilities: Doubles | None  # (p,)
    mapping: tuple[Mapped, ...] | None

    def probability(self, procedure: int | None) -> float | None:
        """Of a procedure of the vocabulary, if the model is calibrated."""
        if procedure is None or self.probabilities is None:
            return None
        return float(self.probabilities[procedure])

    def rank(self, procedure: int) -> int:
        """Its place among all procedures: by falling score, equal ones by rising index."""
        own = self.scores[procedure]
        ahead = int((self.scores > own).sum()) + int((self.scores[:procedure] == own).sum())
        return 1 + ahead

    def reasons(self, shares: Doubles) -> list[tuple[Reason, ...]]:
        """Of each procedure the diagnoses with their shares in it, (n, l), the largest first."""
        orders = np.argsort(-shares, axis=0, kind="stable").T.tolist()
        columns = shares.T.tolist()
        return [
            tuple(Reason(self.codes[i], column[i]) for i in order)
            for order, column in zip(orders, columns, strict=True)
        ]


def plan_of(files: ModelFiles, stay: Stay, procedures: Sequence[int], choice: PlanChoice = "own") -> Plan:
    """The plan between a stay's diagnoses and procedures of the vocabulary: the model's own, or the paper's."""
    kind: PlanKind = "transport" if choice == "transport" else own_kind(files)
    chosen = list(procedures)
    codes = stay.codes, tuple(files.procedures[index] for index in chosen)
    if isinstance(stay.scorer, CouplingScorer) and kind == "coupling":
        return Plan(kind, files.method, *codes, stay.scorer.coupling(stay.rows)[:, chosen])
    if kind == "leave-one-out":
        return Plan(kind, files.method, *codes, falls(stay, chosen) / len(chosen))
    solved = _transport(files, stay, chosen, Penalties.of(files.settings) if choice == "own" else None)
    return Plan(kind, files.method, *codes, solved.plan, solved)


def own_kind(files: ModelFiles) -> PlanKind:
    """The kind of the plan that a model's reasons are shares of."""
    if files.method == "coupling":
        return "coupling"
    if "U" not in files.arrays:
        return "leave-one-out"
    return "transport" if Penalties.of(files.settings) is None else "penalised-transport"


def falls(stay: Stay, procedures: list[int]) -> Doubles:
    """Shares without vectors: how much each score falls when a diagnosis is left out, (n, l).

    Falls below zero count as none; a procedure whose score falls for no diagnosis is shared evenly.
    """
    count = len(stay.codes)
    if count == 1:
        return np.ones((1, len(procedures)))
    rest = Ragged.from_lists([np.delete(stay.rows.values, i).tolist() for i in range(count)])
    fallen = stay.scores[procedures].astype(np.float64) - stay.scorer.scores(rest)[:, procedures]
    fallen = np.maximum(fallen, 0)  # (n, l)
    total = fallen.sum(axis=0)
    return np.where(total > 0, fallen / np.where(total > 0, total, 1), 1 / count)


def no_vectors(method: str) -> ModelError:
    """What to raise where vectors are asked of a method without them."""
    return ModelError(f"Models of the method {method!r} have no vectors of codes.")


def _transport(
    files: ModelFiles, stay: Stay, procedures: list[int], penalties: Penalties | None
) -> Transport:
    if stay.vectors is None:
        raise no_vectors(files.method)
    C = cosine_costs(stay.vectors, files.arrays["V"][procedures])  # (n, l)
    nu = np.full(len(procedures), 1 / len(procedures))
    return solve(C, stay.mu, nu) if penalties is None else solve_penalised(C, stay.mu, nu, penalties)
