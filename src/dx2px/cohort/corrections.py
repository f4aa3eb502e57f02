"""Codes that the user says are another code, as in tables where `481` is 04.81 without its leading zero.

No rule can see such a mistake, because 48.1 is a code too. So dx2px corrects only what it is asked to correct, once
the texts are judged, and reports each correction with the number of its entries and stays. A correction may have a
condition: it then holds only in stays that also have another code that matches one of its patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dx2px.codes import System, clean, dotted, is_listed, normalize, split, title
from dx2px.codes.catalogue import under
from dx2px.codes.text import dot_fits, squeeze
from dx2px.cohort.verdicts import Text, Verdict, Verdicts
from dx2px.errors import CodeError, CohortError
from dx2px.words import counted

EXAMPLE = "icd9pcs:48.1=icd9pcs:04.81"
CONDITION = "icd9pcs:81.52=icd9pcs:81.62 with icd9pcs:81.0*"

Done = Mapping[str, tuple[int, int]]  # the code as read → the entries and stays that were corrected
Met = Mapping[Text, int]  # a text → its entries that meet the condition on its code


@dataclass(frozen=True)
class Correction:
    """The code as read, the code that it is corrected to, and the condition.

    `beside` holds canonical codes, or beginnings of codes that end in `*`. A stay meets the condition if another of
    its codes matches one of them. Without any, there is no condition.
    """

    read: str
    meant: str
    beside: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """What the code becomes, and the condition, as the options of a source hold it."""
        return f"{self.meant} with {' or '.join(self.beside)}" if self.beside else self.meant

    def is_met_by(self, code: str) -> bool:
        """Whether this code in a stay meets the condition; the corrected code itself does not."""
        return code != self.read and any(_matches(code, pattern) for pattern in self.beside)

    def __str__(self) -> str:
        return f"{self.read}={self.value}"


def parse_corrections(texts: Iterable[str]) -> dict[str, str]:
    """Corrections as typed on the command line, `CODE=CODE` each and perhaps a condition, in canonical codes."""
    found: dict[str, str] = {}
    for text in texts:
        one = _parse(text)
        if found.setdefault(one.read, one.value) != one.value:
            raise CohortError(
                f"{one.read} is to be corrected to both {found[one.read]} and {one.value}: leave one of them out."
            )
    return found


def check_corrections(corrections: Mapping[str, str]) -> tuple[Correction, ...]:
    """The corrections of a source's options; a `CohortError` for one that makes no sense."""
    canonical = parse_corrections(f"{read}={value}" for read, value in corrections.items())
    checked = tuple(_parse(f"{read}={value}") for read, value in canonical.items())
    for one in checked:
        _check(one)
    return checked


def correct(verdicts: Verdicts, corrections: Sequence[Correction], met: Met) -> Verdicts:
    """The verdicts with the corrections applied. No code is corrected twice.

    A text whose code is corrected under a condition has two verdicts: for the entries that meet it, and the others.
    """
    by_code = {one.read: one for one in corrections}
    items = [judged for v in verdicts.items for judged in _corrected(v, by_code.get(v.code or ""), met)]
    return replace(verdicts, items=tuple(items))


def _corrected(verdict: Verdict, correction: Correction | None, met: Met) -> Iterator[Verdict]:
    if correction is None:
        yield verdict
        return
    written = verdict.written
    entries = written.entries if not correction.beside else met.get(written.key, 0)
    if entries:
        yield replace(
            verdict,
            written=replace(written, entries=entries),
            code=correction.meant,
            corrected_from=correction.read,
            met=bool(correction.beside),
        )
    if entries < written.entries:
        yield replace(verdict, written=replace(written, entries=written.entries - entries))


def correction_notes(corrections: Sequence[Correction], done: Done) -> tuple[str, ...]:
    """What each correction did, in a sentence."""
    return tuple(_note(one, *done[one.read]) for one in corrections if one.read in done)


def unused_corrections(
    corrections: Sequence[Correction], done: Done, texts: Iterable[Verdict]
) -> tuple[str, ...]:
    """A warning for each correction that had nothing to correct; `texts` are the verdicts before any."""
    present = {verdict.code for verdict in texts}
    return tuple(
        f"The correction {one} changed nothing: no {_missing(one, one.read in present)}."
        for one in corrections
        if one.read not in done
    )


def _note(correction: Correction, entries: int, stays: int) -> str:
    label = split(correction.read)[0].label
    where = f", all beside {_shown(correction.beside)}" if correction.beside else ""
    were = "was" if entries == 1 else "were"
    return (
        f"Corrected: {counted(entries, 'entry', 'entries')} in {counted(stays, 'stay')} {were} read as the {label} "
        f"{_titled(correction.meant)} instead of {_titled(correction.read)}{where}."
    )


def _missing(correction: Correction, present: bool) -> str:
    code = f"the {split(correction.read)[0].label} code {dotted(correction.read)}"
    return f"stay has {code} beside {_shown(correction.beside)}" if present else f"entry has {code}"


def _shown(patterns: Sequence[str]) -> str:
    """The patterns of a condition as people write them: `81.0* or 81.3*`."""
    return " or ".join(dotted(one.removesuffix("*")) + "*" * one.endswith("*") for one in patterns)


def _titled(code: str) -> str:
    found = title(code)
    return f"{dotted(code)} ({found.text})" if found.exact else dotted(code)


def _matches(code: str, pattern: str) -> bool:
    return code.startswith(pattern[:-1]) if pattern.endswith("*") else code == pattern


def _parse(text: str) -> Correction:
    codes, *conditions = re.split(r"\bwith\b", text, flags=re.IGNORECASE)
    if len(conditions) > 1:
        raise CohortError(f"A correction has one condition, as in {CONDITION!r}; {text!r} has more.")
    read, _, meant = codes.partition("=")
    patterns = re.split(r"\bor\b", conditions[0], flags=re.IGNORECASE) if conditions else []
    beside = tuple(dict.fromkeys(_pattern(one.strip()) for one in patterns))
    return Correction(_canonical(read), _canonical(meant), beside)


def _pattern(text: str) -> str:
    """A code of a condition, or the beginning of codes, canonical: `icd9pcs:81.0*` gives `icd9pcs:810*`."""
    try:
        if not text.endswith("*"):
            code = normalize(text, _system(text))
            if not is_listed(code) and under(split(code)[1], split(code)[0]):
                raise CodeError(f"{dotted(code)} is a heading; write {text}* for all codes under it.")
            return code
        system, start = _system(text), squeeze(text[:-1].partition(":")[2])
        if not clean(start).isalnum() or not start.isascii() or not dot_fits(start, system):
            raise CodeError(f"{text!r} is not the beginning of codes.")
        return f"{system.value}:{clean(start)}*"
    except CodeError as error:
        raise CohortError(
            f"The condition of a correction is a code with its system, or the beginning of codes with a star, "
            f"as in {CONDITION!r}: {error}"
        ) from None


def _system(text: str) -> System:
    systems = {system.value: system for system in System}
    prefix, colon, _ = text.strip().lower().partition(":")
    if not colon or prefix not in systems:
        raise CodeError(f"{text!r} does not begin with one of {', '.join(systems)}.")
    return systems[prefix]


def _canonical(text: str) -> str:
    try:
        system = _system(text)
    except CodeError:
        raise CohortError(
            f"A correction is two codes, each with its system ({', '.join(System)}), as in {EXAMPLE}; "
            f"{text.strip()!r} is not such a code."
        ) from None
    try:
        return normalize(text, system)
    except CodeError as error:
        raise CohortError(f"A correction needs two codes: {error}") from None


def _check(correction: Correction) -> None:
    read, meant = correction.read, correction.meant
    system, other = split(read)[0], split(meant)[0]
    problem = None
    if system is not other:
        problem = f"one is an {system.label} code, the other an {other.label} code"
    elif read == meant:
        problem = "both are the same code"
    elif not is_listed(meant):
        problem = f"{dotted(meant)} is not in the list of {system.label} codes"
    elif set(correction.beside) == {read}:
        problem = "its condition needs another code than the corrected one"
    if problem:
        raise CohortError(f"The correction {read}={meant} is not possible: {problem}.")
