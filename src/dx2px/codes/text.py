"""From codes as people and files write them to the one canonical form: `icd9cm:4280`, upper case, no dot, zeros kept.

`normalize` reads a text whose system is known; `resolve` also finds the system. Both refuse a text that does not have
the shape of a code. Neither requires the code to be listed, because real data contain retired codes.
"""

import re
from collections.abc import Iterable, Sequence

from dx2px.codes.catalogue import dictionary, under
from dx2px.codes.systems import Kind, System
from dx2px.errors import CodeError
from dx2px.words import called

_SHAPES = {
    System.ICD9CM: re.compile(r"[0-9]{3,5}|V(?!00)(?:[0-8][0-9]|9[01])[0-9]{0,2}|E[0-9]{3,4}"),
    System.ICD9PCS: re.compile(r"[0-9]{2,4}"),
    System.ICD10CM: re.compile(r"[A-Z][0-9][0-9A-Z]{1,5}"),
    System.ICD10PCS: re.compile(r"[0-9A-HJ-NP-Z]{7}"),
}

_EXPECTED = {
    System.ICD9CM: "3 to 5 digits, V01 to V91 with up to 2 more digits, or E with 3 or 4 digits; "
    "a dot only after the third character, the fourth of an E code",
    System.ICD9PCS: "2 to 4 digits, a dot only after the second",
    System.ICD10CM: "a letter, a digit and 1 to 5 letters or digits, a dot only after the third character",
    System.ICD10PCS: "7 letters or digits, neither I nor O, and no dot",
}

# Blanks of every script, zero-width characters and byte-order marks: invisible, and harmless around a code. Inside a
# code they may stand for a lost character, and so may a control character anywhere: such a text is not a code.
_BLANKS = (
    " \t\n\r\f\v\u00a0\u00ad\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2062"
    "\u2063\u2064\u3000\ufeff"
)
_QUOTES = "\"'`´‘’‚“”„«»"
_BEFORE = _BLANKS + _QUOTES + "="  # exports leave quotes, or ="0389"
_AFTER = _BLANKS + _QUOTES + "-"  # NHDS pads with hyphens
_LONGEST_SHOWN = 40


def clean(text: str) -> str:
    """The text in upper case, without dots, surrounding blanks and quotes, and `-` padding."""
    return squeeze(squeeze(text).replace(".", ""))


def normalize(text: str, system: System) -> str:
    """The canonical code of a text whose system is known.

    Args:
        text: The code as written, with or without dot, surrounding blanks and quotes, and system prefix.
        system: The system it belongs to.

    Returns:
        The canonical code. It need not be listed.

    Raises:
        CodeError: The text does not have the shape of a code of this system, or names another system.
    """
    squeezed = squeeze(text_only(text))
    prefix, colon, bare = squeezed.rpartition(":")
    bare = bare.lstrip(_BEFORE)
    if colon and prefix.lower() != system:
        raise CodeError(f"{_shown(text)} names another system where {_article(system)} code is expected.")
    if not has_shape(bare.replace(".", ""), system) or not dot_fits(bare, system):
        raise CodeError(f"{_shown(text)} is not {_article(system)} code: expected {_EXPECTED[system]}.")
    return f"{system}:{bare.replace('.', '')}"


def text_only(text: object) -> str:
    """The text itself; an error for anything else, since a number may have lost its zeros."""
    if not isinstance(text, str):
        raise CodeError(f"A code is given as text, as in '585.6', not as {called(text)}.")
    return text


def has_shape(bare: str, system: System) -> bool:
    """Whether a cleaned text, without prefix and dot, could be a code of the system."""
    return _SHAPES[system].fullmatch(bare) is not None


def split(code: str) -> tuple[System, str]:
    """The system and the bare code of a canonical code or heading: `icd9cm:4280` gives ICD9CM and `4280`."""
    prefix, colon, bare = code.partition(":")
    if not (colon and bare and prefix in _PREFIXES):
        raise CodeError(f"{_shown(code)} is not a canonical code: write it as in icd9cm:4280.")
    return System(prefix), bare


def dotted(code: str) -> str:
    """The form shown to people: `428.0`, `00.17`, `E11.9`; ICD-10-PCS codes have no dot."""
    system, bare = split(code)
    place = dot_place(bare, system)
    if bare.startswith("@"):
        return bare[1:]
    return f"{bare[:place]}.{bare[place:]}" if place and len(bare) > place else bare


def resolve(text: str, kind: Kind | None = None, prefer: Iterable[System] | None = None) -> str:
    """The canonical code that a typed text means: `428.0`, `4280` and `icd9cm:4280` all give `icd9cm:4280`.

    Of the systems whose shape fits, those that list the code win, then those that have it as a heading.

    Args:
        text: The code as people type it, with or without dot and system.
        kind: `diagnosis` or `procedure`, to consider only systems of that kind.
        prefer: Systems in order of preference; they decide if several remain.

    Returns:
        The canonical code.

    Raises:
        CodeError: The text fits no system, or several and `prefer` does not decide.
    """
    systems = [system for system in System if kind in (None, system.kind)]
    if ":" in text_only(text):
        return _resolve_named(text, systems)
    fitting = _strongest([code for system in systems if (code := _try(text, system))])
    for system in prefer or ():
        if code := next((code for code in fitting if code.startswith(f"{system}:")), None):
            return code
    return _only(fitting, text, systems)


_PREFIXES = frozenset(system.value for system in System)


def squeeze(text: str) -> str:
    """Like `clean`, but keeps the dots."""
    bare = text.lstrip(_BEFORE).rstrip(_AFTER)
    return bare.upper() if bare.isascii() else bare  # the capital of some other letters is one of ours


def dot_place(bare: str, system: System) -> int:
    """The number of characters before the dot; 0 if the system has no dot."""
    if system is System.ICD10PCS:
        return 0
    if system is System.ICD9PCS:
        return 2
    return 4 if system is System.ICD9CM and bare.startswith("E") else 3


def dot_fits(bare: str, system: System) -> bool:
    """Whether the dot of a squeezed text, if any, is where the system puts it."""
    head, dot, tail = bare.partition(".")
    return not dot or ("." not in tail and len(head) == dot_place(bare, system))


def _try(text: str, system: System) -> str | None:
    try:
        return normalize(text, system)
    except CodeError:
        return None


def _resolve_named(text: str, systems: Sequence[System]) -> str:
    prefix = squeeze(text).partition(":")[0].lower()
    for system in systems:
        if prefix == system:
            return normalize(text, system)
    raise CodeError(f"{_shown(text)} does not name a system that fits here: use one of {', '.join(systems)}.")


def _strongest(codes: list[str]) -> list[str]:
    """The codes that are listed; if none is, those that are headings of listed codes; if none is, all."""
    pairs = [(code, *split(code)) for code in codes]
    listed = [code for code, system, bare in pairs if bare in dictionary(system)]
    return listed or [code for code, system, bare in pairs if under(bare, system)] or codes


def _only(codes: Sequence[str], text: str, systems: Sequence[System]) -> str:
    if len(codes) == 1:
        return codes[0]
    if codes:
        raise CodeError(
            f"{_shown(text)} may be {' or '.join(codes)}: write it with its system, as in {codes[0]}."
        )
    labels = " nor ".join(_article(system) for system in systems)
    raise CodeError(
        f"{_shown(text)} is neither {labels} code."
        if len(systems) > 1
        else f"{_shown(text)} is not {labels} code: expected {_EXPECTED[systems[0]]}."
    )


def _article(system: System) -> str:
    return f"an {system.label}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")
