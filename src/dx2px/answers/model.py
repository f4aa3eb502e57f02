"""A loaded model and the questions it answers: which procedures, why, and which codes are near."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from dx2px.answers import results
from dx2px.answers.asking import Asked, explain_each, unexplained_procedure
from dx2px.answers.facts import NOTHING, Facts, Told, answer_rows, evidence_row, told
from dx2px.answers.given import check_top, given_codes
from dx2px.answers.lookup import Found, Lookup, ambiguous
from dx2px.answers.question import asked_of, diagnosis_of, read, stays_of
from dx2px.answers.remarks import remarks_on
from dx2px.answers.shipped import ProcedureSystem, model_path
from dx2px.answers.stay import merged, no_vectors, own_kind
from dx2px.codes import Hit, Kind, Notation, System, Usage, text_only
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, InputError, ModelError
from dx2px.ragged import Index, Ragged
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.candidates import Candidates
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import EvidenceLayout, layout_of
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.plans import Plan, PlanChoice
from dx2px.scoring.ranking import top_l
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles, directions
from dx2px.words import called

_MAKING = Lock()


@dataclass(frozen=True, eq=False)
class Support:
    """The shares of a stay's rows in a procedure: first its diagnoses, then the `further` evidence."""

    shares: Doubles
    further: tuple[str, ...]


class Model:
    """A saved model that answers questions. It reproduces how stays were coded; it is not medical advice.

    Use `Model.load` to read one.
    """

    def __init__(self, files: ModelFiles, *, full: bool = False) -> None:
        self.files, self.full = files, full
        self.scorer = files.scorer()
        self.shown: dict[
            str, results.Diagnosis
        ] = {}  # what answers show of its diagnoses, each once asked about
        self.back_off = BackOff(files)
        try:
            self.diagnoses = Lookup(Vocabulary(files.diagnoses), "diagnosis", self.back_off)
            self.procedures = Lookup(Vocabulary(files.procedures), "procedure", counts=files.procedure_counts)
        except CodeError as error:
            raise ModelError(f"The model's vocabulary cannot be used: {error}") from error

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        answer_in: ProcedureSystem | None = None,
        full: bool = False,
    ) -> Model:
        """Read a model folder. Names, hashes, shapes and finiteness are checked; no code from the folder is run.

        Args:
            path: A folder that `dx2px train` or `Trained.save` wrote, or the name of a model in the package. The
                package's default model if None.
            answer_in: Without a path, the package's model whose procedures are of this system: `icd9pcs`, the default,
                or `icd10pcs`. With a path, the model must answer so.
            full: Score all procedures for every answer. From 5,000 on, the best few are otherwise found among
                candidates, and sums over the others are estimated; docs/scale.md has how near that comes.

        Raises:
            ModelError: The folder is missing, damaged or of another format; the message says which. Or the model does
                not answer in the system asked for.
        """
        model = cls(read_folder(model_path(path, answer_in)), full=full)
        if answer_in is not None and answer_in not in model.procedures.systems:
            own = Notation.of(model.files.procedures).name
            raise ModelError(
                f"This model answers in {own}, not in {System(answer_in).edition}: choose another one."
            )
        return model

    def __repr__(self) -> str:
        sizes = len(self.files.diagnoses), len(self.files.procedures)
        return f"Model({self.files.method}, {sizes[0]:,} diagnoses, {sizes[1]:,} procedures)"

    @property
    def diagnosis_vectors(self) -> NDArray[np.float32]:
        """The vectors of the diagnoses (U), one row per code, in the order of the model's vocabulary."""
        return self._vectors("U")

    @property
    def procedure_vectors(self) -> NDArray[np.float32]:
        """The vectors of the procedures (V), one row per code, in the order of the model's vocabulary."""
        return self._vectors("V")

    def recommend(
        self,
        codes: str | Sequence[str],
        top: int = 5,
        *,
        coverage: float | None = None,
        map: bool = True,  # noqa: A002
        **facts: Unpack[Facts],
    ) -> results.Recommendation:
        """Recommend procedures for a stay's diagnoses, each with the diagnoses it comes from.

        Probabilities count with diagnoses of the stay that are not named.

        Args:
            codes: The diagnoses, as people write them (`585.6`, `5856`) or canonical; a single text is one code.
            top: How many procedures to return.
            coverage: If given, such as 0.9, return instead the set of procedures that holds this share of a stay's
                procedures on average: the most probable ones.
            map: Translate diagnoses of the other ICD version by the public maps; False refuses them.
            facts: What else is known, each if it is known: `principal` (a diagnosis), `age` in years, `sex` (F or M),
                `admission` (a type that the model knows) and `coded` (procedures that are coded already, which are
                not recommended again).

        Returns:
            The diagnoses with their significance, the procedures (best score first), and the plan between them.

        Raises:
            UnknownCodesError: The model knows none of the diagnoses.
            OtherVersionError: `map` is False, and a diagnosis is of an ICD version that the model does not know.
            CodeError: A text may mean several codes.
            ModelError: `coverage` is given, but the model has no calibration; or a fact that it takes no account of.
        """
        return results.Recommendation.of(self.explain(codes, top=top, coverage=coverage, map=map, **facts))

    def explain(
        self,
        codes: str | Sequence[str],
        procedures: str | Sequence[str] | None = None,
        top: int = 5,
        *,
        coverage: float | None = None,
        map: bool = True,  # noqa: A002
        plan: PlanChoice = "own",
        with_reasons: int | None = None,
        **facts: Unpack[Facts],
    ) -> results.Explanation:
        """Explain which diagnoses lead to which procedures.

        Args:
            codes: The diagnoses, as people write them (`585.6`, `5856`) or canonical; a single text is one code.
            procedures: The procedures to explain; the best ones by default, as `recommend` gives them.
            top: How many of the best to explain if `procedures` is None.
            coverage: If given, explain instead the set that holds this share of a stay's procedures on average.
            map: Translate diagnoses of the other ICD version by the public maps; False refuses them.
            plan: `own` for the plan that the model's scores come from, `transport` for the paper's plan.
            with_reasons: Give reasons, and a column in the plan, only to the first so many of the procedures. All
                of them by default; 200 diagnoses and 500 procedures make an answer of 10 MB.
            facts: What else is known, each if it is known: `principal` (a diagnosis), `age` in years, `sex` (F or M),
                `admission` (a type that the model knows) and `coded` (procedures that are coded already, which are
                not recommended again).

        Returns:
            Diagnoses, procedures and the plan between them; `to_dict` gives the document of `dx2px explain --json`.

        Raises:
            UnknownCodesError: The model knows none of the diagnoses, or none of the procedures.
            OtherVersionError: `map` is False, and a diagnosis is of an ICD version that the model does not know.
            CodeError: A text may mean several codes.
            ModelError: `coverage` is given, but the model has no calibration; or the paper's plan is asked of a
                method without vectors.
        """
        asked = Asked(codes, procedures, top, coverage, map, plan, with_reasons, facts)
        [answer] = explain_each(self, [asked])
        if isinstance(answer, InputError):
            raise answer
        return answer

    def unexplained(
        self,
        codes: Sequence[str],
        procedures: Sequence[str] = (),
        *,
        map: bool = True,  # noqa: A002
        **facts: Unpack[Facts],
    ) -> results.Explanation:
        """An explanation with an empty plan, for codes none of which the model knows: it says what each code is."""
        asked, mapping, about = asked_of(self, codes, map, facts)
        diagnoses = tuple(diagnosis_of(self, found, about) for found in asked)
        evidence: tuple[results.EvidenceRow, ...] = ()
        if any(found.status != "unknown" for found in asked):
            [stay] = stays_of(self, [read(self, codes, map, facts)])
            diagnoses, evidence = stay.diagnoses, stay.evidence
        named = given_codes(procedures, "procedures")
        answered = tuple(unexplained_procedure(found) for found in self.procedures.find_all(named))
        plan = Plan(own_kind(self.files), self.files.method)
        remarks = remarks_on(self, given_codes(codes, "diagnoses"), named, facts)
        return results.Explanation(
            self.source, diagnoses, answered, plan, mapping=mapping, evidence=evidence, remarks=remarks
        )

    @cached_property
    def source(self) -> results.Source:
        """What identifies the model in its answers."""
        return results.Source(self.files.method, self.files.version, fingerprint(self.files))

    def recommend_many(self, stays: Any, top: int = 5, *, map: bool = True) -> Any:  # noqa: A002
        """Recommend procedures for many stays: one row per stay and procedure, best first.

        The stays count as whole: a diagnosis that is not there is absent. `recommend` asks about a part of a stay.

        Args:
            stays: Lists of diagnoses, one per stay; or a data frame (pandas, polars, pyarrow) with a column
                `diagnoses` of such lists and, where they are known, `stay_id`, `principal`, `age`, `sex`, `admission`.
            top: How many procedures per stay.
            map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

        Returns:
            A data frame of the same library with `stay_id`, `rank`, `code`, `title`, `probability` and `score`. A stay
            without a diagnosis that the model can use has one row without a procedure.
        """
        from dx2px.answers.stay_frames import recommend_many

        return recommend_many(self, stays, top, map)

    def score_frame(self, frame: Any, top: int = 10, *, map: bool = True) -> Any:  # noqa: A002
        """What `dx2px score` writes for a file, for a data frame of stays: one row per stay.

        Args:
            frame: A data frame (pandas, polars, pyarrow) with a column `diagnoses` of lists, and other columns as in
                `recommend_many`.
            top: How many procedures per stay.
            map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

        Returns:
            A data frame of the same library with `stay_id`, `recommendations`, `scores`, `probabilities` and how many
            diagnoses were known, backed off and unknown.
        """
        from dx2px.answers.stay_frames import score_frame

        return score_frame(self, frame, top, map)

    def neighbors(self, code: str, top: int = 10) -> results.Neighbors:
        """The codes whose vectors point most nearly the same way, by cosine.

        Args:
            code: A diagnosis or procedure.
            top: How many of each kind.

        Raises:
            InputError: The model does not know the code, or its method has no vectors.
        """
        check_top(top)
        sides = ((self.diagnoses, self.diagnosis_vectors), (self.procedures, self.procedure_vectors))
        fitting = [(text, lookup, X) for lookup, X in sides for text in lookup.candidates(text_only(code))]
        if not fitting:
            from dx2px.answers.advice import advice

            meant = [one.text for lookup, _ in sides if (one := advice(self, code, lookup.kind))]
            raise InputError(" ".join([f"The model does not know the code {code.strip()[:40]!r}.", *meant]))
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
        """Calibrated probabilities from the scores of whole stays.

        Args:
            scores: The scores of all procedures, one row per stay.
            places: Columns to return for each stay; all by default.

        Returns:
            The probabilities, or None if the model has no calibration.
        """
        calibration = self.files.calibration
        return None if calibration is None else calibration.probability(scores, places)

    def extended(self, codes: Iterable[str]) -> Model:
        """A model that also knows diagnoses which known sibling codes can stand in for.

        Args:
            codes: Canonical diagnoses; those without known siblings are ignored.
        """
        return Model(self.back_off.extended(list(codes)), full=self.full)

    def told(self, facts: Facts) -> Told:
        """What a question tells besides diagnoses, as this model reads it."""
        return told(facts, self.layout, self.diagnoses, self.procedures)

    def support(self, scorer: Scorer, values: Index, shares: Doubles) -> Support:
        """The shares of a stay's rows, as those of its diagnoses and of the other evidence by name."""
        layout = layout_of(scorer)
        place, further = answer_rows(layout, values)
        names = [evidence_row(layout, row, self.procedures).code for row in further] if layout else []
        return Support(merged(shares, place), tuple(names))

    def find(self, text: str, kind: Kind = "diagnosis", top: int = 10) -> list[Hit]:
        """Codes by code, words, everyday words (`heart attack`) or in spite of typing mistakes (`diabetis`).

        Args:
            text: What was typed, finished or not.
            kind: `diagnosis` or `procedure`.
            top: How many codes.

        Returns:
            Codes that the model knows first; better fits and more used codes at the top.
        """
        from dx2px.answers.finding import find_codes

        return find_codes(self, text, kind, top)

    @cached_property
    def usage(self) -> Usage:
        """In how many training stays each code is, for searches; empty if the model does not say."""
        files = self.files
        counted = ((files.diagnoses, files.diagnosis_counts), (files.procedures, files.procedure_counts))
        known = [zip(codes, stays, strict=True) for codes, stays in counted if stays is not None]
        return Usage({code: stays for pairs in known for code, stays in pairs})

    @cached_property
    def layout(self) -> EvidenceLayout | None:
        """What the model takes as evidence besides diagnoses; None if nothing."""
        return layout_of(self.scorer)

    @cached_property
    def candidates(self) -> Candidates | None:
        """What finds the best procedures without scoring all; None where all are scored."""
        return None if self.full else Candidates.of(self.files, self.scorer)

    def candidates_of(self, scorer: Scorer) -> Candidates | None:
        """The same for the model's scorer or that of stand-ins; None for another."""
        if self.candidates is None or scorer is self.scorer:
            return self.candidates
        return self._candidates_of_stand_ins if scorer is self.stand_ins else None

    @cached_property
    def _candidates_of_stand_ins(self) -> Candidates | None:
        return Candidates.of(self.files, self.stand_ins)

    @property
    def stand_ins(self) -> Scorer:
        """Knows the vocabulary and, after it, every heading that can stand in for a code."""
        with _MAKING:  # threads that score a file must all have the same one
            return self._stand_ins

    @cached_property
    def _stand_ins(self) -> Scorer:
        own, under = self.files.diagnoses, self.back_off.under
        members = [*((index,) for index in range(len(own))), *under.values()]
        return self.back_off.rows([*own, *under], members).scorer()

    @cached_property
    def headings(self) -> dict[str, int]:
        """The place of each heading among those of `stand_ins`."""
        return {heading: place for place, heading in enumerate(self.back_off.under)}

    def rows_of(
        self, used: Sequence[Found], about: Told = NOTHING
    ) -> tuple[Ragged, Scorer, NDArray[np.float32] | None]:
        """A stay as one row of evidence, the scorer whose indices these are, and the vectors of the diagnoses.

        The model's own scorer does where it knows all the codes; else one is made for this stay's codes alone or, where
        answers do not score all procedures, one for all stand-ins, once: the other would each time copy all procedures.
        """
        if all(found.index is not None for found in used):
            known = [index for found in used for index in found.members]
            vectors = self.files.arrays["U"][known] if "U" in self.files.arrays else None
            scorer = self.scorer
        elif self.candidates is not None and len(set(places := self._stood_in(used))) == len(used):
            known, scorer = places, self.stand_ins
            vectors = cast(CouplingScorer, scorer).U[known]
        else:
            own = self.back_off.rows([found.code for found in used], [found.members for found in used])
            known, vectors, scorer = list(range(len(used))), own.arrays.get("U"), own.scorer()
        if (layout := layout_of(scorer)) is not None:
            facts = about.numbers([found.code for found in used], known)
            known = layout.rows_of_stay(known, facts, about.known_codes)
        return Ragged.of_one(known), scorer, vectors

    def _stood_in(self, used: Sequence[Found]) -> list[int]:
        """The rows of `stand_ins` that stand for diagnoses."""
        size = len(self.files.diagnoses)
        return [
            one.members[0] if one.siblings is None else size + self.headings[one.siblings.heading]
            for one in used
        ]

    def _vectors(self, name: str) -> NDArray[np.float32]:
        if name not in self.files.arrays:
            raise no_vectors(self.files.method)
        return self.files.arrays[name]


def check_model(value: object) -> None:
    """Refuse what is no model, such as the name of one."""
    if not isinstance(value, Model):
        raise InputError(f"Give a model, as dx2px.load('nhds2010') returns it, not {called(value)}.")


def _nearest(lookup: Lookup, cosines: Doubles, top: int, found: Found) -> tuple[results.Neighbor, ...]:
    itself = lookup.vocabulary.get(found.code)
    order = [index for index in top_l(cosines[None, :], top + 1)[0].tolist() if index != itself][:top]
    others = (lookup.at(index) for index in order)
    return tuple(
        results.Neighbor(other.code, other.title, float(cosines[index]))
        for index, other in zip(order, others, strict=True)
    )
