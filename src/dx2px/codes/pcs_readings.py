"""Titles of ICD-10-PCS codes, taken apart.

Every title is read as a sentence with the same places: what is done, with which thing, on which part, to where, with
which device, by which approach.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from dx2px.codes.catalogue import dictionary
from dx2px.codes.families import without_side
from dx2px.codes.systems import System

APPROACHES = {
    "Open Approach": "open",
    "Percutaneous Approach": "percutaneous",
    "Percutaneous Endoscopic Approach": "percutaneous endoscopic",
    "External Approach": "external",
    "Via Natural or Artificial Opening": "via opening",
    "Via Natural or Artificial Opening Endoscopic": "via opening, endoscopic",
    "Via Natural or Artificial Opening with Percutaneous Endoscopic Assistance": "via opening, assisted",
}
_APPROACH = re.compile(rf",? ({'|'.join(sorted(APPROACHES, key=len, reverse=True))})(?:, (.*))?$")
THINGS = {  # what an operation handles, said in general
    "Removal": "device",
    "Insertion": "device",
    "Revision": "device",
    "Change": "device",
    "Introduction": "substance",
    "Transfusion": "other blood products",
    "Extirpation": "matter",
}
_THING = re.compile(rf"({'|'.join(THINGS)})(?: of)? (.+?) (from|into|in) (.+)")
_BARE = "Bypass|Division|Map|Reattachment|Release|Repair|Reposition|Supplement|Transfer|Occlusion"
_PLAIN = re.compile(
    rf"(Control) Bleeding (in) (.+)|(Detachment) (at) (.+)|({_BARE}) (?:of )?(.+)|(.+ Treatment) of (.+)|(.+?) of (.+)"
)
_DESTINATION = re.compile(r"(.+?) ((?:to|from) .+?)((?: with | using ).*)?")
_DEVICE = re.compile(r"(.+?) ((?:with|using) .+)")


@dataclass(frozen=True)
class Reading:
    """The places of one title; an empty text is a place that it does not have."""

    code: str
    action: str
    thing: str
    joint: str  # the preposition before the part
    part: str
    detail: str  # of the part, after its comma
    end: str  # where a bypass leads to, or comes from
    device: str
    device_detail: str
    approach: str
    qualifier: str


@lru_cache(maxsize=1 << 16)
def read_title(code: str, sided: bool = False) -> Reading:
    """The title of a bare code; with its side only if `sided`."""
    listed = dictionary(System.ICD10PCS)[code]
    text = (listed if sided else without_side(listed)).replace("Opening With", "Opening with")
    approach = qualifier = ""
    if found := _APPROACH.search(text):
        approach, qualifier = APPROACHES[found[1]], found[2] or ""
        text = text[: found.start()]
    action, thing, joint, rest = _action(text)
    rest, end, device = _ends(action, rest)
    part, _, detail = rest.removeprefix("and ").partition(", ")
    device, _, device_detail = device.partition(", ")
    read = (action, thing, joint, part, detail, end, device, device_detail)
    return Reading(code, *map(plain, (*read, approach, qualifier)))


def _action(text: str) -> tuple[str, str, str, str]:
    """What is done, to which thing, the preposition, and the rest."""
    if found := _THING.fullmatch(text):
        return found[1], found[2], found[3], found[4]
    if found := _PLAIN.fullmatch(text):
        action, joint, rest = ([one for one in found.groups() if one is not None] + [""])[:3]
        return (action, "", joint, rest) if rest else (action, "", "", joint)
    return "", "", "", text


def _ends(action: str, rest: str) -> tuple[str, str, str]:
    """The part, where a bypass ends, and the device."""
    end = ""
    if action == "Bypass" and (found := _DESTINATION.fullmatch(rest)):
        rest, end = found[1] + (found[3] or ""), found[2]
    if (action or " using " in rest) and (found := _DEVICE.fullmatch(rest)):
        return found[1], end, found[2]
    return rest, end, ""


def plain(text: str) -> str:
    """In lower case but for abbreviations."""
    return " ".join(
        word if any(mark.isupper() for mark in word[1:]) else word.lower() for word in text.split()
    )
