"""Codes that the user says are another code, as in tables where `481` is 04.81 without its leading zero.

No rule can see such a mistake, because 48.1 is a code too. So dx2px corrects only what it is asked to correct, once
the texts are judged, and reports each correction with the number of its entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dx2px.codes import System, dotted, is_listed, normalize, split, title
from dx2px.cohort.verdicts import Verdicts
from dx2px.errors import CodeError, CohortError
from dx2px.words import counted

Corrections = Mapping[str, str]  # the code as read → the code that it is corrected to
EXAMPLE = "icd9pcs:48.1=icd9pcs:04.81"


def parse_corrections(texts: Iterable[str]) -> dict[str, str]:
    """Corrections as typed on the command line, `CODE=CODE` each, in canonical codes."""
    found: dict[str, str] = {}
    for text in texts:
        read, _, meant = text.partition("=")
        code, target = _canonical(read), _canonical(meant)
        if found.setdefault(code, target) != target:
            raise CohortError(
                f"{code} is to be corrected to both {found[code]} and {target}: leave one of them out."
            )
    return found


def check_corrections(corrections: Corrections) -> dict[str, str]:
    """The corrections in canonical codes; a `CohortError` for one that makes no sense."""
    checked = parse_corrections(f"{read}={meant}" for read, meant in corrections.items())
    for read, meant in checked.items():
        _check(read, meant)
    return checked


def correct(verdicts: Verdicts, corrections: Corrections) -> Verdicts:
    """The verdicts with the corrections applied, and a note on each. No code is corrected twice."""
    items = tuple(
        replace(v, code=corrections[v.code], corrected_from=v.code) if v.code and v.code in corrections else v
        for v in verdicts.items
    )
    corrected = replace(verdicts, items=items)
    notes = (
        _note(corrected, read, meant) for read, meant in corrections.items() if _entries(corrected, read)
    )
    return replace(corrected, notes=(*verdicts.notes, *notes))


def unused_corrections(verdicts: Verdicts, corrections: Corrections) -> tuple[str, ...]:
    """A warning for each correction that had nothing to correct."""
    return tuple(
        f"The correction {read}={meant} changed nothing: no entry has the {split(read)[0].label} code {dotted(read)}."
        for read, meant in corrections.items()
        if not _entries(verdicts, read)
    )


def _note(verdicts: Verdicts, read: str, meant: str) -> str:
    entries = counted(_entries(verdicts, read), "entry was", "entries were")
    label = split(read)[0].label
    return f"Corrected: {entries} read as the {label} {_titled(meant)} instead of {_titled(read)}."


def _entries(verdicts: Verdicts, read: str) -> int:
    return sum(v.written.entries for v in verdicts.items if v.corrected_from == read)


def _titled(code: str) -> str:
    found = title(code)
    return f"{dotted(code)} ({found.text})" if found.exact else dotted(code)


def _canonical(text: str) -> str:
    prefix, colon, _ = text.strip().lower().partition(":")
    systems = {system.value: system for system in System}
    if not colon or prefix not in systems:
        raise CohortError(
            f"A correction is two codes, each with its system ({', '.join(systems)}), as in {EXAMPLE}; "
            f"{text.strip()!r} is not such a code."
        )
    try:
        return normalize(text, systems[prefix])
    except CodeError as error:
        raise CohortError(f"A correction needs two codes: {error}") from None


def _check(read: str, meant: str) -> None:
    system, other = split(read)[0], split(meant)[0]
    problem = None
    if system is not other:
        problem = f"one is an {system.label} code, the other an {other.label} code"
    elif read == meant:
        problem = "both are the same code"
    elif not is_listed(meant):
        problem = f"{dotted(meant)} is not in the list of {system.label} codes"
    if problem:
        raise CohortError(f"The correction {read}={meant} is not possible: {problem}.")
