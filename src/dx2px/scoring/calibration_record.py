"""A calibration as a model folder keeps it: numbers in config.json, and the arrays of heads and rest beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.correction import ASKED, ASKED_LAYOUT, Correction
from dx2px.scoring.curve import Curve
from dx2px.scoring.head import COMPLETION, LAYOUT, PARTIAL, Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.rest import REST, Rest
from dx2px.scoring.segments import Doubles

LAYOUTS = (LAYOUT, COMPLETION, PARTIAL, ASKED_LAYOUT, REST)  # the arrays that a calibration may have
_LARGEST, _STEEPEST = (
    1e50,
    1e150,
)  # a saved number and a slope: no fit comes near them, and their products stay finite
_NAMES = {"centred", "first", "weights", "second", "coverages", "thresholds"}
_OPTIONAL = {"head", "alternatives", "completion", "rest", "partial", "partial_thresholds"}

Arrays = Mapping[str, NDArray[Any]]


def to_record(stage: Calibration) -> dict[str, Any]:
    """As config.json keeps it; `Calibration.arrays` are elsewhere."""
    extra: dict[str, Any] = {}
    if stage.head is not None:
        extra["head"] = [stage.head.slope, stage.head.shift]
    if len(stage.alternatives):
        extra["alternatives"] = stage.alternatives.to_list()
    if stage.completion is not None:
        extra["completion"] = stage.completion.numbers
    if stage.rest is not None:
        extra["rest"] = list(stage.rest.numbers)
    if stage.partial is not None:
        extra["partial"] = stage.partial.numbers
        extra["partial_thresholds"] = stage.partial_thresholds.tolist()
    return extra | {
        "centred": stage.centred,
        "first": stage.first.to_dict(),
        "weights": stage.weights.tolist(),
        "second": stage.second.to_dict(),
        "coverages": stage.coverages.tolist(),
        "thresholds": stage.thresholds.tolist(),
    }


def from_record(record: Mapping[str, Any], arrays: Arrays) -> Calibration:
    """From what `to_record` returned, and the arrays; a ValueError if the record is not valid."""
    if record.keys() - _OPTIONAL != _NAMES or not isinstance(record["centred"], bool):
        raise ValueError("entries are missing or unknown")
    if ("partial" in record) != ("partial_thresholds" in record):
        raise ValueError("parts of its partial are missing")
    first, second = (_curve(record[name]) for name in ("first", "second"))
    weights, coverages = _numbers(record["weights"]), _numbers(record["coverages"])
    if len(weights) != 4 or weights[0] <= 0:
        raise ValueError("the weights must be four, the first above 0")
    if not len(coverages) or not (np.diff(coverages) > 0).all():
        raise ValueError("the coverages must rise")
    head = _head(record, arrays)
    return Calibration(
        record["centred"],
        first,
        weights,
        second,
        coverages,
        _thresholds(record["thresholds"], coverages),
        head,
        Alternatives.from_list(record.get("alternatives", []), 0 if head is None else len(head.k)),
        _correction(record, "completion", arrays, COMPLETION),
        _rest(record, arrays),
        _partial(record, arrays),
        _thresholds(record["partial_thresholds"], coverages) if "partial" in record else np.empty(0),
    )


def _thresholds(values: Any, coverages: Doubles) -> Doubles:
    thresholds = _numbers(values)
    if len(thresholds) != len(coverages):
        raise ValueError("there must be one threshold per coverage")
    if (np.diff(thresholds) > 0).any() or not 0 <= thresholds.min() <= thresholds.max() <= 1:
        raise ValueError("the thresholds must fall, and be probabilities")
    return thresholds


def _correction(record: Mapping[str, Any], name: str, arrays: Arrays, layout: Layout) -> Correction | None:
    """Three numbers, in older folders, or four; and two more with a head."""
    own = _numbers(record.get(name, [])).tolist()
    last = 2 if arrays.keys() & layout.keys() else 0
    if len(own) - last not in ((3, 4) if last or own else (0,)):
        raise ValueError(f"parts of its {name} are missing")
    if not own:
        return None
    if own[0] <= 0:
        raise ValueError(f"the {name} has a slope above 0")
    plain, final = own[: len(own) - last], own[len(own) - last :]
    tilt = plain[3] if len(plain) == 4 else 0.0
    return Correction(plain[0], plain[1], plain[2], tilt, _fitted(arrays, final, layout) if last else None)


def _partial(record: Mapping[str, Any], arrays: Arrays) -> Correction | None:
    found = _correction(record, "partial", arrays, PARTIAL)
    if ASKED not in arrays:
        return found
    if found is None or found.head is None:
        raise ValueError("what diagnoses tell a head needs the head")
    return replace(found, E=arrays[ASKED])


def _rest(record: Mapping[str, Any], arrays: Arrays) -> Rest | None:
    own, present = _numbers(record.get("rest", [])).tolist(), arrays.keys() & REST.keys()
    if len(own) != (2 if present else 0) or present not in (set(), REST.keys()):
        raise ValueError("parts of its rest are missing")
    if own and (own[0] <= 0 or "completion" not in record):
        raise ValueError("the rest has a slope above 0, and follows a completion")
    return Rest.of(arrays, (own[0], own[1])) if own else None


def _head(record: Mapping[str, Any], arrays: Arrays) -> Head | None:
    others = {name for layout in LAYOUTS[1:] for name in layout}
    if arrays.keys() - others != (LAYOUT.keys() if "head" in record else set()):
        raise ValueError("parts of its head are missing")
    return _fitted(arrays, _numbers(record["head"]).tolist(), LAYOUT) if "head" in record else None


def _fitted(arrays: Arrays, final: list[float], layout: Layout) -> Head:
    if len(final) != 2 or final[0] <= 0 or not layout.keys() <= arrays.keys():
        raise ValueError("a head has its arrays, a slope above 0 and a shift")
    return Head.of(arrays, (final[0], final[1]), layout)


def _curve(record: Any) -> Curve:
    if not isinstance(record, Mapping) or record.keys() != {"x", "y"}:
        raise ValueError("a curve has x and y")
    curve = Curve(_numbers(record["x"]), _numbers(record["y"]))
    if not len(curve.x) == len(curve.y) >= 2:
        raise ValueError("a curve has as many x as y, at least two")
    if not ((np.diff(curve.x) > 0).all() and (np.diff(curve.y) > 0).all()):
        raise ValueError("a curve must rise")
    if (np.diff(curve.y) > _STEEPEST * np.diff(curve.x)).any():
        raise ValueError("a curve must not have steps")
    return curve


def _numbers(values: Any) -> Doubles:
    plain = isinstance(values, Sequence) and not isinstance(values, str)
    if not plain or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        raise ValueError("a list of numbers is expected")
    numbers = np.array(values, np.float64)
    if not (np.abs(numbers) <= _LARGEST).all():
        raise ValueError(f"numbers must be finite, and at most {_LARGEST:.0e}")
    return numbers
