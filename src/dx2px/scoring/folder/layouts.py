"""Checks that a model's arrays are those that its method declares (`dx2px.scoring.methods`), with or without a head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.calibration_record import LAYOUTS
from dx2px.scoring.methods import METHODS

Array = NDArray[Any]
_BLOCK = 1 << 20  # numbers looked at together
_LARGEST = 1e9  # counts of stays come near it, weights do not; sums of products of larger ones may overflow


def flaws(method: str, arrays: Mapping[str, Array], diagnoses: int, procedures: int) -> list[str]:
    """Everything that is wrong with a model's arrays, one clause each."""
    shapes = {name: array.shape for name, array in arrays.items()}
    found = shape_flaws(method, shapes, diagnoses, procedures)
    for name, array in arrays.items():
        found += _value_flaws(name, array)
    return found


def shape_flaws(
    method: str, shapes: Mapping[str, tuple[int, ...]], diagnoses: int, procedures: int
) -> list[str]:
    """What is wrong with the names and shapes of a model's arrays, one clause each. Any method may have a head's."""
    if method not in METHODS:
        return [f"this version of dx2px does not know the method {method[:40]!r}"]
    declared = METHODS[method]
    groups = [group for group in (*declared.optional, *LAYOUTS) if group.keys() & shapes.keys()]
    layout = {name: axes for group in (declared.arrays, *groups) for name, axes in group.items()}
    found = [f"the array {name} is missing" for name in sorted(layout.keys() - shapes.keys())]
    found += [f"the array {name[:40]!r} does not belong" for name in sorted(shapes.keys() - layout.keys())]
    lengths = {"diagnosis": diagnoses, "procedure": procedures}
    for name, axes in layout.items():
        if name in shapes:
            found += _shape_flaws(name, shapes[name], axes, lengths)
    return found


def value_flaws(arrays: Mapping[str, Array]) -> list[str]:
    """The arrays that hold values that no answer can be computed from, one clause each."""
    return [
        f"{name} holds values that are not finite numbers, or too large ones"
        for name, array in arrays.items()
        if array.dtype.kind == "f" and not _is_bounded(array)
    ]


def _is_bounded(array: Array) -> bool:
    """Block by block: the answer for all values at once would need memory beside that of the array."""
    flat = np.ascontiguousarray(array).reshape(-1)
    blocks = (flat[start : start + _BLOCK] for start in range(0, flat.size, _BLOCK))
    # As Python's floats: in half precision the limit itself would be infinite. NaN is neither above nor below.
    return all(float(block.min()) >= -_LARGEST and float(block.max()) <= _LARGEST for block in blocks)


def _value_flaws(name: str, array: Array) -> list[str]:
    if array.dtype != np.float32:
        return [f"{name} holds {array.dtype} values, not float32"]
    return value_flaws({name: array})


def _shape_flaws(
    name: str, shape: tuple[int, ...], axes: tuple[str, ...], lengths: dict[str, int]
) -> Iterator[str]:
    """The first array with an axis decides the length of that axis for the arrays after it."""
    if len(shape) == len(axes):
        for axis, length in zip(axes, shape, strict=True):
            lengths.setdefault(axis, length)
    expected = tuple(lengths.get(axis, 0) for axis in axes)
    if shape != expected or 0 in expected:
        yield f"{name} is {_times(shape)}, not {_times(expected)} ({_times(axes)})"


def _times(parts: tuple[Any, ...]) -> str:
    return " × ".join(str(part) for part in parts) or "a single number"
