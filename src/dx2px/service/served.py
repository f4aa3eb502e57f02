"""The model being served, and how it is replaced while requests go on."""

from __future__ import annotations

import logging
import os
import time

from dx2px.errors import Dx2pxError
from dx2px.service.answers import Answers

log = logging.getLogger("dx2px.service")


class Served:
    """Holds the answers in use. A request takes them once, so one model answers the whole request."""

    def __init__(self, answers: Answers, path: str | os.PathLike[str] | None = None) -> None:
        self.answers, self.path = answers, path
        self.since = time.time()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Served:
        """Read and test the model in a folder."""
        return cls(Answers.load(path), path)

    def reload(self) -> bool:
        """Read the folder again; returns whether its model is now in use. An unusable folder changes nothing."""
        if self.path is None:
            return False
        try:
            answers = Answers.load(self.path)
        except Exception as error:
            reason = error if isinstance(error, Dx2pxError | OSError) else type(error).__name__
            log.error("reload refused, the old model stays in use: %s", reason)
            return False
        self.answers, self.since = answers, time.time()
        log.info("reload done: %r", answers.model)
        return True
