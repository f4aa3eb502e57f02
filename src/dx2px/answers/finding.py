"""Codes by what people type, for one model: codes that it knows first, the most used of them at the top."""

from __future__ import annotations

from dx2px.answers.lookup import Lookup
from dx2px.answers.model import Model
from dx2px.codes import Hit, Kind, System, find, title

_OF_A_FAMILY = 20  # codes looked at for each family that may be shown
_TYPED_CODE = 5.0  # the score of a code that is no longer in any list


def find_codes(model: Model, query: str, kind: Kind, limit: int) -> list[Hit]:
    """The codes of a kind that match what was typed, of both ICD versions.

    Codes of a version that the model lacks keep a third of the places, if there are so many: people who think in that
    version would never see theirs otherwise. Typing mistakes are forgiven where nothing else fits.
    """
    lookup = model.diagnoses if kind == "diagnosis" else model.procedures
    strange = [system for system in System if system.kind == kind and system not in lookup.systems]
    for forgive in (False, True):
        own = _own(model, lookup, query, limit, forgive=forgive)
        # Only diagnoses are translated: a procedure of the other version helps where there is no other.
        others = [] if kind == "procedure" and own else find(query, strange, limit, forgive=forgive)
        if own or others:
            return [*own[: limit - min(len(others), limit // 3)], *others][:limit]
    return []


def _own(model: Model, lookup: Lookup, query: str, limit: int, *, forgive: bool) -> list[Hit]:
    """Codes of the model's own systems: those that it knows, then others."""
    known, systems, usage = lookup.codes, lookup.systems, model.usage
    listed = find(query, systems, limit, known, usage, forgive=forgive)
    listed += _families(lookup, query, limit)
    found = {hit.code for hit in listed}
    # A vocabulary may hold codes that are no longer in any list.
    hits = [
        Hit(code, title(code).text, _TYPED_CODE) for code in lookup.candidates(query) if code not in found
    ]
    hits += listed
    if len(hits) < limit:
        others = find(query, systems, limit, None, usage, forgive=forgive)
        hits += [hit for hit in others if hit.code not in known]
    return hits


def _families(lookup: Lookup, query: str, limit: int) -> list[Hit]:
    """The families of the vocabulary that have codes which match."""
    if not lookup.has_families:
        return []
    hits = find(query, System.ICD10PCS, limit * _OF_A_FAMILY, forgive=False)
    found = dict.fromkeys(family for hit in hits if (family := lookup.family_of(hit.code)))
    return [Hit(family, title(family).text, 1.0) for family in list(found)[:limit]]
