"""A question as it was put: from texts and facts to a `Stay` as a model sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dx2px.answers import results
from dx2px.answers.facts import Facts, Told, answer_rows, evidence_row
from dx2px.answers.given import given_codes
from dx2px.answers.lookup import Found
from dx2px.answers.mapping import map_codes
from dx2px.answers.stay import Stay, merged, own_kind
from dx2px.codes import Kind, Notation, dotted
from dx2px.errors import InputError, OtherVersionError, UnknownCodesError
from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.candidates import Narrowed
from dx2px.scoring.coupling import CouplingScorer, Scored
from dx2px.scoring.evidence import EvidenceLayout, layout_of
from dx2px.scoring.scorer import CouplingScores, Scorer
from dx2px.scoring.segments import Doubles

if TYPE_CHECKING:
    from dx2px.answers.model import Model

_NAMED, _ADVISED = 10, 3  # codes that an error message names at most, and says more about
_PLURALS: dict[Kind, str] = {"diagnosis": "diagnoses", "procedure": "procedures"}


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about a stay, as rows of a scorer."""

    asked: list[Found]  # the diagnoses
    mapping: tuple[results.Mapped, ...]
    about: Told
    used: list[Found]  # the diagnoses that count
    rows: Ragged  # one row: these and other evidence, as indices of the scorer
    scorer: Scorer  # the model's own, or one for this stay's rows alone
    vectors: NDArray[np.float32] | None  # of the diagnoses that count
    narrow: Narrowed | None = None  # what answers it from some of the procedures, in the scorer's place

    @property
    def members(self) -> list[int]:
        """The codes of the vocabulary that the diagnoses are, or that stand in for them."""
        return [index for found in self.used for index in found.members]

    def narrowed(self, model: Model) -> Question:
        """The same, to be answered from some of the procedures, where the model does that."""
        few = model.candidates_of(self.scorer)
        if few is None:
            return self
        narrow = few.narrowed(self.rows)
        return replace(self, scorer=narrow.scorer, narrow=narrow)

    def calibration(self, model: Model) -> Calibration | None:
        """What gives its probabilities."""
        return model.files.calibration if self.narrow is None else self.narrow.calibration


def read(model: Model, codes: str | Sequence[str], map_: bool, facts: Facts) -> Question:
    """A question about a stay, not scored yet."""
    asked, mapping, about = asked_of(model, codes, map_, facts)
    if about.coded and len(about.known_codes) == len(model.files.procedures):
        raise InputError("Every procedure that the model knows is coded already: nothing is left to find.")
    used = usable(model, asked, "diagnosis", mapping)
    return Question(asked, mapping, about, used, *model.rows_of(used, about))


def stays_of(model: Model, questions: Sequence[Question]) -> list[Stay]:
    """The stays that questions are about, with their scores: the same numbers as of each alone, in less time."""
    scored = _scored(model, questions)
    likely = _likely(model, questions, scored)
    return [_stay_of(model, *one) for one in zip(questions, scored, likely, strict=True)]


def _scored(model: Model, questions: Sequence[Question]) -> list[Scored]:
    """What the model's own scorer can answer in one pass is answered so."""
    own, explains = model.scorer, own_kind(model.files) == "coupling"
    if len(questions) == 1 or not isinstance(own, CouplingScorer):
        return [_scored_alone(one, explains) for one in questions]
    together = [one.rows.values for one in questions if one.scorer is own]
    found = iter(own.each(Ragged.from_lists(together)) if together else ())
    return [next(found) if one.scorer is own else _scored_alone(one, explains) for one in questions]


def _scored_alone(question: Question, explains: bool) -> Scored:
    scorer, rows = question.scorer, question.rows
    weights, scores = scorer.significance(rows), scorer.scores(rows)[0]
    return Scored(scores, weights, cast(CouplingScores, scorer).coupling(rows) if explains else None)


def _likely(
    model: Model, questions: Sequence[Question], scored: Sequence[Scored]
) -> Sequence[Doubles | None]:
    """The probabilities before alternatives, (p,) each; coded procedures make a question one of another kind."""
    found: list[Doubles | None] = [None] * len(questions)
    plain = [place for place, one in enumerate(questions) if not one.about.coded and one.narrow is None]
    alone = [[place] for place in range(len(questions)) if place not in plain]
    for places in [plain, *alone] if plain else alone:
        if (calibration := questions[places[0]].calibration(model)) is None:
            return found
        scores = np.stack([scored[place].scores for place in places])
        asked = Ragged.from_lists([questions[place].members for place in places])
        for place, p in zip(places, calibration.unlimited(scores, asked), strict=True):
            found[place] = p
    return found


def _stay_of(model: Model, question: Question, scored: Scored, likely: Doubles | None) -> Stay:
    asked, used, about = question.asked, question.used, question.about
    place, further = answer_rows(layout := layout_of(question.scorer), question.rows.values)
    mu = merged(scored.significance.astype(np.float64), place)
    mu /= mu.sum()  # exactly 1 in double precision, as the transport needs it
    shares = mu.tolist()
    weight = dict(zip([found.code for found in used], shares, strict=False))
    diagnoses = tuple(
        [
            diagnosis_of(model, one, about, question.mapping).weighing(weight.get(one.code, 0.0))
            for one in asked
        ]
    )
    evidence = _evidence(model, layout, further, shares[len(used) :], about)
    numbers = place, question.vectors, mu, scored.scores, scored.coupling
    rest = question.scorer, question.rows, *numbers, question.calibration(model), likely, question.mapping
    narrow = question.narrow
    return Stay(diagnoses, tuple(weight), evidence, *rest, None if narrow is None else narrow.chosen)


def asked_of(
    model: Model, codes: str | Sequence[str], map_: bool, facts: Facts
) -> tuple[list[Found], tuple[results.Mapped, ...], Told]:
    """The diagnoses, the principal one among them; how they were mapped; and what else was told."""
    about = model.told(facts)
    asked, mapping = _mapped(model, given_codes(codes, "diagnoses"), map_)
    if about.principal is None:
        return asked, mapping, about
    principal, own = _mapped(model, [about.principal.code], map_)
    listed_codes = {one.code for one in asked}
    unlisted = [one for one in principal if one.code not in listed_codes]
    mapping = tuple(dict.fromkeys((*own, *mapping)))
    return [*unlisted, *asked], mapping, replace(about, principal=principal[0])


def usable(
    model: Model, asked: Sequence[Found], kind: Kind, mapping: Sequence[results.Mapped] = ()
) -> list[Found]:
    """The codes that are known or backed off; an error if there are none, with what was probably meant."""
    used, what = [found for found in asked if found.status != "unknown"], _PLURALS[kind]
    if not any(found.code for found in asked):
        raise InputError(f"No {what} were given: give at least one code, such as 585.6.")
    if not used:
        from dx2px.answers.advice import advice

        meant = [one.text for found in asked[:_ADVISED] if (one := advice(model, found.code, kind))]
        typed = {target: one.code for one in mapping for target in one.to}
        names: list[Found | str] = [typed.get(found.code, found) for found in asked]
        if mapping:
            meant.append("The maps have nothing that it knows; `dx2px find` looks up codes by words.")
        raise UnknownCodesError(" ".join([f"The model knows none of these {what}: {shown(names)}.", *meant]))
    return used


def diagnosis_of(
    model: Model, found: Found, about: Told, mapping: tuple[results.Mapped, ...] = ()
) -> results.Diagnosis:
    """A diagnosis as an answer shows it, but for its significance."""
    principal = about.principal is not None and found.code == about.principal.code
    plain = not principal and not mapping and found.index is not None
    if plain and found.code in model.shown:
        return model.shown[found.code]
    sources = tuple(one.code for one in mapping if found.code in one.to)
    shown = found.code, found.title, 0.0, found.status, found.stand_in, sources
    made = results.Diagnosis(*shown, principal, _stays(model.files.diagnosis_counts, found))
    if plain:
        model.shown[found.code] = made
    return made


def shown(codes: Sequence[Found | str]) -> str:
    """Codes as people read them, the first few."""
    texts = [found.shown if isinstance(found, Found) else dotted(found) for found in codes[:_NAMED]]
    return ", ".join(texts) + (", …" if len(codes) > _NAMED else "")


def _mapped(model: Model, codes: Sequence[str], map_: bool) -> tuple[list[Found], tuple[results.Mapped, ...]]:
    put, mapping = map_codes(codes, model.diagnoses, model.files.diagnosis_counts)
    if mapping and not map_:
        own = Notation.of(model.files.diagnoses).name
        raise OtherVersionError(
            f"{shown([one.code for one in mapping])}: the model knows {own} diagnoses; leave out --no-map (map=False) "
            "to have others translated."
        )
    return put, mapping


def _evidence(
    model: Model, layout: EvidenceLayout | None, rows: Sequence[int], shares: Sequence[float], about: Told
) -> tuple[results.EvidenceRow, ...]:
    """Evidence besides diagnoses: what has a row in the model, then coded procedures that it does not know."""
    found = [
        evidence_row(layout, row, model.procedures, share, _coded_stays(model, row, layout))
        for row, share in zip(rows, shares, strict=True)
        if layout is not None
    ]
    unknown = (one for one in about.coded if one.index is None)
    found += [results.EvidenceRow(one.code, "coded", one.title, 0.0, "unknown") for one in unknown]
    return tuple(found)


def _coded_stays(model: Model, row: int, layout: EvidenceLayout) -> int | None:
    """Training stays with a coded procedure; None for other evidence."""
    _, coded, context = layout.starts
    counts = model.files.procedure_counts
    return counts[row - coded] if counts is not None and row < context else None


def _stays(counts: Sequence[int] | None, found: Found) -> int | None:
    """Training stays with a code, or with those that stand in for it; None if the model does not say."""
    return None if counts is None or not found.members else sum(counts[index] for index in found.members)
