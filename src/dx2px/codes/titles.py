"""A title for every code: its own long title, else that of the nearest heading, else the bare code.

Real data hold codes that the lists do not: retired ones, and headings coded in their place (276.5 beside
276.50 to 276.52). Such a code is shown under its heading's title, marked as not exact.
"""

from dataclasses import dataclass
from functools import lru_cache

from dx2px.codes.ancestors import ancestors
from dx2px.codes.catalogue import dictionary, is_listed
from dx2px.codes.chapters import CHAPTERS
from dx2px.codes.headings import heading_title
from dx2px.codes.pcs_axes import axis_title
from dx2px.codes.systems import System
from dx2px.codes.text import dotted, split

__all__ = ["Title", "dictionary", "is_listed", "title"]


@dataclass(frozen=True)
class Title:
    """What to show for a code. `of` is the code or heading whose title it is."""

    text: str
    exact: bool
    of: str


@lru_cache(maxsize=1 << 14)
def title(code: str) -> Title:
    """The title of a canonical code or heading. Only a listed code and a chapter have an exact one."""
    if known := _listed_title(code):
        return Title(known, exact=True, of=code)
    for heading in _headings(code):
        if known := _listed_title(heading) or _heading_title(heading):
            return Title(known, exact=False, of=heading)
    return Title(dotted(code), exact=False, of=code)


def _headings(code: str) -> tuple[str, ...]:
    """The code, which may be a heading itself, and what stands above it.

    For ICD-10-PCS also the root operation on a body part (`icd10pcs:5A1D`): closer than the root operation.
    """
    system, bare = split(code)
    body_part = (f"{system}:{bare[:4]}",) if system is System.ICD10PCS and len(bare) > 4 else ()
    return (code, *body_part, *ancestors(code))


def _listed_title(code: str) -> str | None:
    system, bare = split(code)
    if bare.startswith("@"):
        return CHAPTERS.get(system, {}).get(bare[1:])
    return dictionary(system).get(bare)


def _heading_title(code: str) -> str | None:
    system, bare = split(code)
    if system is System.ICD10PCS and len(bare) < 4:
        return axis_title(bare)
    return heading_title(bare, system)
