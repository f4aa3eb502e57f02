"""The model being served, and how it is replaced while requests go on."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

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

    @property
    def name(self) -> str | None:
        """What the model's folder is called, which for a model of the package is its name; None without a folder."""
        return None if self.path is None else Path(self.path).absolute().name

    def __repr__(self) -> str:
        return repr(self.answers.model) if self.name is None else f"{self.name}, {self.answers.model!r}"

    def read(self) -> Answers | str:
        """The folder's answers, or why there are none. Changes nothing, so it may run in a thread."""
        if self.path is None:
            return "the model was not read from a folder"
        try:
            return Answers.load(self.path)
        except Exception as error:
            return str(error) if isinstance(error, Dx2pxError | OSError) else type(error).__name__

    def replace(self, read: Answers | str) -> bool:
        """Use what was read, and return True. If it is a reason why nothing was, the old model stays in use."""
        if isinstance(read, str):
            log.error("reload refused, the old model stays in use: %s", read)
            return False
        self.answers, self.since = read, time.time()
        log.info("reload done: %r", self)
        return True
