"""Questions that wait at the same time are answered in one pass: half of an answer's time is the same for eight.

A question is worked out at once if nobody else waits. Otherwise it waits for those that were in line when it came,
until there are enough questions. Each gets the answer that it would get alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby

from dx2px.answers import Explanation
from dx2px.answers.asking import Asked
from dx2px.service.answers import Answers
from dx2px.service.turns import Turns

_MOST = 8  # questions; of sixteen, each would cost as much
_MOST_CODES = 200  # diagnoses of all: what one costly question may have

_Waiting = tuple[Answers, Asked, asyncio.Future[Explanation]]


class Together:
    """The questions of one service that have had their turn and were not answered yet."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []

    async def explain(self, answers: Answers, asked: Asked, turns: Turns) -> Explanation:
        """The answer to a question that has its turn, or the problem that it is."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Explanation] = loop.create_future()
        self._waiting.append((answers, asked, found))
        if len(self._waiting) == 1:
            self._look(loop, turns, turns.passed + turns.waiting)
        return await found

    def _look(self, loop: asyncio.AbstractEventLoop, turns: Turns, last: int) -> None:
        """Answer once so many turns have passed or enough questions are here; otherwise look again."""
        codes = sum(len(asked.codes) for _, asked, _ in self._waiting)
        if turns.passed < last and len(self._waiting) < _MOST and codes < _MOST_CODES:
            loop.call_soon(self._look, loop, turns, last)
            return
        waiting, self._waiting = self._waiting, []
        for _, group in groupby(waiting, key=lambda one: id(one[0])):  # a reload may come between
            _answer(list(group))


def _answer(waiting: Sequence[_Waiting]) -> None:
    here = [one for one in waiting if not one[2].done()]  # others were given up
    if not here:
        return
    try:
        found = here[0][0].explain_each([asked for _, asked, _ in here])
    except Exception as error:
        if len(here) > 1:  # it is of one of them
            for one in here:
                _answer([one])
            return
        found = [error]
    for (_, _, future), answer in zip(here, found, strict=True):
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
