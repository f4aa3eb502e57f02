"""What a model answers, as plain dictionaries: the one place where the service asks it.

A refusal becomes a problem that names no code. That a model knows none of the codes is an answer, not an error: they
come back as unknown, and nothing is recommended.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dx2px.codes import Kind, dotted, find, is_listed, title
from dx2px.errors import CodeError, InputError, ModelError, UnknownCodesError
from dx2px.inference import Model, PlanChoice
from dx2px.inference.audit import audit_stay
from dx2px.inference.lookup import Lookup
from dx2px.inference.results import SCOPE
from dx2px.inference.stay import own_kind
from dx2px.service.problems import ProblemError, refuse
from dx2px.version import __version__

_TESTED_AT_A_TIME = 50
_METRICS_ROW = re.compile(r"^\|\s*(\d+)\s*\|\s*([\d.]+)\s*\|\s*([\d.]+)\s*\|\s*([\d.]+)\s*\|$", re.MULTILINE)


class Answers:
    """A loaded model, asked by the routes."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Answers:
        """Read a model folder, try the model, and make ready what first questions would wait for."""
        answers = cls(Model.load(path))
        answers.self_test()
        return answers

    def recommend(
        self, diagnoses: Sequence[str], top: int, coverage: float | None = None, mapped: bool = False
    ) -> dict[str, Any]:
        """Procedures for diagnoses; with `mapped`, also for those of the other version of ICD."""
        try:
            return self.model.recommend(diagnoses, top, coverage=coverage, map=mapped).to_dict()
        except UnknownCodesError:
            told = self.model.unexplained(diagnoses, map=mapped).to_dict()
            asked = {name: told[name] for name in ("diagnoses", "mapping") if name in told}
            return asked | {"recommendations": []}
        except InputError as error:
            raise _refusal(error) from None

    def explain(
        self,
        diagnoses: Sequence[str],
        procedures: Sequence[str] | None,
        top: int,
        mapped: bool = False,
        plan: PlanChoice = "own",
    ) -> dict[str, Any]:
        """What leads to procedures; with an empty plan where the model knows none of either kind of code."""
        try:
            return self.model.explain(diagnoses, procedures, top, map=mapped, plan=plan).to_dict()
        except UnknownCodesError:
            return self.model.unexplained(diagnoses, procedures or (), map=mapped).to_dict()
        except InputError as error:
            raise _refusal(error) from None

    def audit(self, name: str | None, diagnoses: Sequence[str], procedures: Sequence[str]) -> dict[str, Any]:
        """What a coded stay has too much, and what it may lack."""
        try:
            return audit_stay(self.model, diagnoses, procedures, id=name).to_dict()
        except InputError as error:
            raise _refusal(error) from None

    def neighbors(self, code: str, top: int) -> dict[str, Any]:
        """The codes nearest to a code."""
        try:
            return self.model.neighbors(code, top).to_dict()
        except (CodeError, ModelError) as error:
            raise _refusal(error) from None
        except InputError:
            raise refuse(404, "unknown-code", "The model knows no such code.") from None

    def codes(self, query: str, kind: Kind, limit: int) -> dict[str, Any]:
        """Codes that match what was typed so far, those that the model knows first."""
        lookup = self._lookups[kind]
        known = self._known[kind]
        hits = [(hit.code, hit.title) for hit in find(query, lookup.systems, limit, known)]
        # A vocabulary may hold codes that no list has any more.
        hits = [
            (code, title(code).text) for code in lookup.candidates(query) if code not in dict(hits)
        ] + hits
        if len(hits) < limit:
            hits += [
                (hit.code, hit.title) for hit in find(query, lookup.systems, limit) if hit.code not in known
            ]
        hits = hits or self._of_other_system(query, lookup)
        return {"codes": [_found(code, text, code in known) for code, text in hits[:limit]]}

    def _of_other_system(self, query: str, lookup: Lookup) -> list[tuple[str, str]]:
        """A code of a system that the model has nothing of, typed in full: better shown as unknown than not at all."""
        try:
            found = lookup.find(query)
        except CodeError:
            return []
        return [(found.code, found.title)] if is_listed(found.code) else []

    def describe(self) -> dict[str, Any]:
        """What the model is."""
        files = self.model.files
        return {
            "method": files.method,
            "version": __version__,
            "made_by": files.version,
            "diagnoses": len(files.diagnoses),
            "procedures": len(files.procedures),
            "systems": [system.value for lookup in self._lookups.values() for system in lookup.systems],
            "plan": own_kind(files),
            "metrics": _metrics(files.card),
            "card": files.card,
            "scope": SCOPE,
        }

    def known_codes(self, codes: Sequence[str]) -> list[str]:
        """Those of some canonical diagnoses that the model knows, each once."""
        return [code for code in dict.fromkeys(codes) if code in self._known["diagnosis"]]

    def self_test(self) -> None:
        """Ask about every diagnosis once, which also makes what is made on first use.

        A `ModelError` when an answer is not sound.
        """
        codes = list(self.model.files.diagnoses)
        for start in range(0, len(codes), _TESTED_AT_A_TIME):
            told = self.model.recommend(codes[start : start + _TESTED_AT_A_TIME], 1).to_dict()
            numbers = [one["significance"] for one in told["diagnoses"]]
            numbers += [one["probability"] or 0.0 for one in told["recommendations"]]
            if len(told["recommendations"]) != 1 or not all(map(math.isfinite, numbers)):
                raise ModelError(
                    "The model fails its self-test: it gives no sound answer for some diagnoses."
                )
        for kind in self._lookups:
            self.codes("a", kind, 1)
            self.codes("0000000", kind, 1)
        self.recommend(["icd9cm:4280", "icd10cm:I509"], 1, mapped=True)
        self.model.explain(codes[:1], top=1)

    @cached_property
    def _lookups(self) -> dict[Kind, Lookup]:
        return {"diagnosis": self.model.diagnoses, "procedure": self.model.procedures}

    @cached_property
    def _known(self) -> dict[Kind, frozenset[str]]:
        files = self.model.files
        return {"diagnosis": frozenset(files.diagnoses), "procedure": frozenset(files.procedures)}


def _refusal(error: InputError) -> ProblemError:
    if isinstance(error, CodeError):
        return refuse(
            422,
            "ambiguous-code",
            "A code may belong to several coding systems: write each with its system, as in icd9cm:4280.",
        )
    return refuse(
        409,
        "not-with-this-model",
        "The model lacks what this answer takes: a calibration, one for this coverage, or vectors of codes.",
    )


def _found(code: str, text: str, known: bool) -> dict[str, Any]:
    return {"code": code, "dotted": dotted(code), "title": text, "known": known}


def _metrics(card: str) -> list[dict[str, Any]]:
    return [
        {"top": int(top), "recall": float(recall), "precision": float(precision), "f1": float(f1)}
        for top, recall, precision, f1 in _METRICS_ROW.findall(card)
    ]
