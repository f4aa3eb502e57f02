"""What was given from Python: one clear sentence where it is not what it should be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from dx2px.errors import InputError
from dx2px.words import called

_EXAMPLES = {"procedures": "['39.95', '38.95']", "diagnoses": "['585.6', '427.5']"}
_CODE = r"\s*[A-Za-z]?[0-9][0-9A-Za-z]{1,6}(?:\.[0-9A-Za-z]{0,4})?\s*"
_SEVERAL = re.compile(rf"{_CODE}(?:[,;\s]{_CODE})+")


def given_codes(codes: Any, what: str) -> list[str]:
    """The codes as a list; a single text is one code, not a list of letters.

    Raises:
        InputError: They are not texts; `what` says of whom: diagnoses.
    """
    example = next(text for kind, text in _EXAMPLES.items() if kind in f"{what} diagnoses")
    wanted = f"Give the {what} as a list of texts, as in {example}"
    if isinstance(codes, str):
        if _SEVERAL.fullmatch(codes):
            raise InputError(f"{wanted}, not in one text.")
        return [codes]
    if isinstance(codes, bytes | Mapping) or not isinstance(codes, Iterable):
        raise InputError(f"{wanted}, not as {called(codes)}.")
    found = list(codes)
    for one in found:
        if not isinstance(one, str):
            raise InputError(f"{wanted}; there is {called(one)} among them.")
    return found


def check_top(top: Any) -> None:
    """Refuse a number of results that is none."""
    if not isinstance(top, Integral) or top < 1:
        shown = f"{top}" if isinstance(top, Real) else called(top)
        raise InputError(f"The number of results must be a whole number of at least 1, not {shown}.")
