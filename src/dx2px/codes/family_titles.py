"""Titles of families of ICD-10-PCS codes.

Those of the package's model that the rules would name clumsily have a title of their own (`data/family_titles.tsv`).
Others are made from the titles of their codes, taken apart by `pcs_readings`: each place is filled with the values that
the codes have. A place with too many values gets what they have in common: the last words of the parts ("valves"),
their body systems, a general word ("device"), or nothing. Sides, and approaches that leave none out, are not said. A
title that becomes too long for a table leaves out devices, then approaches, then says no more than the operation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import cast

from dx2px.codes.families import members, sides_of
from dx2px.codes.headings import heading_title, pcs_body_systems, pcs_root_operations
from dx2px.codes.pcs_readings import APPROACHES, THINGS, Reading, plain, read_title
from dx2px.codes.tables import rows
from dx2px.codes.text import split

_ORIGIN = re.compile(r"\b(?:non)?autologous (?=tissue)|\bzooplastic (?=tissue)")
_NAMED, _LONGEST = 4, 72  # alternatives that a title names, and their characters
_ENDOSCOPIC = {"open", "percutaneous endoscopic", "via opening, endoscopic"}
_VAGUE = frozenset({"treatment", "assessment"})  # endings that say too little alone
_FEW = 3  # alternatives of an axis that is no body part
_SYSTEMS = frozenset("0BCDX")  # sections whose body systems say where
_LONG = 90  # characters of a title, at most
_PART = 4  # places of a pattern, up to the body part


@lru_cache(maxsize=1 << 12)
def family_title(code: str) -> str | None:
    """What the titles of a family's codes share: "Replacement of knee joint"; None if it has no listed code."""
    system, bare = split(code)
    if written := _written().get(bare):
        return written
    codes = members(code)
    if not codes:
        return None
    sided = len({sides_of(one) for one in codes}) == 1
    readings = [read_title(split(one)[1], sided) for one in codes]
    fitting = (title for title in _titles(bare, readings) if len(title) <= _LONG)
    title = next(fitting, None) or heading_title(f"{system}:{bare[:3]}")
    return title and title[:1].upper() + title[1:]


def _titles(bare: str, readings: Sequence[Reading]) -> Iterator[str]:
    """The title, then shorter ones that say less."""
    whole = all(len(re.sub(r"\[\w+\]", "x", part)) <= _PART for part in bare.split("+"))
    yield _title(readings, devices=not whole, approaches=not whole)
    yield _title(readings, devices=False, approaches=not whole)
    yield _title(readings, devices=False, approaches=False)
    systems = sorted({_body_system(one.code) for one in readings} - {""})
    yield " of ".join(filter(None, [_or(sorted({_root(one.code) for one in readings})), _or(systems)]))


def _title(readings: Sequence[Reading], devices: bool, approaches: bool) -> str:
    groups: dict[tuple[str, ...], list[Reading]] = {}
    for one in readings:
        apart = one.action if _apart(one) else ""
        groups.setdefault((one.code[0], apart), []).append(one)
    clauses = dict.fromkeys(_clause(group, devices) for group in groups.values())
    ends = [_approach({one.approach for one in readings}), _few({one.qualifier for one in readings})]
    return ", ".join(filter(None, [_or(list(clauses)), *(ends if approaches else [])]))


def _apart(one: Reading) -> bool:
    """Whether an operation cannot share a phrase with others: it has a thing, a preposition or an end of its own."""
    return bool((one.thing and one.action != "extirpation") or one.end or one.joint in ("in", "at"))


def _clause(group: Sequence[Reading], devices: bool) -> str:
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


def _with_thing(actions: str, group: Sequence[Reading], parts: str) -> str:
    first = group[0]
    if not first.joint:
        return f"{actions} of {parts}" if first.part and actions else actions or parts
    if first.action == "control":
        return f"control of bleeding in {parts}"
    things = {one.thing for one in group}
    if not first.thing or (len({one.action for one in group}) > 1):
        return f"{actions} {first.joint if first.joint == 'at' else 'of'} {parts}"
    general = THINGS[first.action.capitalize()]
    thing = _shared(things) if len(things) <= _FEW else _ending(things) or _and_other(things, general)
    return f"{actions} of {thing} {first.joint} {parts}" if parts else f"{actions} of {thing}"


def _and_other(things: set[str], general: str) -> str:
    """A general word; blood products differ too much for one."""
    return f"{_or([*_shortest(things), general])}" if general.startswith("other") else general


def _actions(group: Sequence[Reading]) -> str:
    """The operations by name; where they are many, by what the third character says."""
    names = {one.action for one in group} - {""}
    if len(names) > _NAMED or (names and any(not one.action for one in group)):
        names = {_root(one.code) for one in group}
    return _or(sorted(names)[:_NAMED])


def _parts(group: Sequence[Reading]) -> str:
    """The body parts by name, or what they have in common; then what all of them are completed by."""
    parts = {one.part for one in group if one.part}
    details = _few({one.detail for one in group})
    named = _shared(parts) if parts else ""
    if len(parts) > _NAMED or len(named) > _LONGEST:
        named = _in_common(group, parts)
    return ", ".join(filter(None, [named, details]))


def _in_common(group: Sequence[Reading], parts: set[str]) -> str:
    systems = sorted({_body_system(one.code) for one in group} - {""})
    ending = _plural(_ending(parts))
    if ending and ending not in _VAGUE and not any(ending in system for system in systems):
        return ending
    if systems:
        return _or(systems if len(systems) <= _NAMED else [*systems[: _NAMED - 1], "other systems"])
    if not group[0].action:
        return _or(sorted({_root(one.code) for one in group}))
    return _or([*_shortest(parts), "others"])


def _devices(group: Sequence[Reading]) -> str:
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
    by_incision = [one for one in APPROACHES.values() if one in texts and "via" not in one]
    openings = [one for one in APPROACHES.values() if one in texts and "via" in one]
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


def _shortest(texts: set[str]) -> list[str]:
    """Two examples."""
    return sorted(texts, key=lambda text: (len(text), text))[:2]


def _or(texts: Sequence[str]) -> str:
    return f"{', '.join(texts[:-1])} or {texts[-1]}" if len(texts) > 1 else "".join(texts)


def _body_system(code: str) -> str:
    """Where a code's second character says; the general regions by their names."""
    name = pcs_body_systems(code[0]).get(code[1], "") if code[0] in _SYSTEMS else ""
    known: Mapping[str, str] = {"general": "body regions or cavities"}
    region = name.removeprefix("anatomical regions, ")
    return known.get(region, region).replace("nose, sinus", "nose or sinus")


def _root(code: str) -> str:
    return plain(pcs_root_operations(code[0]).get(code[2], ""))


@cache
def _written() -> Mapping[str, str]:
    """The titles that were written by hand, by bare family."""
    return dict(cast("Iterable[tuple[str, str]]", rows("family_titles")))
