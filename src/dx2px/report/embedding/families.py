"""Colours of chapters. Nobody can tell forty colours apart, so chapters of one part of medicine share a colour, for
diagnoses and procedures alike, and differ by how their mark is filled. The chapter is also named in words.

Families are numbered like their colours in `map.css`: ten hues, alternately lighter and darker so that they stay
distinct under the usual kinds of colour blindness, and grey for everything that belongs to no part of the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dx2px.codes import System, ancestors, chapter, split, title

(
    CIRCULATION,
    BREATHING,
    DIGESTION,
    KIDNEY,
    BIRTH,
    BONES,
    TUMOURS,
    NERVES,
    SKIN,
    GLANDS,
    GENERAL,
) = range(11)
FULL, RING, PALE = "full", "ring", "pale"  # how a mark is filled

_ICD9CM = {
    "001-139": (SKIN, FULL),
    "140-239": (TUMOURS, FULL),
    "240-279": (GLANDS, FULL),
    "280-289": (TUMOURS, RING),
    "290-319": (NERVES, RING),
    "320-389": (NERVES, FULL),
    "390-459": (CIRCULATION, FULL),
    "460-519": (BREATHING, FULL),
    "520-579": (DIGESTION, FULL),
    "580-629": (KIDNEY, FULL),
    "630-679": (BIRTH, FULL),
    "680-709": (SKIN, RING),
    "710-739": (BONES, FULL),
    "740-759": (BIRTH, PALE),
    "760-779": (BIRTH, RING),
    "780-799": (GENERAL, FULL),
    "800-999": (BONES, RING),
    "E000-E999": (GENERAL, PALE),
    "V01-V91": (GENERAL, RING),
}
_ICD9PCS = {
    "00": (GENERAL, PALE),
    "01-05": (NERVES, FULL),
    "06-07": (GLANDS, FULL),
    "08-16": (NERVES, PALE),
    "17": (GENERAL, RING),
    "18-20": (NERVES, RING),
    "21-29": (BREATHING, RING),
    "30-34": (BREATHING, FULL),
    "35-39": (CIRCULATION, FULL),
    "40-41": (TUMOURS, RING),
    "42-54": (DIGESTION, FULL),
    "55-59": (KIDNEY, FULL),
    "60-64": (KIDNEY, RING),
    "65-71": (KIDNEY, PALE),
    "72-75": (BIRTH, FULL),
    "76-84": (BONES, FULL),
    "85-86": (SKIN, RING),
    "87-99": (GENERAL, FULL),
}
_ICD10CM = {
    "A00-B99": (SKIN, FULL),
    "C00-D49": (TUMOURS, FULL),
    "D50-D89": (TUMOURS, RING),
    "E00-E89": (GLANDS, FULL),
    "F01-F99": (NERVES, RING),
    "G00-G99": (NERVES, FULL),
    "H00-H59": (NERVES, PALE),
    "H60-H95": (BREATHING, RING),
    "I00-I99": (CIRCULATION, FULL),
    "J00-J99": (BREATHING, FULL),
    "K00-K95": (DIGESTION, FULL),
    "L00-L99": (SKIN, RING),
    "M00-M99": (BONES, FULL),
    "N00-N99": (KIDNEY, FULL),
    "O00-O9A": (BIRTH, FULL),
    "P00-P96": (BIRTH, RING),
    "Q00-Q99": (BIRTH, PALE),
    "R00-R99": (GENERAL, FULL),
    "S00-T88": (BONES, RING),
    "U00-U85": (GLANDS, RING),
    "V00-Y99": (GENERAL, PALE),
    "Z00-Z99": (GENERAL, RING),
}
# ICD-10-PCS has no chapters. Section 0 is divided by body system; the other sections are not divided.
_ICD10PCS = {
    **dict.fromkeys(("00", "01"), (NERVES, FULL)),
    "08": (NERVES, PALE),
    "09": (BREATHING, RING),
    "02": (CIRCULATION, FULL),
    **dict.fromkeys(("03", "04", "05", "06"), (CIRCULATION, RING)),
    "07": (TUMOURS, RING),
    "0B": (BREATHING, FULL),
    "0C": (DIGESTION, RING),
    "0D": (DIGESTION, FULL),
    "0F": (DIGESTION, PALE),
    "0G": (GLANDS, FULL),
    **dict.fromkeys(("0H", "0J"), (SKIN, RING)),
    **dict.fromkeys(("0K", "0L", "0M"), (BONES, RING)),
    **dict.fromkeys(("0N", "0P", "0Q", "0R", "0S"), (BONES, FULL)),
    **dict.fromkeys(("0W", "0X", "0Y"), (GENERAL, RING)),
    "0T": (KIDNEY, FULL),
    "0U": (KIDNEY, PALE),
    "0V": (KIDNEY, RING),
    "1": (BIRTH, FULL),
    "5": (BREATHING, PALE),
    "D": (TUMOURS, PALE),
}
_TABLES = {
    System.ICD9CM: _ICD9CM,
    System.ICD9PCS: _ICD9PCS,
    System.ICD10CM: _ICD10CM,
    System.ICD10PCS: _ICD10PCS,
}


@dataclass(frozen=True)
class Group:
    """A chapter, or what takes its place, as the map shows it."""

    key: str  # canonical heading, such as icd9cm:@390-459
    name: str
    kind: str
    family: int
    fill: str


def heading(code: str) -> str:
    """The chapter of a code; in section 0 of ICD-10-PCS its body system."""
    system, bare = split(code)
    if system is System.ICD10PCS and bare.startswith("0") and len(bare) > 2:
        return ancestors(code)[1]
    return chapter(code)


@cache
def group(key: str) -> Group:
    """The group of a heading; codes outside all chapters go to the general ones."""
    system, bare = split(key)
    family, fill = _TABLES[system].get(bare.lstrip("@"), (GENERAL, FULL))
    return Group(key, _short(title(key).text), system.kind, family, fill)


def _short(name: str) -> str:
    """The title without its common opening: the map and its legend have little room."""
    for opening in (
        "Diseases of the ",
        "Operations on the ",
        "Medical and surgical: ",
        "Certain conditions originating in the ",
    ):
        if name.startswith(opening):
            rest = name.removeprefix(opening)
            return rest[0].upper() + rest[1:]
    return name
