"""Questions and their answers: which procedures, and why.

Several questions are answered in one pass: the model is asked about all their stays at once. Each gets the answer that
it would get alone, to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dx2px.answers import results
from dx2px.answers.facts import Facts
from dx2px.answers.families import with_family
from dx2px.answers.given import check_top, given_codes
from dx2px.answers.lookup import Found
from dx2px.answers.question import Question, read, shown, stays_of, usable
from dx2px.answers.remarks import remarks_on
from dx2px.answers.stay import Stay, plan_of
from dx2px.errors import InputError, ModelError
from dx2px.scoring import candidates
from dx2px.scoring.plans import PlanChoice
from dx2px.scoring.ranking import top_l

if TYPE_CHECKING:
    from dx2px.answers.model import Model


@dataclass(frozen=True, eq=False)
class Asked:
    """The arguments of `Model.explain`."""

    codes: str | Sequence[str]
    procedures: str | Sequence[str] | None
    top: int
    coverage: float | None
    map: bool
    plan: PlanChoice
    with_reasons: int | None
    facts: Facts

    @property
    def only_best(self) -> bool:
        """Whether the few best procedures are all that is asked for."""
        return self.procedures is None and self.coverage is None and self.top <= candidates.TOP


def explain_each(model: Model, asked: Sequence[Asked]) -> list[results.Explanation | InputError]:
    """What `Model.explain` would return for each, or the error that it would raise."""
    found = [_read(model, one) for one in asked]
    stays = iter(stays_of(model, [one for one in found if isinstance(one, Question)]))
    return [
        _answer(model, next(stays), how) if isinstance(one, Question) else one
        for how, one in zip(asked, found, strict=True)
    ]


def _read(model: Model, asked: Asked) -> Question | InputError:
    try:
        check_top(asked.top)
        question = read(model, asked.codes, asked.map, asked.facts)
        return question.narrowed(model) if asked.only_best else question
    except InputError as error:
        return error


def _answer(model: Model, stay: Stay, asked: Asked) -> results.Explanation | InputError:
    try:
        if asked.procedures is not None:
            return _explained(model, stay, _named(model, stay, asked.procedures), asked)
        return _best(model, stay, asked)
    except InputError as error:
        return error


def _named(model: Model, stay: Stay, procedures: str | Sequence[str]) -> list[Found]:
    """The procedures that were named, none of which may be coded already."""
    named = model.procedures.find_all(given_codes(procedures, "procedures"))
    if again := {found.code for found in named} & set(stay.further):
        raise InputError(f"{shown(sorted(again))}: coded already, so there is nothing to explain.")
    return named


def _best(model: Model, stay: Stay, asked: Asked) -> results.Explanation:
    """The procedures with the highest scores, or those of a coverage."""
    cover, members = (None, None) if asked.coverage is None else _cover(model, stay, asked.coverage)
    best = top_l(stay.scores[None, :], asked.top if members is None else len(stay.scores))[0]
    best = best[np.isfinite(stay.scores[best])]  # coded ones come last
    ranks = range(1, len(best) + 1) if members is None else (members[best].nonzero()[0] + 1).tolist()
    chosen = best if members is None else best[members[best]]
    found = [model.procedures.at(index) for index in stay.procedures(chosen)]
    return _explained(model, stay, found, asked, cover, ranks)


def _explained(
    model: Model,
    stay: Stay,
    found: Sequence[Found],
    asked: Asked,
    cover: results.Coverage | None = None,
    ranks: Sequence[int] | None = None,
) -> results.Explanation:
    """The one way from a stay and a choice of procedures to an answer."""
    known = usable(model, found, "procedure")
    first = known if asked.with_reasons is None else known[: asked.with_reasons]
    plan = plan_of(model.files, stay, [index for one in first for index in one.members], asked.plan)
    explained = {one.code: one for one in stay.explained(known, plan, ranks)}
    answered = tuple(
        [with_family(explained.get(one.code) or unexplained_procedure(one), stay.diagnoses) for one in found]
    )
    groups = _alternatives(model, [one.index for one in known if one.index is not None])
    named = [] if asked.procedures is None else given_codes(asked.procedures, "procedures")
    remarks = remarks_on(model, given_codes(asked.codes, "diagnoses"), named, asked.facts)
    rest = cover, stay.mapping, stay.evidence, groups, remarks
    return results.Explanation(model.source, stay.diagnoses, answered, plan, *rest)


def unexplained_procedure(found: Found) -> results.Procedure:
    """A procedure without numbers."""
    return results.Procedure(found.code, found.title, found.status)


def _alternatives(model: Model, procedures: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """Those of some procedures that exclude each other, in groups."""
    calibration = model.files.calibration
    groups = [] if calibration is None else calibration.alternatives.groups(procedures)
    return tuple(tuple(model.files.procedures[index] for index in group) for group in groups)


def _cover(model: Model, stay: Stay, coverage: float) -> tuple[results.Coverage, NDArray[np.bool_]]:
    """What is promised, and which procedures keep the promise, (p,): the most probable ones."""
    calibration = model.files.calibration
    if calibration is None or stay.likely is None:
        raise ModelError("This model has no calibration, so it cannot promise a coverage: train it again.")
    likely = calibration.limited(stay.likely[None])
    members = calibration.members(likely, coverage, question=True)[0] & np.isfinite(stay.scores)
    least = calibration.threshold(coverage, question=True)
    return results.Coverage(coverage, int(members.sum()), least), members
