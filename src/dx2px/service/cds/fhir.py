"""Reads FHIR R4 as record systems send it: entry by entry. One that cannot be read is counted; the others are used.

Only a Condition's codings and its two statuses are read. ICD codings are recognised by their system's URI.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dx2px.codes import Kind, dotted, normalize, split
from dx2px.codes.uris import system_at, uri_of
from dx2px.errors import CodeError

MOST_READ = 500  # distinct codes: thousands would keep other callers waiting for seconds
_PAST = frozenset({"inactive", "remission", "resolved"})
_WRONG = frozenset({"entered-in-error", "refuted"})
_MOST_TOTAL = 2**31 - 1  # of FHIR's unsignedInt
_OTHER_PAGES = frozenset({"next", "previous", "prev"})
_NOT_FOUND_BY_SEARCH = frozenset({"include", "outcome"})  # `total` does not count them


@dataclass(frozen=True)
class Reading:
    """What was read. `conditions` has the canonical ICD codes of each readable Condition, in the order listed."""

    conditions: tuple[tuple[str, ...], ...]
    unreadable: int = 0
    without_icd: int = 0
    not_current: int = 0  # no longer current, refuted or entered in error
    beyond_limit: int = 0  # its code is not among the first `MOST_READ`
    other: int = 0  # resources of other types
    unknown: int = 0  # readable, but not known to the model; counted once the model was asked
    not_sent: int = 0  # found by the record system, by its own count, but on pages that it did not send
    uncounted_pages: bool = False  # there are other pages, and no word of how many conditions they have
    failed_queries: int = 0  # an OperationOutcome came in place of their results

    @property
    def counts(self) -> dict[str, int]:
        """How many entries were used, and how many were not, by reason."""
        return {
            "used": len(self.conditions) - self.unknown,
            "unknown": self.unknown,
            "unreadable": self.unreadable,
            "without_icd": self.without_icd,
            "not_current": self.not_current,
            "beyond_limit": self.beyond_limit,
            "other": self.other,
            "not_sent": self.not_sent,
        }

    @property
    def complete(self) -> bool:
        """Whether the record system sent all that it found."""
        return not (self.not_sent or self.uncounted_pages or self.failed_queries)


def read_conditions(sent: Sequence[Any]) -> Reading:
    """The conditions of bundles or single resources, of the first `MOST_READ` distinct codes."""
    conditions: list[tuple[str, ...]] = []
    distinct: set[tuple[str, ...]] = set()
    fates = dict.fromkeys(("unreadable", "without_icd", "not_current", "beyond_limit", "other"), 0)
    for resource in resources(sent):
        fate = _fate(resource, "Condition")
        codes = codes_of(resource, "diagnosis") if fate is None else None
        if fate is None and codes is None:
            fate = "unreadable"
        elif fate is None and not codes:
            fate = "without_icd"
        elif fate is None and codes not in distinct and len(distinct) == MOST_READ:
            fate = "beyond_limit"
        if fate is None and codes:
            distinct.add(codes)
            conditions.append(codes)
        elif fate is not None:
            fates[fate] += 1
    bundles = [value for value in sent if is_a(value, "Bundle")]
    not_sent = [_not_sent(bundle) for bundle in bundles]
    uncounted = any(_is_page(bundle) for bundle, left in zip(bundles, not_sent, strict=True) if not left)
    return Reading(
        tuple(conditions),
        **fates,
        not_sent=sum(not_sent),
        uncounted_pages=uncounted,
        failed_queries=sum(map(is_outcome, sent)),
    )


def is_outcome(value: Any) -> bool:
    """Whether a record system sent the report of a failure in place of what was asked for."""
    return is_a(value, "OperationOutcome")


def drafted_procedures(orders: Any) -> frozenset[str]:
    """The ICD procedure codes among the orders being written; what cannot be read is skipped."""
    wanted = ("ServiceRequest", "Procedure")
    found = (
        codes_of(resource, "procedure")
        for resource in resources([orders])
        if isinstance(resource, dict) and resource.get("resourceType") in wanted
    )
    return frozenset(code for codes in found for code in codes or ())


def coding(code: str, display: str) -> dict[str, str]:
    """A canonical code as FHIR writes it."""
    return {"system": uri_of(split(code)[0]), "code": dotted(code), "display": display}


def resources(sent: Sequence[Any]) -> Iterator[Any]:
    """The resources of bundles; None for an entry without one."""
    for value in sent:
        if value is None or is_outcome(value):
            continue
        if not is_a(value, "Bundle"):
            yield value
            continue
        entries = value.get("entry", [])
        if not isinstance(entries, list):
            yield None
            continue
        for entry in entries:
            yield entry.get("resource") if isinstance(entry, dict) else None


def is_a(value: Any, kind: str) -> bool:
    """Whether a value is a resource of this type."""
    return isinstance(value, dict) and value.get("resourceType") == kind


def concept_codes(resource: dict[str, Any], name: str) -> set[str]:
    """The codes of a resource's CodeableConcept, whatever their system."""
    concept = resource.get(name)
    codings = concept.get("coding") if isinstance(concept, dict) else None
    named = (
        [one.get("code") for one in codings or () if isinstance(one, dict)]
        if isinstance(codings, list)
        else []
    )
    return {code for code in named if isinstance(code, str)}


def is_current(condition: dict[str, Any]) -> bool:
    """Whether a Condition is neither past nor refuted nor entered in error."""
    past = concept_codes(condition, "clinicalStatus") & _PAST
    return not (past or concept_codes(condition, "verificationStatus") & _WRONG)


def codes_of(resource: dict[str, Any], kind: Kind) -> tuple[str, ...] | None:
    """The ICD codes of a resource, each once; None if it has none only because something cannot be read."""
    concept = resource.get("code")
    codings = concept.get("coding", []) if isinstance(concept, dict) else None
    if not isinstance(codings, list):
        return None
    codes: dict[str, None] = {}
    damaged = False
    for one in codings:
        system = system_at(one.get("system"), kind) if isinstance(one, dict) else None
        if system is None:
            damaged |= not isinstance(one, dict)
            continue
        try:
            codes[normalize(one["code"], system)] = None
        except (CodeError, KeyError, TypeError, AttributeError):
            damaged = True
    return None if damaged and not codes else tuple(codes)


def _not_sent(bundle: dict[str, Any]) -> int:
    """How many more resources a search found than this page of its results holds."""
    total = bundle.get("total")
    if not isinstance(total, int) or isinstance(total, bool) or not 0 <= total <= _MOST_TOTAL:
        return 0
    entries = bundle.get("entry")
    sent = sum(map(_is_match, entries)) if isinstance(entries, list) else 0
    return max(total - sent, 0)


def _is_match(entry: Any) -> bool:
    search = entry.get("search") if isinstance(entry, dict) else None
    mode = search.get("mode") if isinstance(search, dict) else None
    return not (isinstance(mode, str) and mode in _NOT_FOUND_BY_SEARCH)


def _is_page(bundle: dict[str, Any]) -> bool:
    """Whether a bundle links to other pages of the same results."""
    links = bundle.get("link")
    relations = (
        [link.get("relation") for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    )
    return any(isinstance(relation, str) and relation in _OTHER_PAGES for relation in relations)


def _fate(resource: Any, wanted: str) -> str | None:
    """Why a resource is not used, or None if it may be."""
    if not isinstance(resource, dict) or not isinstance(resource.get("resourceType"), str):
        return "unreadable"
    if resource["resourceType"] != wanted:
        return "other"
    return None if is_current(resource) else "not_current"
