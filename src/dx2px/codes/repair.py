"""Restore codes that a spreadsheet turned into numbers, wherever exactly one code fits.

Opening a file in a spreadsheet, or reading it with guessed column types, does four kinds of damage:

- leading zeros are lost: `0389` becomes `389`, ICD-10-PCS `0016070` becomes `16070`;
- a dotted code becomes a decimal: `038.9` becomes `38.9`, `250.00` becomes `250`, `038.10` becomes `38.1`;
- an integer column with gaps becomes a float column: `4280` becomes `4280.0`;
- digits around an E become a power of ten: ICD-10-PCS `02700E6` becomes `2.7E+09` and cannot be recovered.

Nothing is guessed. 347 integers can each be two ICD-9 diagnoses, and 73 can each be two procedures. Such a number is
refused as `ambiguous_leading_zero`, with its candidates. ICD-10-CM codes begin with a letter and are safe.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from dx2px.codes.catalogue import dictionary, under
from dx2px.codes.systems import System
from dx2px.codes.text import dot_place, has_shape, normalize, squeeze
from dx2px.errors import CodeError

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")  # longer ones come from no code
_POWER_OF_TEN = re.compile(r"[0-9]+(?:\.[0-9]*)?E[+-][0-9]+|[0-9]+\.[0-9]*E[0-9]+")
_SHARE_EXPLAINED = 1 / 200
_BOTH_WAYS = 3
_LONGEST = {System.ICD9CM: 5, System.ICD9PCS: 4, System.ICD10PCS: 7}

_SENTENCES = {
    "unchanged": "The text is already a code.",
    "leading_zero_restored": "A number whose leading zeros were lost; only one code has its value.",
    "decimal_restored": "A decimal number made from a dotted code; only one code has its value.",
    "float_tail_removed": "A code without a dot, written as a decimal number ending in .0.",
    "ambiguous_leading_zero": "Several codes become this number when their leading zeros are lost.",
    "ambiguous_dot": "One code written with its dot and another written without it both become this number.",
    "scientific_notation": "A power of ten made from a code with an E between digits; its digits are lost.",
    "no_such_code": "No code of the system becomes this number.",
    "not_a_code": "The text does not have the shape of a code of the system.",
}


@dataclass(frozen=True)
class Repair:
    """`code` is the canonical code if exactly one fits, else None; `explain` turns `reason` into a sentence."""

    code: str | None
    candidates: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class _Readings:
    """The codes that become a given number: `plain` if written without the dot, `decimal` if written with it."""

    plain: tuple[str, ...]
    decimal: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.plain + self.decimal))


def repair(text: str, system: System, dotted: bool | None = None) -> Repair:
    """The code that a spreadsheet may have turned into `text`.

    `dotted` says whether the column held codes with dots (`looks_dotted` finds out). None allows both; then the
    diagnosis `389` is ambiguous between 038.9 written as `0389` and 389.00 written as `389.00`.
    Listed codes win over unlisted ones; a retired code or a heading is kept if nothing else fits.
    """
    number = squeeze(text)
    if _POWER_OF_TEN.fullmatch(number) or (
        _is_number(number) and len(_whole(number)) > 7 and system is System.ICD10PCS
    ):
        return Repair(None, (), "scientific_notation")
    if system is System.ICD10CM or not _is_number(number) or _keeps_zero(number):
        return _as_text(text, system)
    found = _listed(number, system, dotted)
    return _verdict(number, found if found.all else _unlisted(number, system), system)


def explain(reason: str) -> str:
    """The reason of a repair as a sentence."""
    return _SENTENCES[reason]


def looks_dotted(column_codes: Iterable[str], system: System) -> bool:
    """Whether a column holds codes with dots: one number with a nonzero fraction is enough to tell."""
    numbers = (squeeze(text) for text in column_codes)
    return system.version == 9 and any(_is_number(text) and _fraction(text) != "" for text in numbers)


def looks_numeric(column_codes: Iterable[str], system: System) -> bool:
    """Whether a column of codes went through a spreadsheet. Pass all its entries, or the distinct ones.

    The signs, in this order:

    - a power of ten: yes;
    - a number with a leading zero: no, because a spreadsheet leaves none. But yes if three codes or more also
      appear without their zero, in a form that no list has: then some rows went through one. In the open data,
      healthy columns have one such code at most, and mixed ones from 3 to 78;
    - a number that is never written as a code but that some code becomes (`42` for 042, `38.9`, `4280.0`): yes;
    - more than one number in 200 is listed only once a lost zero is put back, and most numbers are listed as
      they are (in a column cut to categories they are not): yes. In the open data, damaged columns have more
      than one in 75, healthy ones fewer than one in 400.

    The absence of leading zeros proves nothing: a healthy column of, say, heart patients may have none.
    """
    texts = {squeeze(text) for text in column_codes}
    numbers = {text for text in texts if _is_number(text)}
    if system is System.ICD10CM or any(_POWER_OF_TEN.fullmatch(text) for text in texts):
        return system is not System.ICD10CM
    with_dots = looks_dotted(numbers, system)
    whole = {number.replace(".", "") for number in numbers if _keeps_zero(number)}
    strange = {number for number in numbers if not _is_listed_as_written(number, system)}
    if whole:
        lost = {number for number in strange if not _keeps_zero(number)}
        both = [number for number in lost if whole.intersection(_listed(number, system, with_dots).all)]
        return len(both) >= _BOTH_WAYS
    explained = {number for number in strange if _listed(number, system, with_dots).all}
    if any(_is_impossible(number, system) for number in explained):
        return True
    return 2 * len(strange) < len(numbers) and len(explained) > _SHARE_EXPLAINED * len(numbers)


def _as_text(text: str, system: System) -> Repair:
    try:
        code = normalize(text, system)
    except CodeError:
        return Repair(None, (), "not_a_code")
    return Repair(code, (code,), "unchanged")


def _verdict(number: str, readings: _Readings, system: System) -> Repair:
    candidates = tuple(f"{system}:{bare}" for bare in readings.all)
    if not candidates:
        return Repair(None, (), "no_such_code")
    if len(candidates) > 1:
        return Repair(
            None, candidates, "ambiguous_leading_zero" if len(readings.plain) > 1 else "ambiguous_dot"
        )
    bare = readings.all[0]
    if bare == number.replace(".", "") and not _is_impossible(number, system):
        reason = "unchanged"
    elif bare not in readings.plain:
        reason = "decimal_restored"
    else:
        reason = "float_tail_removed" if bare == _whole(number) else "leading_zero_restored"
    return Repair(candidates[0], candidates, reason)


def _listed(number: str, system: System, dotted: bool | None) -> _Readings:
    """The listed codes that have the number's value, whether written with or without the dot."""
    place = dot_place(number, system)
    may_be_plain = not _fraction(number) and (dotted is not True or len(_whole(number)) > place)
    may_be_decimal = place > 0 and (bool(_fraction(number)) or dotted is not False)
    return _Readings(
        plain=_by_integer(system).get(int(_whole(number)), ()) if may_be_plain else (),
        decimal=_by_value(system).get(Decimal(number), ()) if may_be_decimal else (),
    )


def _unlisted(number: str, system: System) -> _Readings:
    """Headings with the number's value, and the number itself if it is too long to have lost a zero."""
    whole, longest, place = _whole(number), _LONGEST[system], dot_place(number, system)
    if fraction := _fraction(number):
        bare = whole.zfill(place) + fraction
        return _Readings((), (bare,) if _is_possible(bare, system) else ())
    padded = [whole.zfill(length) for length in range(len(whole), longest + 1)]
    return _Readings(tuple(bare for bare in padded if _is_possible(bare, system)), ())


def _is_possible(bare: str, system: System) -> bool:
    full = len(bare) == _LONGEST[system] and not bare.startswith("0")
    return has_shape(bare, system) and (full or bool(under(bare, system)))


@cache
def _by_integer(system: System) -> Mapping[int, tuple[str, ...]]:
    values: dict[int, list[str]] = defaultdict(list)
    for bare in dictionary(system):
        if bare.isdigit():
            values[int(bare)].append(bare)
    return {value: tuple(sorted(codes)) for value, codes in values.items()}


@cache
def _by_value(system: System) -> Mapping[Decimal, tuple[str, ...]]:
    values: dict[Decimal, list[str]] = defaultdict(list)
    for bare in dictionary(system):
        if bare.isdigit():
            place = dot_place(bare, system)
            values[Decimal(f"{bare[:place]}.{bare[place:]}")].append(bare)
    return {value: tuple(sorted(codes)) for value, codes in values.items()}


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _keeps_zero(number: str) -> bool:
    return len(_whole(number)) > 1 and number.startswith("0")


def _whole(number: str) -> str:
    return number.partition(".")[0]


def _fraction(number: str) -> str:
    """The digits after the dot without trailing zeros; empty for a whole number such as `4280.0`."""
    return number.partition(".")[2].rstrip("0")


def _is_impossible(number: str, system: System) -> bool:
    """Whether no code is ever written like this: it is too short, or its dot is in the wrong place."""
    if "." in number:
        return len(_whole(number)) != dot_place(number, system)
    return not has_shape(number, system)


def _is_listed_as_written(number: str, system: System) -> bool:
    return not _is_impossible(number, system) and number.replace(".", "") in dictionary(system)
