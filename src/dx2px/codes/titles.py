"""A title for every code: its own long title, else the nearest heading's, else the code itself.

Real data contain codes that the lists do not: retired codes, and headings used as codes (276.5 instead of one
of 276.50 to 276.52). Such a code is shown with its heading's title, marked as not exact. A family of ICD-10-PCS codes
has a title made of what theirs share.
"""

from dataclasses import dataclass
from functools import lru_cache

from dx2px.codes.ancestors import ancestors, chapter_titles
from dx2px.codes.catalogue import dictionary
from dx2px.codes.families import is_family
from dx2px.codes.family_titles import family_title
from dx2px.codes.headings import heading_title
from dx2px.codes.systems import System
from dx2px.codes.text import dotted, split

_HEADING = 3  # characters of the longest ICD-10-PCS heading that tables name


@dataclass(frozen=True)
class Title:
    """The text to show for a code.

    Attributes:
        text: The title.
        exact: Whether it is the code's own title, not that of a heading above it.
        of: The code or heading that the text belongs to.
    """

    text: str
    exact: bool
    of: str


@lru_cache(maxsize=1 << 14)
def title(code: str) -> Title:
    """The title to show for a code; exact for listed codes and chapters only.

    Args:
        code: A canonical code or heading.

    Returns:
        The text, whether it is exact, and the code or heading that it belongs to.

    Raises:
        CodeError: The text is not a canonical code.
    """
    if known := _listed_title(code):
        return Title(known, exact=True, of=code)
    if is_family(code) and len(split(code)[1]) > _HEADING and (known := family_title(code)):
        return Title(known, exact=False, of=code)
    for heading in _headings(code):
        if known := _listed_title(heading) or heading_title(heading):
            return Title(known, exact=False, of=heading)
    return Title(dotted(code), exact=False, of=code)


def _headings(code: str) -> tuple[str, ...]:
    """The code, which may itself be a heading, and the headings above it.

    ICD-10-PCS gets one more: the root operation on a body part (`icd10pcs:5A1D`) says more than the root operation.
    """
    system, bare = split(code)
    body_part = (f"{system}:{bare[:4]}",) if system is System.ICD10PCS and len(bare) > 4 else ()
    return (code, *body_part, *ancestors(code))


def _listed_title(code: str) -> str | None:
    system, bare = split(code)
    return chapter_titles(system).get(bare[1:]) if bare.startswith("@") else dictionary(system).get(bare)
