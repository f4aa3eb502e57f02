"""A loaded model and the questions it answers: which procedures, why, and which codes are near."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, InputError, ModelError
from dx2px.inference import results
from dx2px.inference.lookup import Found, Lookup, ambiguous
from dx2px.inference.scoring import scorer_for
from dx2px.inference.transport import Doubles, Transport, cosine_costs, directions, solve
from dx2px.model.folder import ModelFiles, read_folder
from dx2px.model.ranking import top_l
from dx2px.ragged import Ragged

LOGIT_METHODS = frozenset({"e+pooling", "e+sa", "e+ma", "e+sa+ma", "linear"})
_NAMED = 10  # codes that an error message names at most


class Model:
    """A saved model. It reproduces how stays were coded; it gives no medical advice."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self.scorer = scorer_for(files)
        try:
            self.diagnoses = Lookup(Vocabulary(files.diagnoses), "diagnosis")
            self.procedures = Lookup(Vocabulary(files.procedures), "procedure")
        except CodeError as error:
            raise ModelError(f"The model's vocabulary cannot be used: {error}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model folder; a `ModelError` says what is wrong with it."""
        return cls(read_folder(path))

    def __repr__(self) -> str:
        sizes = len(self.files.diagnoses), len(self.files.procedures)
        return f"Model({self.files.method}, {sizes[0]:,} diagnoses, {sizes[1]:,} procedures)"

    @property
    def diagnosis_vectors(self) -> NDArray[np.float32]:
        """U, a row a diagnosis."""
        return self._vectors("U")

    @property
    def procedure_vectors(self) -> NDArray[np.float32]:
        """V, a row a procedure."""
        return self._vectors("V")

    def recommend(self, codes: Sequence[str], top: int = 5) -> results.Recommendation:
        """The procedures that go with the diagnoses, best first, each with the diagnoses it comes from."""
        _check_top(top)
        stay = self._stay(codes)
        best = top_l(stay.scores[None, :], top)[0].tolist()
        transport = self._transport(stay, best) if "U" in self.files.arrays else None
        shares = self._leave_one_out(stay, best) if transport is None else transport.shares  # (known, top)
        recommended = []
        for rank, (index, column) in enumerate(zip(best, shares.T, strict=True), start=1):
            found = self.procedures.at(index)
            because = self._reasons(stay, column)
            probability = self._probability(stay, index)
            recommended.append(results.Recommended(rank, found.code, found.title, probability, because))
        return results.Recommendation(stay.diagnoses, tuple(recommended), transport)

    def explain(
        self, codes: Sequence[str], procedures: Sequence[str] | None = None, top: int = 5
    ) -> results.Explanation:
        """The transport plan between the diagnoses and the given procedures, or else the best `top`."""
        _check_top(top)
        stay = self._stay(codes)
        if procedures is None:
            asked = [self.procedures.at(int(index)) for index in top_l(stay.scores[None, :], top)[0]]
        else:
            asked = self.procedures.find_all(procedures)
        transport = self._transport(stay, _indices(asked, "procedures"))
        shown = (
            results.Procedure(f.code, f.title, self._probability(stay, f.index), f.status) for f in asked
        )
        return results.Explanation(stay.diagnoses, tuple(shown), transport)

    def neighbors(self, code: str, top: int = 10) -> results.Neighbors:
        """The diagnoses and the procedures whose vectors point most nearly the same way."""
        _check_top(top)
        sides = ((self.diagnoses, self.diagnosis_vectors), (self.procedures, self.procedure_vectors))
        fitting = [(text, lookup, X) for lookup, X in sides for text in lookup.candidates(code)]
        if not fitting:
            raise InputError(f"The model knows no code {code.strip()[:40]!r}.")
        if len(fitting) > 1:
            raise ambiguous(code, [text for text, _, _ in fitting])
        text, lookup, X = fitting[0]
        index = lookup.vocabulary.index(text)
        found = lookup.at(index)
        direction = directions(X[[index]])[0]  # (m,)
        near = [_nearest(other, directions(Y) @ direction, top, found) for other, Y in sides]
        return results.Neighbors(found.code, found.title, near[0], near[1])

    def _stay(self, codes: Sequence[str]) -> _Stay:
        asked = self.diagnoses.find_all(codes)
        known = _indices(asked, "diagnoses")
        rows = Ragged.from_lists([known])
        mu = self.scorer.significance(rows).astype(np.float64)
        mu /= mu.sum()  # exactly 1 in double precision, as the transport needs it
        weight = dict(zip(known, mu.tolist(), strict=True))
        shown = (
            results.Diagnosis(f.code, f.title, weight[f.index] if f.index is not None else 0.0, f.status)
            for f in asked
        )
        return _Stay(tuple(shown), known, mu, self.scorer.scores(rows)[0])

    def _transport(self, stay: _Stay, procedures: list[int]) -> Transport:
        costs = cosine_costs(self.diagnosis_vectors[stay.known], self.procedure_vectors[procedures])
        return solve(costs, stay.mu, np.full(len(procedures), 1 / len(procedures)))

    def _leave_one_out(self, stay: _Stay, procedures: list[int]) -> Doubles:
        """Shares without vectors: how much each score falls when a diagnosis is left out, (known, top).

        Falls below zero count as none; a procedure whose score falls for no diagnosis is shared evenly.
        """
        count = len(stay.known)
        if count == 1:
            return np.ones((1, len(procedures)))
        rest = Ragged.from_lists([stay.known[:i] + stay.known[i + 1 :] for i in range(count)])
        falls = stay.scores[procedures].astype(np.float64) - self.scorer.scores(rest)[:, procedures]
        falls = np.maximum(falls, 0)  # (known, top)
        total = falls.sum(axis=0)
        return np.where(total > 0, falls / np.where(total > 0, total, 1), 1 / count)

    def _probability(self, stay: _Stay, procedure: int | None) -> float | None:
        """Prob(p | D), eq 1, of methods whose score is a logit; others only rank."""
        if procedure is None or self.files.method not in LOGIT_METHODS:
            return None
        return _sigmoid(float(stay.scores[procedure]))

    def _reasons(self, stay: _Stay, shares: Doubles) -> tuple[results.Reason, ...]:
        order = np.argsort(-shares, kind="stable")
        return tuple(results.Reason(self.files.diagnoses[stay.known[i]], float(shares[i])) for i in order)

    def _vectors(self, name: str) -> NDArray[np.float32]:
        if name not in self.files.arrays:
            raise ModelError(f"Models of the method {self.files.method!r} have no vectors of codes.")
        return self.files.arrays[name]


@dataclass(frozen=True, eq=False)
class _Stay:
    """The diagnoses asked about, and what the model makes of those it knows."""

    diagnoses: tuple[results.Diagnosis, ...]
    known: list[int]
    mu: Doubles  # (known,)
    scores: NDArray[np.float32]  # (p,)


def _indices(asked: Sequence[Found], what: str) -> list[int]:
    """Indices of the known codes; an error when there is none."""
    known = [found.index for found in asked if found.index is not None]
    if not asked:
        raise InputError(f"No {what} were given: write at least one code, such as 428.0.")
    if not known:
        named = ", ".join(found.code for found in asked[:_NAMED]) + (", …" if len(asked) > _NAMED else "")
        raise InputError(f"The model knows none of these {what}: {named}.")
    return known


def _nearest(lookup: Lookup, cosines: Doubles, top: int, found: Found) -> tuple[results.Neighbor, ...]:
    itself = lookup.vocabulary.get(found.code)
    order = [index for index in top_l(cosines[None, :], top + 1)[0].tolist() if index != itself][:top]
    others = (lookup.at(index) for index in order)
    return tuple(
        results.Neighbor(other.code, other.title, float(cosines[index]))
        for index, other in zip(order, others, strict=True)
    )


def _check_top(top: int) -> None:
    if top < 1:
        raise InputError(f"The number of results must be at least 1, not {top}.")


def _sigmoid(score: float) -> float:
    return float(0.5 * (1.0 + np.tanh(0.5 * score)))
