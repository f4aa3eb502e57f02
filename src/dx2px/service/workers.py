"""Several processes that answer at one address: started, watched, signalled and stopped together.

The process that was started answers nothing itself. It forks the workers, which all accept connections from the one
socket it listens on, so a connection that waits when a worker dies goes to another one.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable

from dx2px.errors import InputError

log = logging.getLogger("dx2px.service")

_PAUSE = 1.0  # seconds until a worker that ended is replaced: one that cannot start must not keep a core busy
_SIGNALS = () if sys.platform == "win32" else (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Crew:
    """The workers, each with a place from 0 on.

    Args:
        count: How many there are.
        work: What a worker does until it is told to stop; it is given its place, and whether it may have missed a
            reload.
        lost: Called for each worker that ended unasked, with its place.
        closing: Called when no more connections are to be accepted.
    """

    def __init__(
        self,
        count: int,
        work: Callable[[int, bool], None],
        lost: Callable[[int], None],
        closing: Callable[[], None],
    ) -> None:
        if sys.platform == "win32":
            raise InputError("This system cannot run several workers: leave out --workers.")
        self._count, self._work, self._lost, self._closing = count, work, lost, closing
        self._places: dict[int, int] = {}  # by the number of the process
        self._reloaded = self._stopping = False

    def run(self, ready: Callable[[], None]) -> None:
        """Start the workers, and return when all of them have stopped because a signal asked for it.

        `ready` is called once signals are heeded.
        """
        watched = {*_SIGNALS, signal.SIGCHLD, signal.SIGALRM}
        signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        for number in (signal.SIGCHLD, signal.SIGALRM):
            signal.signal(number, lambda *_: None)  # a signal that is ignored would not be waited for
        ready()
        self._fill()
        while self._places or not self._stopping:
            self._heed(signal.sigwait(watched))

    def _heed(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._bury()
        elif number == signal.SIGALRM:
            self._fill()
        elif number == signal.SIGHUP:
            self._reloaded = True
            self._tell(signal.SIGHUP)
        else:
            if not self._stopping:
                self._stopping = True
                self._closing()
            self._tell(signal.SIGTERM)

    def _fill(self) -> None:
        """Start a worker at each place that has none."""
        taken = set(self._places.values())
        for place in range(0 if self._stopping else self._count):
            if place not in taken:
                self._start(place)

    def _start(self, place: int) -> None:
        process = os.fork()
        if process:
            self._places[process] = place
            return
        code = 1
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._work(place, self._reloaded)
            code = 0
        except BaseException as error:
            log.error("worker %d failed: %s", place, type(error).__name__)
        finally:
            os._exit(code)  # what the first process does at its end is not the worker's to do

    def _bury(self) -> None:
        """Take note of the workers that have ended, and have them replaced unless they were told to end."""
        for process in list(self._places):
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended:
                continue
            place = self._places.pop(process)
            if not self._stopping:
                log.error("worker %d %s; another one starts", place, _how(os.waitstatus_to_exitcode(status)))
                self._lost(place)
                signal.setitimer(signal.ITIMER_REAL, _PAUSE)

    def _tell(self, number: int) -> None:
        for process in self._places:
            os.kill(process, number)


def heed_signals() -> None:
    """Let a worker get its signals, once it has handlers for them; until then they wait."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*_SIGNALS, signal.SIGCHLD, signal.SIGALRM})


def _how(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
