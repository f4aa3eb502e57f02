"""Checks that a model's arrays are those that its method declares (`dx2px.scoring.methods`), with or without a head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring import head
from dx2px.scoring.methods import METHODS

Array = NDArray[Any]
_BLOCK = 1 << 20  # numbers looked at together
_LARGEST = 1e9  # counts of stays come near it, weights do not; sums of products of larger ones may overflow


def flaws(method: str, arrays: Mapping[str, Array], diagnoses: int, procedures: int) -> list[str]:
    """Everything that is wrong with a model's arrays, one clause each. Any method may have the head's, all or none."""
    if method not in METHODS:
        return [f"this version of dx2px does not know the method {method[:40]!r}"]
    declared = METHODS[method]
    groups = [group for group in (*declared.optional, head.LAYOUT) if group.keys() & arrays.keys()]
    layout = {name: axes for group in (declared.arrays, *groups) for name, axes in group.items()}
    found = [f"the array {name} is missing" for name in sorted(layout.keys() - arrays.keys())]
    found += [f"the array {name[:40]!r} does not belong" for name in sorted(arrays.keys() - layout.keys())]
    lengths = {"diagnosis": diagnoses, "procedure": procedures}
    for name, axes in layout.items():
        if name in arrays:
            found += _array_flaws(name, arrays[name], axes, lengths)
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


def _array_flaws(name: str, array: Array, axes: tuple[str, ...], lengths: dict[str, int]) -> Iterator[str]:
    """The first array with an axis decides the length of that axis for the arrays after it."""
    if array.dtype != np.float32:
        yield f"{name} holds {array.dtype} values, not float32"
    else:
        yield from value_flaws({name: array})
    if array.ndim == len(axes):
        for axis, length in zip(axes, array.shape, strict=True):
            lengths.setdefault(axis, length)
    expected = tuple(lengths.get(axis, 0) for axis in axes)
    if array.shape != expected or 0 in expected:
        yield f"{name} is {_times(array.shape)}, not {_times(expected)} ({_times(axes)})"


def _times(parts: tuple[Any, ...]) -> str:
    return " × ".join(str(part) for part in parts) or "a single number"
