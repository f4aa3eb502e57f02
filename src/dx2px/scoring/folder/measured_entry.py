"""The entry `measured` of config.json: how the model did on the test part of its cohort.

It has the form of `dx2px evaluate --json`, so that a program reads both the same way:

    {"stays": 14671, "top": {"1": {"recall": 38.2, "precision": 62.3, "f1": 44.2}, …}, "calibration": {…}}

A model that takes more evidence than diagnoses was measured with all of it. `codes`, in the form of `top`, is how it
does on the same stays from their diagnoses alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dx2px.scoring.folder.flaws import FlawError

RATES = frozenset({"recall", "precision", "f1"})


def in_order(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The same with tops by rising number: config.json sorts names as text, so that "10" comes before "3"."""
    tables = {name: measured[name] for name in ("top", "codes") if name in measured}
    return {
        **measured,
        **{name: dict(sorted(t.items(), key=lambda line: int(line[0]))) for name, t in tables.items()},
    }


def check(measured: Mapping[str, Any]) -> None:
    """A `FlawError` if this cannot be what was measured; what `calibration` holds is left to its readers."""
    known = {
        "stays": measured.get("stays"),
        "top": measured.get("top"),
        "codes": measured.get("codes", {}),
        "calibration": measured.get("calibration", {}),
    }
    if measured.keys() - known.keys() or not isinstance(known["calibration"], dict):
        raise FlawError("its measured numbers have entries that do not belong there")
    if type(known["stays"]) is not int or known["stays"] < 1:
        raise FlawError("its measured numbers do not say on how many stays")
    if not all(isinstance(known[name], dict) for name in ("top", "codes")) or not all(
        map(_is_line, (*known["top"].items(), *known["codes"].items()))
    ):
        raise FlawError("its measured numbers are not recall, precision and F1 in per cent")


def _is_line(line: tuple[str, Any]) -> bool:
    top, rates = line
    if not (
        top.isascii()
        and top.isdigit()
        and len(top) <= 4
        and isinstance(rates, dict)
        and rates.keys() == RATES
    ):
        return False
    return all(type(rate) in (int, float) and 0 <= rate <= 100 for rate in rates.values())
