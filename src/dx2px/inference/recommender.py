"""A loaded model and the questions it answers: which procedures, why, and which codes are near."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, InputError, ModelError, UnknownCodesError
from dx2px.inference import results
from dx2px.inference.back_off import BackOff
from dx2px.inference.identity import fingerprint
from dx2px.inference.lookup import Found, Lookup, ambiguous
from dx2px.inference.mapping import map_codes
from dx2px.inference.plans import Plan, PlanChoice
from dx2px.inference.scoring import Scorer, scorer_for
from dx2px.inference.stay import Stay, no_vectors, own_kind, plan_of
from dx2px.inference.transport import Doubles, directions
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
        plan = plan_of(self.files, stay, best)
        recommended = []
        for rank, (index, because) in enumerate(zip(best, stay.reasons(plan.shares), strict=True), start=1):
            found = self.procedures.at(index)
            probability = stay.probability(index)
            recommended.append(results.Recommended(rank, found.code, found.title, probability, because))
        return results.Recommendation(stay.diagnoses, tuple(recommended), plan, cover, stay.mapping)

    def explain(
        self,
        codes: Sequence[str],
        procedures: Sequence[str] | None = None,
        top: int = 5,
        *,
        map: bool = False,  # noqa: A002
        plan: PlanChoice = "own",
    ) -> results.Explanation:
        """What leads to the given procedures, or else to the best `top`: the model's own plan, or the paper's."""
        _check_top(top)
        stay = self._stay(codes, map)
        if procedures is None:
            asked = [self.procedures.at(int(index)) for index in top_l(stay.scores[None, :], top)[0]]
        else:
            asked = self.procedures.find_all(procedures)
        known = [found.index for found in _usable(asked, "procedures") if found.index is not None]
        made = plan_of(self.files, stay, known, plan)
        reasons = dict(zip(known, stay.reasons(made.shares), strict=True))
        shown = tuple(_explained(found, stay, reasons) for found in asked)
        return results.Explanation(self.source, stay.diagnoses, shown, made, stay.mapping)

    def unexplained(
        self,
        codes: Sequence[str],
        procedures: Sequence[str] = (),
        *,
        map: bool = False,  # noqa: A002
    ) -> results.Explanation:
        """An explanation with an empty plan: what the codes are, where the model knows none of them to explain."""
        asked, mapping = self._asked(codes, map)
        some = any(found.status != "unknown" for found in asked)
        told = self._stay(codes, map).diagnoses if some else tuple(_diagnosis(found) for found in asked)
        shown = tuple(
            results.Procedure(found.code, found.title, found.status)
            for found in self.procedures.find_all(procedures)
        )
        return results.Explanation(
            self.source, told, shown, Plan(own_kind(self.files), self.files.method), mapping
        )

    @cached_property
    def source(self) -> results.Source:
        """What the model is called in explanations."""
        return results.Source(self.files.method, self.files.version, fingerprint(self.files))

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

    def _asked(
        self, codes: Sequence[str], map_: bool
    ) -> tuple[list[Found], tuple[results.Mapped, ...] | None]:
        if not map_:
            return self.diagnoses.find_all(codes), None
        put, mapping = map_codes(codes, self.diagnoses, self.files.diagnosis_counts)
        return self.diagnoses.find_all(put), mapping

    def _stay(self, codes: Sequence[str], map_: bool = False) -> Stay:
        asked, mapping = self._asked(codes, map_)
        used = _usable(asked, "diagnoses")
        rows, scorer, vectors = self.rows_of(used)
        mu = scorer.significance(rows).astype(np.float64)
        mu /= mu.sum()  # exactly 1 in double precision, as the transport needs it
        weight = {found.code: share for found, share in zip(used, mu.tolist(), strict=True)}
        shown = tuple(_diagnosis(found, weight.get(found.code, 0.0), mapping) for found in asked)
        scores = scorer.scores(rows)
        probabilities = self.probabilities(scores)
        likely = None if probabilities is None else probabilities[0]
        return Stay(shown, tuple(weight), scorer, rows, vectors, mu, scores[0], likely, mapping)

    def rows_of(self, used: Sequence[Found]) -> tuple[Ragged, Scorer, NDArray[np.float32] | None]:
        """The stay as a row of a scorer, and its vectors; where siblings stand in, a scorer of its codes alone."""
        if all(found.index is not None for found in used):
            known = [index for found in used for index in found.members]
            vectors = self.files.arrays["U"][known] if "U" in self.files.arrays else None
            return Ragged.from_lists([known]), self.scorer, vectors
        own = self.back_off.rows([found.code for found in used], [found.members for found in used])
        return Ragged.from_lists([range(len(used))]), scorer_for(own), own.arrays.get("U")

    def _cover(self, stay: Stay, coverage: float) -> results.Coverage:
        calibration = self.files.calibration
        if calibration is None or stay.probabilities is None:
            raise ModelError("This model has no calibration, so it can promise no coverage: train it anew.")
        members = calibration.members(stay.probabilities[None, :], coverage)
        return results.Coverage(coverage, int(members.sum()), calibration.threshold(coverage))

    def _vectors(self, name: str) -> NDArray[np.float32]:
        if name not in self.files.arrays:
            raise no_vectors(self.files.method)
        return self.files.arrays[name]


def _diagnosis(
    found: Found, significance: float = 0.0, mapping: tuple[results.Mapped, ...] | None = None
) -> results.Diagnosis:
    sources = tuple(one.code for one in mapping or () if found.code in one.to)
    return results.Diagnosis(found.code, found.title, significance, found.status, found.stand_in, sources)


def _explained(found: Found, stay: Stay, reasons: dict[int, tuple[results.Reason, ...]]) -> results.Procedure:
    index = found.index
    if index is None:
        return results.Procedure(found.code, found.title, found.status)
    return results.Procedure(
        found.code,
        found.title,
        found.status,
        stay.probability(index),
        float(stay.scores[index]),
        stay.rank(index),
        reasons[index],
    )


def _usable(asked: Sequence[Found], what: str) -> list[Found]:
    """Codes that are known or backed off; an error when there is none."""
    used = [found for found in asked if found.status != "unknown"]
    if not asked:
        raise InputError(f"No {what} were given: write at least one code.")
    if not used:
        named = ", ".join(found.code for found in asked[:_NAMED]) + (", …" if len(asked) > _NAMED else "")
        raise UnknownCodesError(f"The model knows none of these {what}: {named}.")
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
