"""What a model answers, as plain dictionaries: the one place where the service asks it.

If the model refuses, the problem names no code. That the model knows none of the codes is an answer, not an error:
they come back with the status `unknown`, and nothing is recommended.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Unpack

from dx2px.answers import Explanation, Model, PlanChoice, Recommendation
from dx2px.answers.asking import Asked, explain_each
from dx2px.answers.audit import audit_stay
from dx2px.answers.defects import AuditSettings
from dx2px.answers.facts import Facts
from dx2px.answers.lookup import Lookup
from dx2px.answers.mapping import of_other_version
from dx2px.answers.results import SCOPE
from dx2px.answers.shipped import ProcedureSystem, asked_in, audited_in, siblings
from dx2px.answers.stay import own_kind
from dx2px.codes import Kind, dotted, split
from dx2px.errors import CodeError, InputError, ModelError, OtherVersionError, UnknownCodesError
from dx2px.service.problems import ProblemError, refuse
from dx2px.service.schemas import MOST_TOP
from dx2px.version import __version__

_TESTED_AT_A_TIME = 50


class Answers:
    """A loaded model that the routes ask."""

    def __init__(self, model: Model, others: Sequence[Answers] = ()) -> None:
        self.model, self.others = model, tuple(others)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Answers:
        """Read a model folder, test the model, and prepare what the first questions would otherwise wait for.

        Beside the package's default model, its other models answer in their systems.
        """
        others = [cls.load(other) for other in siblings(path)]
        answers = cls(Model.load(path), others)
        answers.self_test()
        return answers

    def answering(self, diagnoses: Sequence[str], answer_in: ProcedureSystem | None = None) -> Answers:
        """Those whose procedures are of the system asked for or, if none is, of that of the diagnoses."""
        if answer_in is None and not self.others:
            return self
        return self._of_system(answer_in or asked_in(diagnoses), answer_in)

    def auditing(
        self, diagnoses: Sequence[str], procedures: Sequence[str], answer_in: ProcedureSystem | None = None
    ) -> Answers:
        """Those whose procedures are of the system asked for or, if none is, of that of the coded ones."""
        return self._of_system(answer_in or audited_in(diagnoses, procedures), answer_in)

    def _of_system(self, wanted: ProcedureSystem, answer_in: ProcedureSystem | None) -> Answers:
        for one in (self, *self.others):
            if wanted in one.model.procedures.systems:
                return one
        if answer_in is not None:
            raise refuse(409, "not-with-this-model", "The service has no model that answers in this system.")
        return self

    def recommend(
        self,
        diagnoses: Sequence[str],
        top: int,
        coverage: float | None = None,
        mapped: bool = True,
        **facts: Unpack[Facts],
    ) -> dict[str, Any]:
        """The best procedures for diagnoses; without `mapped`, those of the other ICD version are refused."""
        asked = self.question(diagnoses, None, top, coverage, mapped, "own", facts)
        return Recommendation.of(self._explained(asked)).to_dict()

    def explain(
        self,
        diagnoses: Sequence[str],
        procedures: Sequence[str] | None,
        top: int,
        coverage: float | None = None,
        mapped: bool = True,
        plan: PlanChoice = "own",
        **facts: Unpack[Facts],
    ) -> dict[str, Any]:
        """What leads to procedures; the plan is empty if the model knows none of the diagnoses or procedures."""
        return self._explained(
            self.question(diagnoses, procedures, top, coverage, mapped, plan, facts)
        ).to_dict()

    def question(
        self,
        diagnoses: Sequence[str],
        procedures: Sequence[str] | None,
        top: int,
        coverage: float | None,
        mapped: bool,
        plan: PlanChoice,
        facts: Facts,
    ) -> Asked:
        """A question for `explain_each`, or the problem that it is."""
        self._check_facts(facts)
        if procedures is not None and self._some_are_coded(procedures, facts):
            raise refuse(409, "already-coded", "A procedure to be explained is coded already.")
        # A coverage may need most procedures: the reasons of all are megabytes.
        return Asked(diagnoses, procedures, top, coverage, mapped, plan, MOST_TOP, facts)

    def explain_each(self, asked: Sequence[Asked]) -> list[Explanation | Exception]:
        """The answer to each question, or the problem that it is."""
        found = zip(asked, explain_each(self.model, asked), strict=True)
        return [
            self._refused(one, answer) if isinstance(answer, InputError) else answer for one, answer in found
        ]

    def _explained(self, asked: Asked) -> Explanation:
        [answer] = self.explain_each([asked])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _refused(self, asked: Asked, error: InputError) -> Explanation | Exception:
        """The problem; that the model knows none of the codes is none."""
        if not isinstance(error, UnknownCodesError):
            return _refusal(error)
        try:
            return self.model.unexplained(asked.codes, asked.procedures or (), map=asked.map, **asked.facts)
        except InputError as other:
            return _refusal(other)

    def audit(
        self,
        name: str | None,
        diagnoses: Sequence[str],
        procedures: Sequence[str],
        settings: AuditSettings | None = None,
        mapped: bool = True,
        **facts: Unpack[Facts],
    ) -> dict[str, Any]:
        """What to look at in a coded stay; without `mapped`, diagnoses of the other ICD version are refused."""
        self._check_facts(facts)
        try:
            found = audit_stay(self.model, diagnoses, procedures, settings, id=name, map=mapped, **facts)
        except InputError as error:
            raise _refusal(error) from None
        named = {one.code for finding in found.findings for one in finding.because}
        evidence = [about for code, about in self._context.items() if code in named]
        return found.to_dict() | ({"evidence": evidence} if evidence else {})

    def _check_facts(self, facts: Facts) -> None:
        """Refuse what the model does not take; its own sentence names no value that was sent."""
        try:
            self.model.told(facts)
        except CodeError as error:
            raise _refusal(error) from None
        except InputError as error:
            raise refuse(409, "not-with-this-model", str(error)) from None

    def _some_are_coded(self, procedures: Sequence[str], facts: Facts) -> bool:
        try:
            asked = self.model.procedures.find_all(procedures)
        except CodeError as error:
            raise _refusal(error) from None
        coded = {found.code for found in self.model.told(facts).coded}
        return any(found.code in coded for found in asked)

    def neighbors(self, code: str, top: int) -> dict[str, Any]:
        """The codes nearest to a code."""
        try:
            return self.model.neighbors(code, top).to_dict()
        except (CodeError, ModelError) as error:
            raise _refusal(error) from None
        except InputError:
            raise refuse(404, "unknown-code", "The model knows no such code.") from None

    def codes(self, query: str, kind: Kind, limit: int) -> dict[str, Any]:
        """Codes that match what has been typed so far: those that the model knows first, of both ICD versions."""
        lookup = self._lookups[kind]
        return {"codes": [_found(hit.code, hit.title, lookup) for hit in self.model.find(query, kind, limit)]}

    def describe(self) -> dict[str, Any]:
        """What the model is, and what was measured of it."""
        files = self.model.files
        measured = files.measured or {"top": {}}
        return {
            "method": files.method,
            "version": __version__,
            "made_by": files.version,
            "diagnoses": len(files.diagnoses),
            "procedures": len(files.procedures),
            "systems": [system.value for lookup in self._lookups.values() for system in lookup.systems],
            "answers_in": [
                system.value for one in (self, *self.others) for system in one.model.procedures.systems
            ],
            "plan": own_kind(files),
            "evidence": self._taken,
            "metrics": [{"top": int(top), **rates} for top, rates in measured["top"].items()],
            "calibration": measured.get("calibration"),
            "card": files.card,
            "scope": SCOPE,
        }

    def known_codes(self, codes: Sequence[str], kind: Kind = "diagnosis") -> list[str]:
        """The codes that the model knows these canonical codes by, each once: themselves, or families of procedures."""
        found = (self._known_by(code, kind) for code in codes)
        return list(dict.fromkeys(code for code in found if code is not None))

    def _known_by(self, code: str, kind: Kind) -> str | None:
        if code in self._known[kind]:
            return code
        return self._lookups[kind].family_of(code) if kind == "procedure" else None

    def chosen(self, codes: Sequence[str]) -> str:
        """The code that the model knows, of a diagnosis coded in several systems; the first if it knows none."""
        return next(iter(self.known_codes(codes)), codes[0])

    def self_test(self) -> None:
        """Ask about every diagnosis once, which also prepares everything that is made on first use.

        A `ModelError` if an answer is not sound.
        """
        codes = list(self.model.files.diagnoses)
        for start in range(0, len(codes), _TESTED_AT_A_TIME):
            answer = self.model.recommend(codes[start : start + _TESTED_AT_A_TIME], 1)
            numbers = [one.significance for one in answer.diagnoses]
            numbers += [one.probability or 0.0 for one in answer.recommendations]
            if len(answer.recommendations) != 1 or not all(map(math.isfinite, numbers)):
                raise ModelError(
                    "The model fails its self-test: it gives no sound answer for some diagnoses."
                )
        for kind in self._lookups:
            self.codes("a", kind, 1)
            self.codes("0000000", kind, 1)
            self.codes("unspecifeid", kind, 1)
        self.recommend(["icd9cm:4280", "icd10cm:I509"], 1)

    @cached_property
    def takes_evidence(self) -> bool:
        """Whether the model takes more than diagnoses."""
        return self.model.layout is not None

    @cached_property
    def takes_principal(self) -> bool:
        """Whether the model takes a principal diagnosis."""
        return self.model.layout is not None and self.model.layout.principal

    @cached_property
    def _taken(self) -> dict[str, Any] | None:
        layout = self.model.layout
        if layout is None:
            return None
        return {
            "principal": layout.principal,
            "admissions": list(layout.admissions),
            "ages": list(layout.ages),
        }

    @cached_property
    def _context(self) -> dict[str, dict[str, Any]]:
        """What the context rows stand for, by their names in reasons."""
        rows = () if self.model.layout is None else self.model.layout.context_rows
        return {row.name: {"code": row.name, "kind": row.kind, "title": row.title} for row in rows}

    @cached_property
    def _lookups(self) -> dict[Kind, Lookup]:
        return {"diagnosis": self.model.diagnoses, "procedure": self.model.procedures}

    @cached_property
    def _known(self) -> dict[Kind, frozenset[str]]:
        files = self.model.files
        return {"diagnosis": frozenset(files.diagnoses), "procedure": frozenset(files.procedures)}


def _refusal(error: InputError) -> ProblemError:
    if isinstance(error, OtherVersionError):
        return refuse(
            409,
            "other-icd-version",
            "A diagnosis is of an ICD version that the model does not know; leave out `map` to have it translated.",
        )
    if isinstance(error, CodeError):
        return refuse(
            422,
            "ambiguous-code",
            "A code may belong to several coding systems: write each code with its system, as in icd9cm:4280.",
        )
    return refuse(
        409,
        "not-with-this-model",
        "The model lacks what this answer needs: a calibration, a calibration for this coverage, or code vectors.",
    )


def _found(code: str, text: str, lookup: Lookup) -> dict[str, Any]:
    return {
        "code": code,
        "dotted": dotted(code),
        "system": split(code)[0].edition,
        "title": text,
        "known": code in lookup.vocabulary,
        "other_version": of_other_version(code, lookup),
    }
