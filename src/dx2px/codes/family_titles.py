"""Titles of families of ICD-10-PCS codes, made from the titles of their codes.

Every title is read as a sentence with the same places: what is done, with which thing, on which part, to where, with
which device, by which approach. A family's title fills these places with the values that its codes have. A place with
too many values gets what they have in common: the last words of the parts ("valves"), their body systems, a general
word ("device"), or nothing. Sides, and approaches that leave none out, are not said.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dx2px.codes.catalogue import dictionary
from dx2px.codes.families import members, without_side
from dx2px.codes.headings import pcs_body_systems, pcs_root_operations
from dx2px.codes.systems import System
from dx2px.codes.text import split

_APPROACHES = {
    "Open Approach": "open",
    "Percutaneous Approach": "percutaneous",
    "Percutaneous Endoscopic Approach": "percutaneous endoscopic",
    "External Approach": "external",
    "Via Natural or Artificial Opening": "via opening",
    "Via Natural or Artificial Opening Endoscopic": "via opening, endoscopic",
    "Via Natural or Artificial Opening with Percutaneous Endoscopic Assistance": "via opening, assisted",
}
_APPROACH = re.compile(rf",? ({'|'.join(sorted(_APPROACHES, key=len, reverse=True))})(?:, (.*))?$")
_THINGS = {  # what an operation handles, said in general
    "Removal": "device",
    "Insertion": "device",
    "Revision": "device",
    "Change": "device",
    "Introduction": "substance",
    "Transfusion": "other blood products",
    "Extirpation": "matter",
}
_THING = re.compile(rf"({'|'.join(_THINGS)})(?: of)? (.+?) (from|into|in) (.+)")
_BARE = "Bypass|Division|Map|Reattachment|Release|Repair|Reposition|Supplement|Transfer|Occlusion"
_PLAIN = re.compile(
    rf"(Control) Bleeding (in) (.+)|(Detachment) (at) (.+)|({_BARE}) (?:of )?(.+)|(.+ Treatment) of (.+)|(.+?) of (.+)"
)
_DESTINATION = re.compile(r"(.+?) ((?:to|from) .+?)((?: with | using ).*)?")
_DEVICE = re.compile(r"(.+?) ((?:with|using) .+)")
_ORIGIN = re.compile(r"\b(?:non)?autologous (?=tissue)|\bzooplastic (?=tissue)")
_NAMED, _LONGEST = 4, 72  # alternatives that a title names, and their characters
_ENDOSCOPIC = {"open", "percutaneous endoscopic", "via opening, endoscopic"}
_VAGUE = frozenset({"treatment", "assessment"})  # endings that say too little alone
_FEW = 3  # alternatives of an axis that is no body part
_SYSTEMS = frozenset("0BCDX")  # sections whose body systems say where
_LONG = 110  # characters, above which a title leaves out devices


@dataclass(frozen=True)
class _Reading:
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


@lru_cache(maxsize=1 << 12)
def family_title(code: str) -> str | None:
    """What the titles of a family's codes share: "Replacement of knee joint"; None if it has no listed code."""
    readings = [_read(split(one)[1]) for one in members(code)]
    if not readings:
        return None
    whole = all(len(re.sub(r"\[\w+\]", "x", part)) <= 4 for part in split(code)[1].split("+"))
    title = _title(readings, devices=not whole, approaches=not whole)
    if len(title) > _LONG:
        title = _title(readings, devices=False, approaches=not whole)
    return title[:1].upper() + title[1:]


def _title(readings: Sequence[_Reading], devices: bool, approaches: bool) -> str:
    groups: dict[tuple[str, ...], list[_Reading]] = {}
    for one in readings:
        apart = one.action if _apart(one) else ""
        groups.setdefault((one.code[0], apart), []).append(one)
    clauses = dict.fromkeys(_clause(group, devices) for group in groups.values())
    ends = [_approach({one.approach for one in readings}), _few({one.qualifier for one in readings})]
    return ", ".join(filter(None, [_or(list(clauses)), *(ends if approaches else [])]))


def _apart(one: _Reading) -> bool:
    """Whether an operation cannot share a phrase with others: it has a thing, a preposition or an end of its own."""
    return bool((one.thing and one.action != "extirpation") or one.end or one.joint in ("in", "at"))


def _clause(group: Sequence[_Reading], devices: bool) -> str:
    """Operations on parts: "Removal of device from heart", "Drainage or excision of liver with drainage device"."""
    actions = _actions(group)
    parts = _parts(group)
    device = _devices(group) if devices else _few({one.device_detail for one in group})
    end = _few({one.end for one in group})
    return " ".join(
        filter(
            None,
            [_with_thing(actions, group, parts), end, device if devices or not device else f"({device})"],
        )
    )


def _with_thing(actions: str, group: Sequence[_Reading], parts: str) -> str:
    first = group[0]
    if not first.joint:
        return f"{actions} of {parts}" if first.part and actions else actions or parts
    if first.action == "control":
        return f"control of bleeding in {parts}"
    things = {one.thing for one in group}
    if not first.thing or (len({one.action for one in group}) > 1):
        return f"{actions} {first.joint if first.joint == 'at' else 'of'} {parts}"
    general = _THINGS[first.action.capitalize()]
    thing = _shared(things) if len(things) <= _FEW else _ending(things) or _and_other(things, general)
    return f"{actions} of {thing} {first.joint} {parts}" if parts else f"{actions} of {thing}"


def _and_other(things: set[str], general: str) -> str:
    """A general word; blood products differ too much for one."""
    return f"{_or([*sorted(things, key=len)[:2], general])}" if general.startswith("other") else general


def _actions(group: Sequence[_Reading]) -> str:
    """The operations by name; where they are many, by what the third character says."""
    names = {one.action for one in group} - {""}
    if len(names) > _NAMED or (names and any(not one.action for one in group)):
        names = {_root(one.code) for one in group}
    return _or(sorted(names)[:_NAMED])


def _parts(group: Sequence[_Reading]) -> str:
    """The body parts by name, or what they have in common; then what all of them are completed by."""
    parts = {one.part for one in group if one.part}
    details = _few({one.detail for one in group})
    named = _shared(parts) if parts else ""
    if len(parts) > _NAMED or len(named) > _LONGEST:
        named = _in_common(group, parts)
    return ", ".join(filter(None, [named, details]))


def _in_common(group: Sequence[_Reading], parts: set[str]) -> str:
    systems = sorted({_body_system(one.code) for one in group} - {""})
    ending = _plural(_ending(parts))
    if ending and ending not in _VAGUE and not any(ending in system for system in systems):
        return ending
    if systems:
        return _or(systems if len(systems) <= _NAMED else [*systems[: _NAMED - 1], "other systems"])
    if not group[0].action:
        return _or(sorted({_root(one.code) for one in group}))
    return _or([*sorted(parts, key=len)[:2], "others"])


def _devices(group: Sequence[_Reading]) -> str:
    """The devices; of tissue, not where it comes from if that differs."""
    devices = {one.device for one in group}
    if "" in devices:
        return ""
    if len(devices) > 1:
        devices = {_ORIGIN.sub("", one).replace("tissue substitute", "tissue") for one in devices}
    detail = _few({one.device_detail for one in group})
    words = {one.split()[0] for one in devices}
    things = {one.split(" ", 1)[1] for one in devices}
    named = _shared(things) if len(things) < _FEW else _ending(things)
    return ", ".join(filter(None, [f"{min(words)} {named}" if named else "", detail]))


def _few(texts: set[str]) -> str:
    """Up to three alternatives; nothing where they are more, or where some codes have none."""
    listed = len(texts) > 1 and any("," in one for one in texts)
    return "" if "" in texts or listed or len(texts) > _FEW else _shared(texts)


def _approach(texts: set[str]) -> str:
    """The approaches; nothing where they leave out none that matters: open, needle, endoscope."""
    if "" in texts or len(texts) > _FEW or {"open", "percutaneous", "percutaneous endoscopic"} <= texts:
        return ""
    if {"percutaneous endoscopic", "via opening, endoscopic"} <= texts <= _ENDOSCOPIC:
        return "open or endoscopic approach" if "open" in texts else "endoscopic approach"
    if {"percutaneous", "percutaneous endoscopic"} <= texts:
        texts = texts - {"percutaneous endoscopic"}
    by_incision = [one for one in _APPROACHES.values() if one in texts and "via" not in one]
    openings = [one for one in _APPROACHES.values() if one in texts and "via" in one]
    said = [f"{_or(by_incision)} approach"] if by_incision else []
    return _or([*said, *([_opening(openings)] if openings else [])])


def _opening(openings: Sequence[str]) -> str:
    how = {
        "via opening, endoscopic": " endoscopic",
        "via opening, assisted": " with percutaneous endoscopic assistance",
    }
    return "via natural or artificial opening" + (how.get(openings[0], "") if len(openings) == 1 else "")


def _shared(texts: Iterable[str]) -> str:
    """Alternatives, what they begin or end with said once: "lower or upper eyelid", "spinal cord or meninges"."""
    words = [text.split() for text in sorted(texts)]
    if len(words) == 1 or not all(words):
        return " ".join(words[0])
    after: dict[str, set[str]] = {}
    for one in words:
        after.setdefault(one[-1], set()).add(" ".join(one[:-1]))
    before = next(iter(after.values()))
    if "" not in before and all(some == before for some in after.values()) and len(before) > 1:
        return f"{_shared(before)} {_or(list(after))}"
    if len({one[0] for one in words}) == 1 and min(map(len, words)) > 1:
        return f"{words[0][0]} {_shared(' '.join(one[1:]) for one in words)}"
    return _or([" ".join(one) for one in words])


def _ending(texts: Iterable[str]) -> str:
    """The words that all texts end with."""
    kept: list[str] = []
    for column in zip(*(reversed(text.split()) for text in texts), strict=False):
        if len(set(column)) > 1 or column[0] in ("and", "or", "of"):
            break
        kept.insert(0, column[0])
    return " ".join(kept)


def _plural(text: str) -> str:
    text = text.replace("bronchus", "bronchi")
    if text.endswith("artery"):
        return f"{text[:-1]}ies"
    return f"{text}s" if text.endswith(_COUNTED) else text


_COUNTED = (
    "valve",
    "muscle",
    "tendon",
    "nerve",
    "bone",
    "joint",
    "vein",
    "finger",
    "toe",
    "duct",
    "disc",
)


def _or(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} or {texts[-1]}" if len(texts) > 1 else "".join(texts)


def _body_system(code: str) -> str:
    """Where a code's second character says; the general regions by their names."""
    name = pcs_body_systems(code[0]).get(code[1], "") if code[0] in _SYSTEMS else ""
    known: Mapping[str, str] = {"general": "body regions or cavities"}
    region = name.removeprefix("anatomical regions, ")
    return known.get(region, region).replace("nose, sinus", "nose or sinus")


def _root(code: str) -> str:
    return _plain(pcs_root_operations(code[0]).get(code[2], ""))


@lru_cache(maxsize=1 << 16)
def _read(code: str) -> _Reading:
    text = without_side(dictionary(System.ICD10PCS)[code]).replace("Opening With", "Opening with")
    approach = qualifier = ""
    if found := _APPROACH.search(text):
        approach, qualifier = _APPROACHES[found[1]], found[2] or ""
        text = text[: found.start()]
    action, thing, joint, rest = _action(text)
    rest, end, device = _ends(action, rest)
    part, _, detail = rest.removeprefix("and ").partition(", ")
    device, _, device_detail = device.partition(", ")
    read = (action, thing, joint, part, detail, end, device, device_detail)
    return _Reading(code, *map(_plain, (*read, approach, qualifier)))


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


def _plain(text: str) -> str:
    """In lower case but for abbreviations."""
    return " ".join(
        word if any(mark.isupper() for mark in word[1:]) else word.lower() for word in text.split()
    )
