"""Families of ICD-10-PCS codes: what is left of a code when some of its characters are open.

One procedure of ICD-9-CM stands for many codes of ICD-10-PCS, which differ in side, device or approach. A family says
what they share. It is written like a code: `5A1D` holds every code that begins so, `0SR[CD]` those that begin with
`0SRC` or `0SRD`, and `0T9B80+0T9B8ZZ` those of either pattern. Each place of a pattern is a character, several in
brackets, sorted, or `-` for any; patterns have three to seven places, the last not `-`, and are sorted, too. A family
is canonical with the prefix of its system, `icd10pcs:0SR[CD]`, and has neither a blank nor a comma, so that it goes
wherever a code goes.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from dx2px.codes.catalogue import dictionary, under
from dx2px.codes.systems import System
from dx2px.codes.tables import rows
from dx2px.codes.text import split, squeeze
from dx2px.errors import CodeError

_PLACE = re.compile(r"[0-9A-HJ-NP-Z]|\[[0-9A-HJ-NP-Z]+\]|-")
_PATTERN = re.compile(rf"(?:{_PLACE.pattern}){{3,7}}")
_JOIN = "+"
_LENGTH = 7  # characters of a code
_SIDES = frozenset({"right", "left", "bilateral"})
_PART = 4  # characters up to the body part
_ANY = "-"
_MOST = 8  # characters in brackets

Pattern = tuple[str, ...]  # for each place, the characters it may have


def read_family(text: str) -> str:
    """The canonical text of a family as typed, with or without its system: `0sr[DC]` gives `icd10pcs:0SR[CD]`.

    Raises:
        CodeError: The text is not that of a family, or no listed code belongs to it.
    """
    prefix, _, bare = squeeze(text).rpartition(":")
    parts = bare.split(_JOIN)
    if prefix.lower() not in ("", System.ICD10PCS) or not all(map(_PATTERN.fullmatch, parts)):
        raise CodeError(
            f"{text[:40]!r} is not a family of ICD-10-PCS codes: expected the first 3 to 7 characters, as in 0SR[CD]."
        )
    code = f"{System.ICD10PCS}:{_written([_pattern(part) for part in parts])}"
    if not members(code):
        raise CodeError(f"No ICD-10-PCS code belongs to the family {bare[:40]}.")
    return code


def is_family(code: str) -> bool:
    """Whether a canonical text is a family: an ICD-10-PCS code with open characters, written as described above."""
    system, bare = split(code)
    parts = bare.split(_JOIN)
    if system is not System.ICD10PCS or (len(bare) == _LENGTH and bare.isalnum()):
        return False
    return all(map(_PATTERN.fullmatch, parts)) and _written(map(_pattern, parts)) == bare


@lru_cache(maxsize=1 << 13)
def members(family: str) -> tuple[str, ...]:
    """The listed codes of a family, canonical, sorted; a code is its own only member."""
    system, bare = split(family)
    if not all(map(_PATTERN.fullmatch, bare.split(_JOIN))):
        return ()
    found = {code for part in bare.split(_JOIN) for code in _listed(_pattern(part))}
    return tuple(f"{system}:{code}" for code in sorted(found))


def family(starts: Iterable[str]) -> str:
    """The family of all codes that begin with one of `starts`, in as few patterns and places as possible.

    A family of one listed code is that code.
    """
    distinct = sorted(set(starts))
    needed = [
        one for one in distinct if not any(one != other and one.startswith(other) for other in distinct)
    ]
    return _family(_merged([tuple(start) for start in needed]))


def hull(codes: Iterable[str]) -> str:
    """The family of one pattern that holds all these codes: at each place, any character that one of them has there.

    A place with more than a few characters is left open.
    """
    places = ("".join(sorted(set(column))) for column in zip(*codes, strict=True))
    return _family([tuple(place if len(place) <= _MOST else _ANY for place in places)])


def joined(families: Iterable[str]) -> str:
    """The family of all codes of some families."""
    return _family([_pattern(part) for one in families for part in split(one)[1].split(_JOIN)])


def _family(patterns: Sequence[Pattern]) -> str:
    text = f"{System.ICD10PCS}:{_written([_trimmed(one) for one in patterns])}"
    listed = members(text)
    return listed[0] if len(listed) == 1 else text


def holds(code: str, family: str) -> bool:
    """Whether a canonical ICD-10-PCS code or narrower family belongs to a family, listed or not."""
    inner, outer = split(code)[1].split(_JOIN), [_pattern(part) for part in split(family)[1].split(_JOIN)]
    return all(any(_within(_pattern(part), one) for one in outer) for part in inner)


def counts_as(code: str, family: str) -> bool:
    """Whether a text is a code, or is an ICD-10-PCS code that belongs to it as a family."""
    return code == family or (
        all(one.startswith(f"{System.ICD10PCS}:") for one in (code, family)) and holds(code, family)
    )


def narrowed(code: str, side: str) -> str | None:
    """The part of a family on one side, `right` or `left`; None if its codes do not differ in side."""
    listed = members(code)
    chosen = [split(one)[1] for one in listed if sides_of(one) == {side}]
    if not chosen or len(chosen) == len(listed):
        return None
    kept = {one[:_PART] for one in chosen}
    parts = [_pattern(part) for part in split(code)[1].split(_JOIN)]
    return _family(
        [
            (*part[: _PART - 1], place, *part[_PART:])
            for part in parts
            if (
                place := "".join(
                    sorted({one[_PART - 1] for one in kept if _within(tuple(one), part[:_PART])})
                )
            )
        ]
    )


def open_axes(code: str) -> tuple[str, ...]:
    """What the codes of a family still differ in, by what their characters say: `side`, `approach`, `device`."""
    codes = [split(one)[1] for one in members(code)]
    if not codes:
        return ()
    names = next(names for sections, *names in rows("pcs_axes") if codes[0][0] in sections)
    differ = [name for place, name in enumerate(names, 3) if len({one[place] for one in codes}) > 1]
    if len({one[_PART - 1] for one in codes}) == 1:
        return tuple(differ)
    titles = {without_side(dictionary(System.ICD10PCS)[one]) for one in codes}
    places = {one[: _PART - 1] + one[_PART:] for one in codes}
    sided = ["side"] if len(titles) < len(codes) else []
    return (*sided, *differ[len(titles) == len(places) :])


def _pattern(text: str) -> Pattern:
    return tuple("".join(sorted(set(place.strip("[]")))) for place in _PLACE.findall(text))


def _listed(pattern: Pattern) -> list[str]:
    """The listed codes of a pattern, by its beginnings up to the first open place."""
    fixed = pattern.index(_ANY) if _ANY in pattern else len(pattern)
    found = (code for start in product(*pattern[:fixed]) for code in under("".join(start), System.ICD10PCS))
    return [code for code in found if _within(tuple(code), pattern)]


def _written(patterns: Iterable[Pattern]) -> str:
    texts = {"".join(place if len(place) == 1 else f"[{place}]" for place in one) for one in patterns}
    return _JOIN.join(sorted(texts))


def _within(inner: Pattern, outer: Pattern) -> bool:
    return len(inner) >= len(outer) and all(
        other == _ANY or set(place) <= set(other) for place, other in zip(inner, outer, strict=False)
    )


def _merged(patterns: Sequence[Pattern]) -> list[Pattern]:
    """Patterns that differ in one place only become one; first those that differ in the body part."""
    found = list(patterns)
    for place in (3, 6, 5, 4, 2, 1, 0):
        groups: dict[tuple[Pattern, Pattern], set[str]] = {}
        for one in (one for one in found if len(one) > place):
            groups.setdefault((one[:place], one[place + 1 :]), set()).update(one[place])
        merged = [(*before, "".join(sorted(some)), *after) for (before, after), some in groups.items()]
        found = [*(one for one in found if len(one) <= place), *merged]
    return found


def _trimmed(pattern: Pattern) -> Pattern:
    """The pattern without the last places that do not leave out any listed code; three places stay."""
    whole = _listed(pattern)
    shorter = pattern
    while len(shorter) > 3 and (shorter[-1] == _ANY or _listed(shorter[:-1]) == whole):
        shorter = shorter[:-1]
    return shorter


def without_side(title: str) -> str:
    """A title without right, left and bilateral."""
    return " ".join(word for word in title.split() if word.lower().strip(",") not in _SIDES)


def sides_of(code: str) -> frozenset[str]:
    """The sides that the title of a canonical code names."""
    words = {word.lower().strip(",") for word in dictionary(System.ICD10PCS)[split(code)[1]].split()}
    return _SIDES & words
