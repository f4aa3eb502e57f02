"""One thread for work in small pieces: a second one waits longer than it works, most of all on a busy machine.

Torch and BLAS share out even small arrays, and between two pieces their threads wait without letting go of the
processor, where the project's own threads (`dx2px.methods.threads`) want to work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


@cache
def libraries() -> ThreadpoolController:
    """What is loaded and has threads; found once, since looking through all takes ten milliseconds."""
    return ThreadpoolController()


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Torch uses one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and BLAS use one thread."""
    with one_torch_thread(), libraries().limit(limits=1, user_api="blas"):
        yield
