"""How numeric loops are compiled: on first use, and cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered and contracted for vector units; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "arcp", "nsz"}


def exact(function: Function) -> Function:
    """Every operation as written, in its order."""
    return cast(Function, numba.njit(cache=True)(function))


def compiled(function: Function) -> Function:
    """With fast sums, and division by zero as in numpy."""
    return cast(Function, numba.njit(cache=True, fastmath=_MATH, error_model="numpy")(function))


def without_nan(function: Function) -> Function:
    """`compiled`, for code with minima and maxima that never meets NaN."""
    return cast(Function, numba.njit(cache=True, fastmath={*_MATH, "nnan"}, error_model="numpy")(function))


def parallel(function: Function) -> Function:
    """`compiled`, with `numba.prange` loops shared out over threads."""
    return cast(
        Function, numba.njit(cache=True, fastmath=_MATH, error_model="numpy", parallel=True)(function)
    )


def threaded(function: Function) -> Function:
    """`compiled`, without Python's lock, so that other threads may run meanwhile."""
    return cast(Function, numba.njit(cache=True, fastmath=_MATH, error_model="numpy", nogil=True)(function))


def inlined(function: Function) -> Function:
    """For a formula inside a loop that is to be vectorised."""
    return cast(Function, numba.njit(inline="always")(function))
