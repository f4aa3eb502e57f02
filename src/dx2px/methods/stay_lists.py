"""What users of scikit-learn pass as X and y, as one list of canonical codes per stay.

lists      one list of codes per stay: a list, a Series, an array of objects
frame      one row per stay; either a column `diagnoses` (`procedures` in y) of lists, or one column per code, named
           by the code, that is 1 (or True) where the stay has it
matrix     the same without names, for an estimator that learned from a frame
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dx2px.codes import Kind, resolve
from dx2px.errors import InputError

PLURALS: dict[Kind, str] = {"diagnosis": "diagnoses", "procedure": "procedures"}


def stay_lists(given: Any, kind: Kind, names: Sequence[str] | None = None) -> list[list[str]]:
    """The codes of each stay, each code once.

    Args:
        given: Lists, a frame or a matrix.
        kind: What the codes are.
        names: The names of a matrix's columns, from the frame that was learned from.

    Raises:
        InputError: It is nothing of the three, or a matrix has other values than 0 and 1.
        CodeError: A text is not a code.
    """
    if given is None:
        raise InputError(f"The {PLURALS[kind]} of the stays are missing.")
    if hasattr(given, "columns"):
        if PLURALS[kind] in given.columns:
            return stay_lists(given[PLURALS[kind]], kind)
        return _of_matrix(np.asarray(given), column_names(given) or (), kind)
    dense = given.toarray() if hasattr(given, "toarray") else given
    if isinstance(dense, np.ndarray) and dense.ndim == 2:
        return _of_matrix(dense, names, kind)
    return _of_lists(dense, kind)


def column_names(given: Any) -> list[str] | None:
    """The names of a frame's columns of codes; None for lists, and for a frame with a column of lists."""
    if not hasattr(given, "columns") or set(PLURALS.values()) & set(given.columns):
        return None
    return [str(name) for name in given.columns]


def _of_matrix(matrix: Any, names: Sequence[str] | None, kind: Kind) -> list[list[str]]:
    if names is None:
        raise InputError("A matrix needs names: give a data frame whose columns are named by their codes.")
    if matrix.shape[1] != len(names):
        raise InputError(f"The matrix has {matrix.shape[1]} columns, but {len(names)} were learned from.")
    try:
        numbers = matrix.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("A matrix of codes holds 1 where a stay has the code and 0 where not.") from None
    if not np.isin(numbers, (0, 1)).all():
        raise InputError(
            "A matrix of codes holds 1 where a stay has the code and 0 where not; other values are in it."
        )
    codes = np.array([_resolved(name, kind) for name in names], object)
    return [list(dict.fromkeys(codes[row == 1].tolist())) for row in numbers]


def _of_lists(lists: Any, kind: Kind) -> list[list[str]]:
    rows = list(lists)
    if any(isinstance(row, str) or not hasattr(row, "__iter__") for row in rows):
        raise InputError("Give one list of codes per stay, as in [['585.6', '427.5'], ['820.21']].")
    return [list(dict.fromkeys(_resolved(code, kind) for code in row)) for row in rows]


@lru_cache(maxsize=100_000)
def _resolved(code: str, kind: Kind) -> str:
    return resolve(str(code), kind)
