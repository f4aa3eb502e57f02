"""Which arrays each method keeps, and how their axes hang together.

An axis of one name has one length wherever it occurs; `diagnosis` and `procedure` are the vocabularies'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Layout = Mapping[str, tuple[str, ...]]

EMBEDDINGS: Layout = {"U": ("diagnosis", "dim"), "V": ("procedure", "dim")}
ATTENTION: Layout = {
    **EMBEDDINGS,
    "A": ("head", "dim", "dim"),
    "a": ("head", "dim"),
    "B": ("head", "head"),
    "b": ("head",),
}
POPULARITY: Layout = {"seen": ("diagnosis",), "popularity": ("procedure",)}
LAYOUTS: Mapping[str, Layout] = {
    "e+pooling": EMBEDDINGS,
    "e+sa": ATTENTION,
    "e+ma": EMBEDDINGS,
    "e+sa+ma": ATTENTION,
    "coupling": {
        **EMBEDDINGS,
        "G": ("dim", "dim"),
        "g": ("dim",),
        "s": ("diagnosis",),
        "b": ("procedure",),
    },
    "popularity": POPULARITY,
    "cooccurrence": {**POPULARITY, "T": ("diagnosis", "procedure")},
    "word2vec": {**POPULARITY, **EMBEDDINGS},
    "bpr": {**POPULARITY, **EMBEDDINGS},
    "dwl": {**POPULARITY, **EMBEDDINGS},
    "gwl": {**POPULARITY, **EMBEDDINGS, "sigma": ()},
    "linear": {**POPULARITY, "W": ("diagnosis", "procedure"), "b": ("procedure",)},
    "mlp": {
        **POPULARITY,
        "H": ("diagnosis", "dim"),
        "c": ("dim",),
        "W": ("procedure", "dim"),
        "b": ("procedure",),
    },
}


def flaws(method: str, arrays: Mapping[str, Array], diagnoses: int, procedures: int) -> list[str]:
    """All that is wrong with a method's arrays, a clause each."""
    layout = LAYOUTS.get(method)
    if layout is None:
        return [f"this version of dx2px does not know the method {method[:40]!r}"]
    found = [f"the array {name} is missing" for name in sorted(layout.keys() - arrays.keys())]
    found += [f"the array {name[:40]!r} does not belong" for name in sorted(arrays.keys() - layout.keys())]
    lengths = {"diagnosis": diagnoses, "procedure": procedures}
    for name, axes in layout.items():
        if name in arrays:
            found += _array_flaws(name, arrays[name], axes, lengths)
    return found


def _array_flaws(name: str, array: Array, axes: tuple[str, ...], lengths: dict[str, int]) -> Iterator[str]:
    """The first array with an axis settles the length of that axis for those after it."""
    if array.dtype != np.float32:
        yield f"{name} holds {array.dtype} values, not float32"
    elif not np.isfinite(array).all():
        yield f"{name} holds values that are not finite numbers"
    if array.ndim == len(axes):
        for axis, length in zip(axes, array.shape, strict=True):
            lengths.setdefault(axis, length)
    expected = tuple(lengths.get(axis, 0) for axis in axes)
    if array.shape != expected or 0 in expected:
        yield f"{name} is {_times(array.shape)}, not {_times(expected)} ({_times(axes)})"


def _times(parts: tuple[Any, ...]) -> str:
    return " × ".join(str(part) for part in parts) or "a single number"
