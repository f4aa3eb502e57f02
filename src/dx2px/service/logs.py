"""The service's log: one line per event, on standard error, without floods of equal lines."""

from __future__ import annotations

import logging
import time

_SECONDS = 10.0  # between two lines about the same thing


class Sampled:
    """Counts events and logs the count at most once in ten seconds."""

    def __init__(self, log: logging.Logger, message: str) -> None:
        self._log, self._message = log, message
        self._count, self._logged = 0, -_SECONDS

    def note(self) -> None:
        """One more event."""
        self._count += 1
        now = time.monotonic()
        if now - self._logged >= _SECONDS:
            self._log.warning(self._message, self._count)
            self._count, self._logged = 0, now


class Thinned(logging.Filter):
    """Lets a message pass once in ten seconds: clients that do not speak HTTP make the libraries repeat themselves."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now - self._logged.get(str(record.msg), -_SECONDS) < _SECONDS:
            return False
        self._logged[str(record.msg)] = now
        return True


class Stamped(logging.Formatter):
    """Lines that begin with the time, which is written out once a second."""

    def __init__(self) -> None:
        self.converter = time.gmtime
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self._second, self._written = -1, ""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        if int(record.created) != self._second:
            self._second, self._written = int(record.created), super().formatTime(record, datefmt)
        return self._written


def set_up_logs(requests: bool = True) -> None:
    """Send the service's events to standard error; `requests` decides whether each request gets a line."""
    handler = logging.StreamHandler()
    handler.setFormatter(Stamped())
    for name, level in (("dx2px.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(Thinned())
    logging.getLogger("dx2px.service.access").setLevel(logging.INFO if requests else logging.WARNING)
