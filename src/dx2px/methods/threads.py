"""Tasks that share out torch's number of threads, each with a BLAS that uses one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import torch

from dx2px.training.threads import libraries

Task = Callable[[], object]


class Threads:
    """Runs tasks that let go of Python's lock, as compiled code and matrix products do."""

    def __init__(self) -> None:
        self._libraries = libraries()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def run(self, tasks: Iterable[Task]) -> None:
        """All tasks; each is done by the next thread that is free, this one included."""
        left, helpers = deque(tasks), torch.get_num_threads() - 1
        with self._libraries.limit(limits=1, user_api="blas"):
            started = [self._helpers(helpers).submit(_work, left) for _ in range(helpers)]
            _work(left)
            for one in started:
                one.result()

    def _helpers(self, number: int) -> ThreadPoolExecutor:
        if self._pool is None or self._pool[0] != number:
            self._pool = number, ThreadPoolExecutor(number, "dx2px")
        return self._pool[1]


def _work(left: deque[Task]) -> None:
    while left:
        try:
            task = left.popleft()
        except IndexError:  # another thread took the last one
            return
        task()
