"""The headings above a code, nearest first, up to its chapter.

A heading is written like a code (`icd9cm:428`), a chapter as its range (`icd9cm:@390-459`). ICD-10-PCS has no
chapters: above its codes are the root operation, the body system and the section (`icd10pcs:02H`, `02`, `0`).
"""

from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from dx2px.codes.systems import System
from dx2px.codes.tables import rows
from dx2px.codes.text import split
from dx2px.errors import CodeError

_CATEGORY_LENGTH = {System.ICD9CM: 3, System.ICD9PCS: 2, System.ICD10CM: 3, System.ICD10PCS: 3}


def ancestors(code: str) -> tuple[str, ...]:
    """The headings above a code: for `icd9cm:42832`, `icd9cm:4283`, `icd9cm:428` and `icd9cm:@390-459`."""
    system, bare = split(code)
    if bare.startswith("@"):
        return ()
    if system is System.ICD10PCS:
        return tuple(f"{system}:{bare[:length]}" for length in (3, 2, 1) if length < len(bare))
    lengths = range(len(bare) - 1, len(category_of(bare, system)) - 1, -1)
    chapters = [f"{system}:@{span}"] if (span := _chapter_range(bare, system)) else []
    return (*(f"{system}:{bare[:length]}" for length in lengths), *chapters)


def category(code: str) -> str:
    """The category of a code: `icd9cm:428`, `icd9cm:E880`, `icd9pcs:38`, `icd10pcs:02H`; a category is its own."""
    system, bare = split(code)
    if bare.startswith("@"):
        raise CodeError(f"{code} is a chapter and has no category.")
    return f"{system}:{category_of(bare, system)}"


def category_of(bare: str, system: System) -> str:
    """`category` without the prefix."""
    return bare[: 4 if system is System.ICD9CM and bare.startswith("E") else _CATEGORY_LENGTH[system]]


def chapter(code: str) -> str:
    """The chapter of a code (`icd9cm:@390-459`), or its section in ICD-10-PCS (`icd10pcs:0`)."""
    return (code, *ancestors(code))[-1]


@cache
def chapter_titles(system: System) -> Mapping[str, str]:
    """The chapters of a system by range (`390-459`, `A00-B99`), in text order; none in ICD-10-PCS."""
    return MappingProxyType({span: title for owner, span, title in rows("chapters") if owner == system})


def _chapter_range(bare: str, system: System) -> str | None:
    """The range of the chapter that holds a code; None in the gaps between chapters (ICD-9-CM `000`)."""
    spans = _chapter_spans(system)
    # The last chapter to begin at or before the code; text order puts digits before E and V.
    place = bisect_right(spans, bare, key=lambda span: span.split("-")[0]) - 1
    end = spans[place].split("-")[-1]
    # Only as many characters as the end has are compared: O9A.2 belongs to O00-O9A.
    return spans[place] if place >= 0 and bare[: len(end)] <= end else None


@cache
def _chapter_spans(system: System) -> tuple[str, ...]:
    return tuple(chapter_titles(system))
