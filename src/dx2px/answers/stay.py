"""A stay as a model sees it, and the plans between its diagnoses and some procedures.

Axes: n the rows of an answer (the diagnoses that count, then other evidence), p all procedures or, of a model that has
very many, those chosen for the stay, l those explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.lookup import Found
from dx2px.answers.results import Diagnosis, EvidenceRow, Mapped, Procedure, Reason
from dx2px.errors import ModelError
from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS
from dx2px.scoring.plans import Plan, PlanChoice, PlanKind
from dx2px.scoring.ranking import places
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles
from dx2px.scoring.selection import Selection
from dx2px.scoring.shares import shares_of
from dx2px.scoring.transport import Penalties, Transport, cosine_costs, solve


@dataclass(frozen=True, eq=False)
class Stay:
    """The diagnoses asked about, and what the model makes of those that it knows or that others stand in for."""

    diagnoses: tuple[Diagnosis, ...]  # all
    codes: tuple[str, ...]  # those that count
    evidence: tuple[EvidenceRow, ...]  # all
    scorer: Scorer  # the model's own, or one for this stay's rows alone
    rows: Ragged  # one row: the codes and other evidence as that scorer's indices
    place: NDArray[np.int64]  # for each of its entries, the row of the answer that it counts for
    vectors: NDArray[np.float32] | None  # of the codes
    mu: Doubles  # (n,)
    scores: NDArray[np.float32]  # (p,)
    coupling: Doubles | None  # (entries, p) of a model that explains so
    calibration: Calibration | None
    likely: Doubles | None  # (p,) what the calibration says before alternatives
    mapping: tuple[Mapped, ...]
    chosen: Selection | None = None  # the procedures that p runs over; all if None

    def columns(self, procedures: Sequence[int]) -> NDArray[np.int64]:
        """Where procedures of the vocabulary stand in what runs over p."""
        found = np.array(procedures, np.int64)
        return found if self.chosen is None else self.chosen.places(found)

    def procedures(self, columns: NDArray[np.integer]) -> list[int]:
        """Which procedures of the vocabulary stand there."""
        found: list[int] = (columns if self.chosen is None else self.chosen.codes[columns]).tolist()
        return found

    def explained(
        self, known: Sequence[Found], plan: Plan, ranks: Sequence[int] | None = None
    ) -> list[Procedure]:
        """The procedures with their numbers; the first of them, the plan's columns, with their reasons."""
        chosen = self.columns([cast(int, found.index) for found in known])
        if ranks is None:
            ranks = places(self.scores[None, :], np.zeros(len(chosen), np.int64), chosen).tolist()
        scores = self.scores[chosen].tolist()
        likely = self._likely(chosen)
        reasons = self._reasons(plan.shares)
        reasons += [()] * (len(known) - len(reasons))
        support = self._support(reasons)
        numbers = zip(known, likely, scores, ranks, reasons, support, strict=True)
        return [Procedure(found.code, found.title, found.status, *rest) for found, *rest in numbers]

    def _likely(self, chosen: NDArray[np.int64]) -> Sequence[float | None]:
        if self.calibration is None or self.likely is None:
            return [None] * len(chosen)
        found = self.calibration.limited(self.likely[None], chosen[None])
        return cast(list[float], found[0].tolist())

    def _support(self, reasons: Sequence[Sequence[Reason]]) -> list[int | None]:
        """The number of training stays with each procedure's main reason, if that is a code."""
        stays = {one.code: one.stays for one in self.diagnoses}
        stays |= {one.code: one.stays for one in self.evidence}
        return [stays.get(some[0].code) if some else None for some in reasons]

    @cached_property
    def further(self) -> tuple[str, ...]:
        """The evidence that counts besides the codes."""
        return tuple(row.code for row in self.evidence if row.status != "unknown")

    def merged(self, values: Doubles) -> Doubles:
        """Values of the scorer's rows, (entries, …), as those of the answer's, (n, …)."""
        return merged(values, self.place)

    def _reasons(self, shares: Doubles) -> list[tuple[Reason, ...]]:
        """The rows with their shares in each procedure, (n, l), the largest first."""
        columns = shares.T  # (l, n)
        orders = (-columns).argsort(axis=1, kind="stable").tolist()
        names = self.codes + self.further
        return [
            tuple([Reason._make((names[i], column[i])) for i in order])
            for order, column in zip(orders, columns.tolist(), strict=True)
        ]


def plan_of(files: ModelFiles, stay: Stay, chosen: list[int], choice: PlanChoice = "own") -> Plan:
    """The plan between a stay's diagnoses and procedures of the vocabulary: the model's own, or the paper's."""
    kind: PlanKind = "transport" if choice == "transport" else own_kind(files)
    codes = stay.codes, tuple(files.procedures[index] for index in chosen)
    if kind == "coupling":
        mass = stay.merged(cast(Doubles, stay.coupling).take(stay.columns(chosen), axis=1))
        return Plan(kind, files.method, *codes, mass, evidence=stay.further)
    if kind == "leave-one-out":
        shares = shares_of(
            stay.scorer, stay.rows, np.zeros(len(chosen), np.int64), np.array(chosen)
        )  # (l · n,)
        return Plan(kind, files.method, *codes, shares.reshape(len(chosen), -1).T / len(chosen))
    solved = _transport(files, stay, chosen, Penalties.of(files.settings) if choice == "own" else None)
    return Plan(kind, files.method, *codes, solved.plan, solved)


def merged(values: Doubles, place: NDArray[np.int64]) -> Doubles:
    """Values, (entries, …), summed by the row that each entry counts for, (n, …)."""
    if place[-1] == len(place) - 1:  # each entry is a row of its own
        return values
    out = np.zeros((int(place.max()) + 1, *values.shape[1:]))
    np.add.at(out, place, values)
    return out


def own_kind(files: ModelFiles) -> PlanKind:
    """The kind of the plan that a model's reasons are shares of."""
    kind = METHODS[files.method].explains
    return "penalised-transport" if kind == "transport" and Penalties.of(files.settings) else kind


def no_vectors(method: str) -> ModelError:
    """The error for a method that has no vectors."""
    return ModelError(f"Models of the method {method!r} have no vectors of codes.")


def _transport(
    files: ModelFiles, stay: Stay, procedures: list[int], penalties: Penalties | None
) -> Transport:
    if stay.vectors is None:
        raise no_vectors(files.method)
    C = cosine_costs(stay.vectors, files.arrays["V"][procedures])  # (n, l)
    nu = np.full(len(procedures), 1 / len(procedures))
    mu = stay.mu[: len(stay.codes)]
    return solve(C, mu if not stay.evidence else mu / mu.sum(), nu, penalties)
