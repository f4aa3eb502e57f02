"""Titles for headings, which the lists do not hold, drawn from the titles of the codes under them.

The classification has habits that give its headings away. The codes under one heading often open with the
same words (410: "Acute myocardial infarction of …"), and one of them, mostly the one ending in 9 or 0, is
the heading itself with "unspecified" added (428.9: "Heart failure, unspecified"). A phrase cut inside a
noun ("Anal fissure", "Anal fistula") or too vague to stand alone ("Injury of …") is not taken. Then the
label of the group to which the codes belong serves: CCS in ICD-9-CM, the block in ICD-10-CM. Headings that
come out badly by these rules stand in tables.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from dx2px.codes import headings_icd9, headings_icd10
from dx2px.codes.ancestors import category_of
from dx2px.codes.catalogue import blocks, ccs, dictionary, under
from dx2px.codes.systems import System

_KNOWN: Mapping[System, Mapping[str, str]] = {
    System.ICD9CM: headings_icd9.DIAGNOSES,
    System.ICD9PCS: headings_icd9.PROCEDURES,
    System.ICD10CM: headings_icd10.DIAGNOSES,
}

_DETAIL = re.compile(r",? (?:initial|subsequent) encounter.*$|,? sequela$|,? without mention of .*$")
_SITE = r"(?:site|type|part|side|eye|ear|organ|location|severity|cause|degree|trimester|stage|extent|nature)"
_UNSPECIFIED = re.compile(
    rf"^(?:other and )?unspecified (?:type of )?(?!{_SITE})"
    rf"|,? (?:(?:and|or|of|by|in|due to) )?(?:{_SITE} |valve )?unspecified(?: (?:{_SITE}|as to [a-z ,]+))?$"
    r"|,? not (?:otherwise specified|specified as [a-z ,]+)$",
    re.IGNORECASE,
)
_ONE_SIDE = re.compile(r"\b(?:left|right)\b", re.IGNORECASE)  # never the whole of an ICD-10-CM heading
_CONNECTORS_TEXT = """
a an and as at by due during for from in into involving not of on or than the to under unspecified using
via with without affecting following except but between upon within resulting associated complicating
causing other secondary
"""
_CONNECTORS = frozenset(_CONNECTORS_TEXT.split())
# What a heading says when everything that tells it from its neighbours was cut off.
_VAGUE_TEXT = """
abnormal abuse accident accidental accidents acquired activities activity acute adjustment adult adverse
affected agent anomalies anomaly application arthritis assault attention benign biopsy blister body burn
carcinoma caused certain chronic closed closure complete complicated complication complications condition
conditions congenital consultation contact contracture control contusion corrosion crushing deformity
destruction diagnostic discharge disease diseases dislocation disorder disorders disruption division
driver effect effects embolism encounter endoscopic examination excision exploration exposure external
extraction failure fall falling family fetal fitting foreign fracture hemorrhage high history in incision
infection infections infestation injection injuries injury insertion intentional isolation laceration late
legal lesion local malignant management maternal mechanical minor mother multiple need neoplasm newborn
nontraumatic normal observation occupant open operation operations other pain partial passenger pedestrian
percutaneous perforation person personal poisoning presence primary problem problems procedure procedures
reconstruction referral refusion removal repair replacement resistance rider screening secondary self-harm
self-inflicted sequelae site situ special specified sprain status struck subluxation subsequent suicide
superficial suspected suture symptoms tissue total toxic traumatic type types ulcer use ventricular war
wound x-ray
"""
_VAGUE = frozenset(_VAGUE_TEXT.split())


@cache
def heading_title(bare: str, system: System) -> str | None:
    """A title for the heading `bare`; None where the codes under it do not tell what they have in common."""
    if known := _KNOWN.get(system, {}).get(bare):
        return known
    titles = [_DETAIL.sub("", dictionary(system)[code]) for code in under(bare, system)]
    if not titles:
        return None
    is_category = bare == category_of(bare, system)
    found = _shared_opening(titles) or _unspecified_child(bare, system, is_category)
    return found or (_group_label(bare, system) if is_category else None)


def _shared_opening(titles: Sequence[str]) -> str | None:
    """The leading words that all titles share, if the cut falls where a phrase ends in each of them."""
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
        before[-1] in ",;:" or after[0] in "([" or _key(before) in _CONNECTORS or _key(after) in _CONNECTORS
    )


def _unspecified_child(bare: str, system: System, is_category: bool) -> str | None:
    """The title of the code that stands for the whole heading, without its "unspecified".

    A final 0 means "unspecified" below a category only: under 278, Overweight and obesity, 278.00 is obesity.
    """
    zeros = () if is_category else ("0", "00", "0XXA")
    nines = ("9", "90", "99", "909", "9XXA")
    for tail in (*zeros, *nines) if system is System.ICD9CM else (*nines, *zeros):
        title = _DETAIL.sub("", dictionary(system).get(bare + tail, ""))
        if (whole := _UNSPECIFIED.sub("", title)) != title and not _ONE_SIDE.search(whole):
            return _sensible(whole.split())
    return None


def _sensible(words: Sequence[str]) -> str | None:
    """The words without loose ends, or None when what remains says too little by itself."""
    kept = list(words)
    while kept and (_key(kept[-1]) in _CONNECTORS or _key(kept[-1]) == ""):
        kept.pop()
    text = re.sub(r"\s*[(\[][^)\]]*$", "", " ".join(kept).rstrip(" ,;:-"))
    if all(_key(word) in _VAGUE | _CONNECTORS for word in text.split()) or "unspecified" in text.lower():
        return None
    return text[:1].upper() + text[1:]


def _group_label(category: str, system: System) -> str | None:
    if system is System.ICD10CM:
        return next((title for span, title in blocks().items() if span[:3] <= category <= span[4:7]), None)
    return _ccs_label(category) if system is System.ICD9CM else None


def _ccs_label(category: str) -> str | None:
    """The label of the group that holds most codes of a category, if one does and it says something."""
    codes = under(category, System.ICD9CM)
    label, count = Counter(ccs().get(code, "") for code in codes).most_common(1)[0]
    if 2 * count <= len(codes) or re.search("residual|unspecified|^$|other specified", label, re.IGNORECASE):
        return None
    return label.replace(";", ",").replace("`", "'").replace("E Codes:", "External cause:")


def _key(word: str) -> str:
    return word.strip(",;:()[]").lower()
