"""The entry `measured` of config.json: how the model did on the test part of its cohort.

It has the form of `dx2px evaluate --json`, so that a program reads both the same way:

    {"stays": 14671, "top": {"1": {"recall": 38.2, "precision": 62.3, "f1": 44.2}, …}, "calibration": {…}}

A model that takes more evidence than diagnoses was measured with all of it. `codes`, in the form of `top`, is how it
does on the same stays from their diagnoses alone. `external` is how it does elsewhere, a line per cohort:

    {"cohort": "MIMIC-III demo", "stays": 113, "f1": {"1": 27.5, …}, "verdict": "It ranks usefully here…", …}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dx2px.scoring.folder.flaws import FlawError

RATES = frozenset({"recall", "precision", "f1"})


def in_order(measured: Mapping[str, Any]) -> dict[str, Any]:
    """The same with tops by rising number: config.json sorts names as text, so that "10" comes before "3"."""
    found = dict(measured) | {name: _rising(measured[name]) for name in ("top", "codes") if name in measured}
    if "external" in measured:
        found["external"] = [{**line, "f1": _rising(line["f1"])} for line in measured["external"]]
    return found


def _rising(table: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(table.items(), key=lambda line: int(line[0])))


def check(measured: Mapping[str, Any]) -> None:
    """A `FlawError` if this cannot be what was measured; what `calibration` holds is left to its readers."""
    known = {
        "stays": measured.get("stays"),
        "top": measured.get("top"),
        "codes": measured.get("codes", {}),
        "calibration": measured.get("calibration", {}),
        "external": measured.get("external", []),
    }
    if measured.keys() - known.keys() or not isinstance(known["calibration"], dict):
        raise FlawError("its measured numbers have entries that do not belong there")
    if type(known["stays"]) is not int or known["stays"] < 1:
        raise FlawError("its measured numbers do not say on how many stays")
    if not all(isinstance(known[name], dict) for name in ("top", "codes")) or not all(
        map(_is_line, (*known["top"].items(), *known["codes"].items()))
    ):
        raise FlawError("its measured numbers are not recall, precision and F1 in per cent")
    if not isinstance(known["external"], list) or not all(map(_is_elsewhere, known["external"])):
        raise FlawError("its measured numbers on other cohorts are not stays, F1 in per cent and a verdict")


def _is_elsewhere(line: Any) -> bool:
    """Whether this is how a model does on another cohort; what more it says is left to its readers."""
    if not isinstance(line, dict) or not isinstance(line.get("f1"), dict):
        return False
    told = isinstance(line.get("cohort"), str) and isinstance(line.get("verdict"), str)
    counted = type(line.get("stays")) is int and line["stays"] > 0
    return told and counted and all(_is_top(top) and _is_rate(rate) for top, rate in line["f1"].items())


def _is_line(line: tuple[str, Any]) -> bool:
    top, rates = line
    if not (_is_top(top) and isinstance(rates, dict) and rates.keys() == RATES):
        return False
    return all(map(_is_rate, rates.values()))


def _is_top(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4


def _is_rate(rate: Any) -> bool:
    return type(rate) in (int, float) and 0 <= rate <= 100
