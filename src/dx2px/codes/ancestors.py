"""The headings above a code, from the nearest to the farthest.

A heading is written like a code (`icd9cm:428`), a chapter by its range (`icd9cm:@390-459`). ICD-10-PCS has
no chapters: its codes stand under root operation, body system and section (`icd10pcs:02H`, `02`, `0`).
"""

from dx2px.codes.chapters import chapter_range
from dx2px.codes.systems import System
from dx2px.codes.text import split
from dx2px.errors import CodeError

_CATEGORY_LENGTH = {System.ICD9CM: 3, System.ICD9PCS: 2, System.ICD10CM: 3, System.ICD10PCS: 3}


def ancestors(code: str) -> tuple[str, ...]:
    """`icd9cm:42832` gives `icd9cm:4283`, `icd9cm:428`, `icd9cm:@390-459`."""
    system, bare = split(code)
    if bare.startswith("@"):
        return ()
    if system is System.ICD10PCS:
        return tuple(f"{system}:{bare[:length]}" for length in (3, 2, 1) if length < len(bare))
    lengths = range(len(bare) - 1, len(category_of(bare, system)) - 1, -1)
    chapters = [f"{system}:@{span}"] if (span := chapter_range(bare, system)) else []
    return (*(f"{system}:{bare[:length]}" for length in lengths), *chapters)


def category(code: str) -> str:
    """The category of a code, or itself: `icd9cm:428`, `icd9cm:E880`, `icd9pcs:38`, `icd10pcs:02H`."""
    system, bare = split(code)
    if bare.startswith("@"):
        raise CodeError(f"{code} is a chapter and has no category.")
    return f"{system}:{category_of(bare, system)}"


def category_of(bare: str, system: System) -> str:
    """`category` without the prefix."""
    return bare[: 4 if system is System.ICD9CM and bare.startswith("E") else _CATEGORY_LENGTH[system]]


def chapter(code: str) -> str:
    """The chapter of a code (`icd9cm:@390-459`), or the section in ICD-10-PCS (`icd10pcs:0`)."""
    return (code, *ancestors(code))[-1]
