"""What each distinct code text means: a canonical code, or the reason why it cannot be used.

A file may hold millions of entries but only some ten thousand distinct texts, so each text is judged once, in Python,
whichever engine holds the entries. A text with the shape of its coding system is kept as it is. Any other is repaired
if exactly one listed code fits. If the texts of a column show that a spreadsheet turned codes into numbers, every text
of that column goes through repair, and one that fits two codes is rejected.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dx2px.codes import (
    Kind,
    System,
    clean,
    explain,
    has_shape,
    is_listed,
    looks_dotted,
    looks_numeric,
    normalize,
    repair,
    split,
)
from dx2px.errors import CodeError, CohortError
from dx2px.words import counted

MISSING_STAY = "missing_stay"
MISSING_CODE = "missing_code"
MISSING_KIND = "missing_kind"
NOT_ICD_VOCABULARY = "not_icd"
MALFORMED_LINE = "malformed_line"
NO_PCS = "no_icd10pcs"
NOT_IN_MAP = "not_in_maps"
OUTSIDE_STAY = "outside_stay"
WITHDRAWN = "withdrawn"
_DECIMAL_COMMA = re.compile(r"\s*[A-Za-z]?[0-9]{1,3},[0-9A-Za-z]{1,4}\s*")
REASONS = {
    MISSING_STAY: "no stay id",
    MISSING_CODE: "no code",
    MISSING_KIND: "the kind is neither diagnosis nor procedure",
    NOT_ICD_VOCABULARY: "not an ICD code",
    MALFORMED_LINE: "the line cannot be read as a record",
    NO_PCS: "ICD-10-PCS has no such procedure, by the maps",
    NOT_IN_MAP: "the maps of procedures do not have the code",
    OUTSIDE_STAY: "in no hospital stay",
    WITHDRAWN: "refuted, not done or entered in error",
}


def sentence(reason: str) -> str:
    """A rejection reason in plain words."""
    return REASONS.get(reason) or explain(reason)


Text = tuple[Kind, int | None, str]  # kind, ICD version, code text


@dataclass(frozen=True)
class Written:
    """A distinct code text in a source, and the number of entries that have it."""

    kind: Kind
    version: int | None
    text: str
    entries: int

    @property
    def key(self) -> Text:
        return self.kind, self.version, self.text


@dataclass(frozen=True)
class Verdict:
    """The canonical code of a text, or the reason why it was rejected.

    `corrected_from` is the code that the text stands for, if the user asked to read that code as another one. Where
    that holds under a condition, the verdict is on the entries that meet it (`met`), and another one on the rest.
    """

    written: Written
    code: str | None
    reason: str | None = None
    repaired: bool = False
    corrected_from: str | None = None
    met: bool = False


@dataclass(frozen=True)
class Verdicts:
    """All verdicts on a source, and what the user should know about them."""

    items: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()

    @property
    def repaired_entries(self) -> int:
        """The number of entries whose text was turned back into a code."""
        return sum(v.written.entries for v in self.items if v.repaired)

    @property
    def unlisted_entries(self) -> int:
        """The number of entries with a code that is in no ICD list."""
        return sum(v.written.entries for v in self.items if v.code and not is_listed(v.code))


def judge(texts: Sequence[Written], numeric: Iterable[Kind] = ()) -> Verdicts:
    """Judge every text. `numeric` names the kinds whose codes the source stores as numbers."""
    by_system: dict[System, list[Written]] = defaultdict(list)
    items: list[Verdict] = []
    for written in texts:
        if written.version in (9, 10):
            by_system[System.of(written.kind, written.version)].append(written)
        else:
            items.append(Verdict(written, None, NOT_ICD_VOCABULARY))
    damaged: set[System] = set()
    for system, column in by_system.items():
        written_texts = [with_point(written.text) for written in column]
        spoilt = system.kind in numeric or looks_numeric(written_texts, system)
        dots = looks_dotted(written_texts, system) if spoilt else None
        damaged |= {system} if spoilt else set()
        items += [_verdict(written, system, spoilt, dots) for written in column]
    commas = sum(written.entries for written in texts if with_point(written.text) != written.text)
    notes = [
        f"The {system.label} codes look like numbers, as after a spreadsheet removed their leading zeros: a number is "
        "kept only if exactly one code fits it."
        for system in sorted(damaged)
    ]
    if commas:
        notes.append(f"{counted(commas, 'code has', 'codes have')} a comma in place of the dot.")
    return Verdicts(tuple(items), tuple(notes))


def _verdict(written: Written, system: System, spoilt: bool, dots: bool | None) -> Verdict:
    text = with_point(written.text)
    try:
        code = normalize(text, system)
    except CodeError:
        code = None
    if code is not None and not spoilt and not _is_short(code):
        return Verdict(written, code)
    attempt = repair(text, system, dots)
    if attempt.code is None:
        return Verdict(written, None, attempt.reason if clean(text) else MISSING_CODE)
    return Verdict(written, attempt.code, repaired=attempt.code != code)


def with_point(text: str) -> str:
    """The text with a point in place of a decimal comma: a spreadsheet writes 428,0 in half of the world."""
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def _is_short(code: str) -> bool:
    """Two digits of an ICD-9 procedure: a heading, which is never billed, or a code that lost its leading zeros."""
    system, bare = split(code)
    return system is System.ICD9PCS and len(bare) == 2


def guess_versions(texts: Sequence[Written]) -> dict[Kind, int]:
    """The ICD version of codes that come without one: for each kind, the version whose lists hold nearly all of them.

    A kind that does not tell by itself (ICD-10 has most E and V codes of ICD-9, too) goes with all codes together.
    """
    kinds = list(dict.fromkeys(written.kind for written in texts))
    found = {kind: _version_listing([w for w in texts if w.kind == kind]) for kind in kinds}
    together = _version_listing(texts)
    versions = {kind: found[kind] or together for kind in kinds}
    if not versions or None in versions.values():
        total = sum(w.entries for w in texts)
        listed = {version: _entries_listed(texts, version) for version in (9, 10)}
        raise CohortError(
            "The ICD version is not given, and it is not clear from the codes: "
            f"of {total:,} entries, {listed[9]:,} are listed in ICD-9 and {listed[10]:,} in ICD-10. "
            "Use --icd 9 or --icd 10 (or --icd-diagnoses and --icd-procedures), in Python "
            "options=SourceOptions(icd='9'), or name a system column."
        )
    return {kind: version for kind, version in versions.items() if version is not None}


def _version_listing(texts: Sequence[Written]) -> int | None:
    """The version whose lists hold nearly all of the texts; None if there is none.

    Some codes are listed in neither version, and a few texts in both: only a clear lead counts.
    """
    total = sum(w.entries for w in texts)
    listed = {version: _entries_listed(texts, version) for version in (9, 10)}
    better, worse = sorted(listed, key=lambda version: listed[version], reverse=True)
    clear = total and listed[better] >= 0.9 * total and listed[worse] <= 0.5 * total
    return better if clear else None


def _entries_listed(texts: Sequence[Written], version: int) -> int:
    return sum(w.entries for w in texts if _listed(w, w.kind, version))


def with_version(texts: Sequence[Written], versions: Mapping[Kind, int]) -> list[Written]:
    """The texts, with the version of their kind where they had none."""
    entries: Counter[tuple[Kind, int, str]] = Counter()
    for written in texts:
        version = written.version or versions[written.kind]
        entries[written.kind, version, written.text] += written.entries
    return [Written(*key, entries=count) for key, count in entries.items()]


def is_listed_as(written: Written, kind: Kind) -> bool:
    """Whether the text is a listed code of this kind, in its version or, where it has none, in either."""
    versions = (9, 10) if written.version is None else (written.version,)
    return any(version in (9, 10) and _listed(written, kind, version) for version in versions)


def _listed(written: Written, kind: Kind, version: int) -> bool:
    system = System.of(kind, version)
    bare = clean(with_point(written.text))
    return has_shape(bare, system) and is_listed(f"{system}:{bare}")
