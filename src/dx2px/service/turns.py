"""Turns at the event loop: one request works at a time, and between two of them the loop looks at its connections.

Answers are worked out in the loop, because handing a millisecond's work to a thread costs more than the work. But when
sixty costly requests are ready in the same pass of the loop, everything else waits for all of them: new connections,
health checks, signals. So work is done in turns, in the order of arrival. Health is answered without a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_WORK_SECONDS = 0.005  # after so much work, the connections get several passes in a row
# What a new connection needs to be accepted, read and answered, if that takes no work.
_PASSES = 6


class ClientGoneError(Exception):
    """The client has closed its connection: nobody would read the answer."""


class Turns:
    """A queue for the work of one event loop."""

    def __init__(self) -> None:
        self.waiting = 0  # requests that wait for their turn
        self.passed = 0  # turns that are over or were given up
        self._queue = asyncio.Lock()  # wakes those that wait in their order
        self._rested = 0.0

    async def take(self, gone: Callable[[], bool] = lambda: False) -> None:
        """Wait for one's turn: the right to work until the next `await`.

        Args:
            gone: Tells whether the client has gone; then a turn is not given, but a `ClientGoneError`.
        """
        loop = asyncio.get_running_loop()
        self.waiting += 1
        try:
            async with self._queue:
                await asyncio.sleep(0)
                if loop.time() - self._rested > _WORK_SECONDS:
                    for _ in range(_PASSES):
                        await asyncio.sleep(0)
                    self._rested = loop.time()
        finally:
            self.waiting -= 1
            self.passed += 1
        if gone():
            raise ClientGoneError
