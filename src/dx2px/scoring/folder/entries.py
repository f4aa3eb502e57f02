"""Looks at a folder's entries before it reads them: what they are, and how large.

Only regular files are read. A pipe would make the reader wait for ever, and a device may never end. A link to a regular
file is followed: stores that keep each file once under its hash lay out their folders so, and hashes guard the content.
Every kind of file has a largest size, so that a folder is refused before it fills the memory.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dx2px.scoring.folder.flaws import FlawError

CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.parquet", "weights.safetensors"
HISTORY, CARD, SPLIT = "history.parquet", "MODEL_CARD.md", "split.parquet"
REQUIRED = frozenset({CONFIG, VOCABULARY, WEIGHTS, HISTORY, CARD})
ALLOWED = REQUIRED | {SPLIT}

_MB = 1_000_000
# A linear model of all ICD-9 codes needs 226 MB of weights, a split of fifty million stays 25 MB.
LARGEST = {
    CONFIG: _MB // 4,
    VOCABULARY: 16 * _MB,
    WEIGHTS: 2000 * _MB,  # a linear model of all codes of a large hospital; its size must also fit its shapes
    HISTORY: 4 * _MB,
    CARD: _MB,
    SPLIT: 32 * _MB,
}
_MOST_NAMES = 100  # listed; a folder with more is no model
_HEADER = 100_000  # bytes that a weights file may need to describe its arrays
_MOST_AXES = 8
_ITEM_SIZES = {"float16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8}


def names_in(folder: Path) -> set[str]:
    """The names in a folder; of very many, only some."""
    with os.scandir(folder) as entries:
        return {entry.name for entry in islice(entries, _MOST_NAMES)}


def read_entry(folder: Path, name: str) -> bytes:
    """The content of a regular file that is not larger than its kind may be."""
    path = folder / name
    _size(path)
    # Should a pipe have taken its place since, opening it does not wait.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as stream:
        size = _checked(name, os.fstat(descriptor))
        data = stream.read(size + 1)
    if len(data) != size:
        raise FlawError(f"{name} changes while it is read")
    return data


def check_sizes(folder: Path, names: set[str], record: Mapping[str, Any]) -> None:
    """A `FlawError` unless the files have the sizes that config.json leads to expect."""
    expected = record.get("sizes", {})
    for name in sorted(names & ALLOWED - {CONFIG}):
        size = _size(folder / name)
        if name in expected and size != expected[name]:
            raise FlawError(
                f"{name} is damaged or was changed: it does not have the size that {CONFIG} names"
            )
        if name == WEIGHTS and not 8 <= size - array_bytes(record["arrays"]) <= _HEADER:
            raise FlawError(f"{name} does not hold the arrays that {CONFIG} names")


def check_size(name: str, size: int) -> None:
    """A `FlawError` if a file of a model folder is larger than it may be."""
    if size > LARGEST[name]:
        raise FlawError(
            f"{name} has {size:,} bytes, more than the {LARGEST[name]:,} that a model folder may hold of it"
        )


def array_bytes(arrays: Mapping[str, Any]) -> int:
    """How many bytes the named arrays take."""
    total = 0
    for array in arrays.values():
        shape, item = (array.get("shape"), array.get("dtype")) if isinstance(array, dict) else (None, None)
        if not isinstance(shape, list) or not all(type(length) is int and length >= 0 for length in shape):
            raise FlawError(f"{CONFIG} does not say which arrays {WEIGHTS} holds")
        total += math.prod(shape[:_MOST_AXES]) * _ITEM_SIZES.get(str(item), 0)
    return total


def _size(path: Path) -> int:
    try:
        return _checked(path.name, path.stat())
    except FileNotFoundError:
        if path.is_symlink():
            raise FlawError(f"{path.name} is a link to a file that does not exist") from None
        raise


def _checked(name: str, found: os.stat_result) -> int:
    if not stat.S_ISREG(found.st_mode):
        raise FlawError(f"{name} is not a regular file")
    check_size(name, found.st_size)
    return found.st_size
