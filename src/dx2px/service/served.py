"""The model being served, and its replacement while requests go on."""

from __future__ import annotations

import logging
import os
import time

from dx2px.errors import Dx2pxError
from dx2px.service.answers import Answers

log = logging.getLogger("dx2px.service")


class Served:
    """Holds the answers in use. A request takes them once, so that one model answers all of it."""

    def __init__(self, answers: Answers, path: str | os.PathLike[str] | None = None) -> None:
        self.answers, self.path = answers, path
        self.since = time.time()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Served:
        """Read and try the model of a folder."""
        return cls(Answers.load(path), path)

    def reload(self) -> bool:
        """Read the folder anew; whether its model is now in use. A folder that cannot be used changes nothing."""
        if self.path is None:
            return False
        try:
            answers = Answers.load(self.path)
        except Exception as error:
            reason = error if isinstance(error, Dx2pxError | OSError) else type(error).__name__
            log.error("reload refused, the model in use stays: %s", reason)
            return False
        self.answers, self.since = answers, time.time()
        log.info("reload done: %r", answers.model)
        return True
