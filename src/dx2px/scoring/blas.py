"""OpenBLAS with one thread while we multiply.

Our own threads share out the rows. With threads of its own beside them, OpenBLAS would wait for those, on a busy
machine for milliseconds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from threading import Lock

_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")  # as numpy is built
_lock = Lock()
_inside, _before = 0, 1  # who multiplies now, and how many threads there were before


@cache
def can_hold() -> bool:
    """Whether numpy multiplies by an OpenBLAS whose threads can be set."""
    return _functions() is not None


@contextmanager
def one_thread() -> Iterator[None]:
    """Held to one thread until the last of those who multiply at the same time is done; only where `can_hold`."""
    global _inside, _before
    functions = _functions()
    assert functions is not None
    get, hold = functions
    with _lock:
        if not _inside and (before := get()) > 1:
            _before = before
            hold(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside and _before > 1:
                hold(_before)
                _before = 1


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Those that get and set the number of threads. A library also finds the names of those that it is linked with."""
    products = find_spec("numpy._core._multiarray_umath")  # the library of numpy's that is linked with BLAS
    if products is None or products.origin is None:
        return None
    try:
        library = ctypes.CDLL(products.origin)
    except OSError:
        return None
    for name in _NAMES:
        get, hold = (
            getattr(library, name.format(what), None) for what in ("get_num_threads", "set_num_threads")
        )
        if get is not None and hold is not None:
            get.argtypes, get.restype, hold.argtypes, hold.restype = [], ctypes.c_int, [ctypes.c_int], None
            return get, hold
    return None
