"""A loaded model and the questions it answers: which procedures, why, and which codes are near."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, InputError, ModelError
from dx2px.inference import results
from dx2px.inference.back_off import BackOff
from dx2px.inference.coupling import CouplingScorer
from dx2px.inference.lookup import Found, Lookup, ambiguous
from dx2px.inference.mapping import map_codes
from dx2px.inference.scoring import Scorer, scorer_for
from dx2px.inference.transport import Doubles, Transport, cosine_costs, directions, solve
from dx2px.model.folder import ModelFiles, read_folder
from dx2px.model.ranking import top_l
from dx2px.ragged import Ragged

_NAMED = 10  # codes that an error message names at most


class Model:
    """A saved model. It reproduces how stays were coded; it gives no medical advice."""

    def __init__(self, files: ModelFiles) -> None:
        self.files = files
        self.scorer = scorer_for(files)
        self.back_off = BackOff(files)
        try:
            self.diagnoses = Lookup(Vocabulary(files.diagnoses), "diagnosis", self.back_off)
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

    def recommend(
        self,
        codes: Sequence[str],
        top: int = 5,
        *,
        coverage: float | None = None,
        map: bool = False,  # noqa: A002
    ) -> results.Recommendation:
        """The procedures that go with the diagnoses, best first, each with the diagnoses it comes from.

        With a `coverage` such as 0.9 it is not the best `top`, but the set that holds, on average over stays, this
        share of a stay's procedures. With `map`, diagnoses of the other version of ICD are put as their equivalents.
        """
        _check_top(top)
        stay = self._stay(codes, map)
        cover = None if coverage is None else self._cover(stay, coverage)
        best = top_l(stay.scores[None, :], top if cover is None else cover.set_size)[0].tolist()
        shares, transport = self._shares(stay, best)  # (known, top)
        recommended = []
        for rank, (index, column) in enumerate(zip(best, shares.T, strict=True), start=1):
            found = self.procedures.at(index)
            because = self._reasons(stay, column)
            probability = stay.probability(index)
            recommended.append(results.Recommended(rank, found.code, found.title, probability, because))
        return results.Recommendation(stay.diagnoses, tuple(recommended), transport, cover, stay.mapping)

    def explain(
        self,
        codes: Sequence[str],
        procedures: Sequence[str] | None = None,
        top: int = 5,
        *,
        map: bool = False,  # noqa: A002
    ) -> results.Explanation:
        """The transport plan between the diagnoses and the given procedures, or else the best `top`."""
        _check_top(top)
        stay = self._stay(codes, map)
        if procedures is None:
            asked = [self.procedures.at(int(index)) for index in top_l(stay.scores[None, :], top)[0]]
        else:
            asked = self.procedures.find_all(procedures)
        known = [found.index for found in _usable(asked, "procedures") if found.index is not None]
        transport = self._transport(stay, known)
        shown = (results.Procedure(f.code, f.title, stay.probability(f.index), f.status) for f in asked)
        return results.Explanation(stay.diagnoses, tuple(shown), transport, stay.mapping)

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

    def probabilities(
        self, scores: NDArray[np.float32], places: NDArray[np.int64] | None = None
    ) -> Doubles | None:
        """Of each procedure, or of those at the given places, from all scores of each stay.

        None where the model has no calibration.
        """
        calibration = self.files.calibration
        return None if calibration is None else calibration.probability(scores, places)

    def extended(self, codes: Iterable[str]) -> Model:
        """A model that also knows those of the canonical diagnoses that known siblings can stand in for."""
        return Model(self.back_off.extended(list(codes)))

    def _stay(self, codes: Sequence[str], map_: bool = False) -> _Stay:
        mapping = None
        if map_:
            codes, mapping = map_codes(codes, self.diagnoses, self.files.diagnosis_counts)
        asked = self.diagnoses.find_all(codes)
        used = _usable(asked, "diagnoses")
        rows, scorer, vectors = self.rows_of(used)
        mu = scorer.significance(rows).astype(np.float64)
        mu /= mu.sum()  # exactly 1 in double precision, as the transport needs it
        weight = {found.code: share for found, share in zip(used, mu.tolist(), strict=True)}
        shown = tuple(
            results.Diagnosis(f.code, f.title, weight.get(f.code, 0.0), f.status, f.stand_in) for f in asked
        )
        scores = scorer.scores(rows)
        probabilities = self.probabilities(scores)
        likely = None if probabilities is None else probabilities[0]
        return _Stay(shown, tuple(weight), scorer, rows, vectors, mu, scores[0], likely, mapping)

    def rows_of(self, used: Sequence[Found]) -> tuple[Ragged, Scorer, NDArray[np.float32] | None]:
        """The stay as a row of a scorer, and its vectors; where siblings stand in, a scorer of its codes alone."""
        if all(found.index is not None for found in used):
            known = [index for found in used for index in found.members]
            vectors = self.files.arrays["U"][known] if "U" in self.files.arrays else None
            return Ragged.from_lists([known]), self.scorer, vectors
        own = self.back_off.rows([found.code for found in used], [found.members for found in used])
        return Ragged.from_lists([range(len(used))]), scorer_for(own), own.arrays.get("U")

    def _cover(self, stay: _Stay, coverage: float) -> results.Coverage:
        calibration = self.files.calibration
        if calibration is None or stay.probabilities is None:
            raise ModelError("This model has no calibration, so it can promise no coverage: train it anew.")
        members = calibration.members(stay.probabilities[None, :], coverage)
        return results.Coverage(coverage, int(members.sum()), calibration.threshold(coverage))

    def _transport(self, stay: _Stay, procedures: list[int]) -> Transport:
        if stay.vectors is None:
            raise _no_vectors(self.files.method)
        costs = cosine_costs(stay.vectors, self.procedure_vectors[procedures])
        return solve(costs, stay.mu, np.full(len(procedures), 1 / len(procedures)))

    def _shares(self, stay: _Stay, procedures: list[int]) -> tuple[Doubles, Transport | None]:
        """The shares of the diagnoses in each procedure: the model's own weights where its score is their sum."""
        if isinstance(stay.scorer, CouplingScorer):
            columns = stay.scorer.coupling(stay.rows)[:, procedures]  # (known, top)
            return columns / columns.sum(axis=0), None
        if stay.vectors is None:
            return self._leave_one_out(stay, procedures), None
        transport = self._transport(stay, procedures)
        return transport.shares, transport

    def _leave_one_out(self, stay: _Stay, procedures: list[int]) -> Doubles:
        """Shares without vectors: how much each score falls when a diagnosis is left out, (known, top).

        Falls below zero count as none; a procedure whose score falls for no diagnosis is shared evenly.
        """
        count = len(stay.codes)
        if count == 1:
            return np.ones((1, len(procedures)))
        rest = Ragged.from_lists([np.delete(stay.rows.values, i).tolist() for i in range(count)])
        falls = stay.scores[procedures].astype(np.float64) - stay.scorer.scores(rest)[:, procedures]
        falls = np.maximum(falls, 0)  # (known, top)
        total = falls.sum(axis=0)
        return np.where(total > 0, falls / np.where(total > 0, total, 1), 1 / count)

    def _reasons(self, stay: _Stay, shares: Doubles) -> tuple[results.Reason, ...]:
        order, values = np.argsort(-shares, kind="stable").tolist(), shares.tolist()
        return tuple(results.Reason(stay.codes[i], values[i]) for i in order)

    def _vectors(self, name: str) -> NDArray[np.float32]:
        if name not in self.files.arrays:
            raise _no_vectors(self.files.method)
        return self.files.arrays[name]


@dataclass(frozen=True, eq=False)
class _Stay:
    """The diagnoses asked about, and what the model makes of those that it knows or that others stand in for."""

    diagnoses: tuple[results.Diagnosis, ...]  # all
    codes: tuple[str, ...]  # those that count, n of them
    scorer: Scorer  # the model's own, or one of this stay's rows alone
    rows: Ragged  # one row: the codes as that scorer's indices
    vectors: NDArray[np.float32] | None  # (n, m)
    mu: Doubles  # (n,)
    scores: NDArray[np.float32]  # (p,)
    probabilities: Doubles | None  # (p,)
    mapping: tuple[results.Mapped, ...] | None

    def probability(self, procedure: int | None) -> float | None:
        """Of a procedure of the vocabulary, if the model is calibrated."""
        if procedure is None or self.probabilities is None:
            return None
        return float(self.probabilities[procedure])


def _no_vectors(method: str) -> ModelError:
    return ModelError(f"Models of the method {method!r} have no vectors of codes.")


def _usable(asked: Sequence[Found], what: str) -> list[Found]:
    """Codes that are known or backed off; an error when there is none."""
    used = [found for found in asked if found.status != "unknown"]
    if not asked:
        raise InputError(f"No {what} were given: write at least one code, such as 428.0.")
    if not used:
        named = ", ".join(found.code for found in asked[:_NAMED]) + (", …" if len(asked) > _NAMED else "")
        raise InputError(f"The model knows none of these {what}: {named}.")
    return used


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
