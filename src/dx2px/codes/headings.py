"""Titles for headings. The code lists hold billable codes only, so a heading's title must come from elsewhere.

Most can be derived from the titles of the codes under the heading. These often open with the same words (410:
"Acute myocardial infarction of …"), and one of them, usually the one ending in 9 or 0, is the heading itself plus
"unspecified" (428.9: "Heart failure, unspecified"). A phrase cut inside a noun ("Anal fissure", "Anal fistula") or
too vague to stand alone ("Injury of …") is not used; the label of the codes' group is used instead: the CCS
group in ICD-9-CM, the block in ICD-10-CM. Headings for which these rules read badly have their titles in a table.
In ICD-10-PCS the first three characters each have a meaning of their own, and tables name them.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import cache

from dx2px.codes.ancestors import category_of
from dx2px.codes.catalogue import blocks, ccs, dictionary, under
from dx2px.codes.systems import System
from dx2px.codes.tables import rows
from dx2px.codes.text import split

_DETAIL = re.compile(r",? (?:initial|subsequent) encounter.*$|,? sequela$|,? without mention of .*$")
_SITE = r"(?:site|type|part|side|eye|ear|organ|location|severity|cause|degree|trimester|stage|extent|nature)"
_UNSPECIFIED = re.compile(
    rf"^(?:other and )?unspecified (?:type of )?(?!{_SITE})"
    rf"|,? (?:(?:and|or|of|by|in|due to) )?(?:{_SITE} |valve )?unspecified(?: (?:{_SITE}|as to [a-z ,]+))?$"
    r"|,? not (?:otherwise specified|specified as [a-z ,]+)$",
    re.IGNORECASE,
)
_ONE_SIDE = re.compile(r"\b(?:left|right)\b", re.IGNORECASE)  # a heading of ICD-10-CM covers both sides


def heading_title(heading: str) -> str | None:
    """The title of a canonical heading; None where no table has it and its codes' titles do not reveal it."""
    system, bare = split(heading)
    if written := _written_titles(system).get(bare):
        return written
    return _pcs_title(bare) if system is System.ICD10PCS and len(bare) < 4 else _derived_title(bare, system)


def _pcs_title(bare: str) -> str | None:
    """The title of an ICD-10-PCS heading of one to three characters.

    `02H` is "Insertion: heart and great vessels", `02` is "Medical and surgical: heart and great vessels".
    """
    section = pcs_sections().get(bare[:1])
    if section is None:
        return None
    where = pcs_body_systems(bare[0]).get(bare[1:2])
    what = pcs_root_operations(bare[0]).get(bare[2:3])
    if bare[0] in "GH" and what:  # these two sections have no body systems
        return f"{what} ({section.lower()})"
    if len(bare) == 1:
        return section
    return f"{what if len(bare) == 3 else section}: {where}" if where and (what or len(bare) == 2) else None


@cache
def pcs_sections() -> Mapping[str, str]:
    """The sections of ICD-10-PCS by their character, the first of a code."""
    return {row[0]: row[1] for row in rows("pcs_sections")}


@cache
def pcs_body_systems(section: str) -> Mapping[str, str]:
    """The body systems of a section by their character, the second of a code."""
    return {
        character: title for sections, character, title in rows("pcs_body_systems") if section in sections
    }


@cache
def pcs_root_operations(section: str) -> Mapping[str, str]:
    """The root operations of a section by their character, the third of a code."""
    return {
        character: title for sections, character, title in rows("pcs_root_operations") if section in sections
    }


@cache
def _written_titles(system: System) -> Mapping[str, str]:
    return {bare: title for owner, bare, title in rows("headings") if owner == system}


@cache
def _words(role: str) -> Set[str]:
    return frozenset(word for owner, word in rows("heading_words") if owner == role)


@cache
def _derived_title(bare: str, system: System) -> str | None:
    titles = [_DETAIL.sub("", dictionary(system)[code]) for code in under(bare, system)]
    if not titles:
        return None
    is_category = bare == category_of(bare, system)
    found = _shared_opening(titles) or _unspecified_child(bare, system, is_category)
    return found or (_group_label(bare, system) if is_category else None)


def _shared_opening(titles: Sequence[str]) -> str | None:
    """The words that all titles open with, if cutting there leaves a whole phrase in each of them."""
    split_titles = [title.split() for title in titles]
    length = 0
    for column in zip(*split_titles, strict=False):
        if len({_key(word) for word in column}) > 1:
            break
        length += 1
    opening = split_titles[0][:length]
    clean_cut = all(_ends_phrase(words, length) for words in split_titles)
    return _sensible(opening) if clean_cut else None


def _ends_phrase(words: Sequence[str], length: int) -> bool:
    if length == 0 or length == len(words):
        return length > 0
    before, after = words[length - 1], words[length]
    return (
        before[-1] in ",;:"
        or after[0] in "(["
        or not {_key(before), _key(after)}.isdisjoint(_words("connector"))
    )


def _unspecified_child(bare: str, system: System, is_category: bool) -> str | None:
    """The title of the code that means the heading as a whole, without its "unspecified".

    A final 0 means "unspecified" only below a category: in 278, Overweight and obesity, 278.00 is obesity.
    """
    zeros = () if is_category else ("0", "00", "0XXA")
    nines = ("9", "90", "99", "909", "9XXA")
    for tail in (*zeros, *nines) if system is System.ICD9CM else (*nines, *zeros):
        title = _DETAIL.sub("", dictionary(system).get(bare + tail, ""))
        if (whole := _UNSPECIFIED.sub("", title)) != title and not _ONE_SIDE.search(whole):
            return _sensible(whole.split())
    return None


def _sensible(words: Sequence[str]) -> str | None:
    """The words without loose ends, or None if what remains says too little on its own."""
    kept = list(words)
    while kept and _key(kept[-1]) in _words("connector") | {""}:
        kept.pop()
    text = re.sub(r"\s*[(\[][^)\]]*$", "", " ".join(kept).rstrip(" ,;:-"))
    weak = _words("vague") | _words("connector")
    if all(_key(word) in weak for word in text.split()) or "unspecified" in text.lower():
        return None
    return text[:1].upper() + text[1:]


def _group_label(category: str, system: System) -> str | None:
    if system is System.ICD10CM:
        return next((title for span, title in blocks().items() if span[:3] <= category <= span[4:7]), None)
    return _ccs_label(category) if system is System.ICD9CM else None


def _ccs_label(category: str) -> str | None:
    """The label of the CCS group that holds more than half of a category's codes, unless it says nothing."""
    codes = under(category, System.ICD9CM)
    label, count = Counter(ccs().get(code, "") for code in codes).most_common(1)[0]
    if 2 * count <= len(codes) or re.search("residual|unspecified|^$|other specified", label, re.IGNORECASE):
        return None
    return label.replace(";", ",").replace("`", "'").replace("E Codes:", "External cause:")


def _key(word: str) -> str:
    return word.strip(",;:()[]").lower()
