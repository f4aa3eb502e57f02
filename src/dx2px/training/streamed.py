"""One run on a cohort that is too large for memory: streamed while learning, measured on some of its held-out stays."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dx2px.cohort import Cohort, CohortStream, Split, split_stream
from dx2px.training.batches import Rows
from dx2px.training.learned import LearnedModel
from dx2px.training.loop import set_threads
from dx2px.training.recommender import Say, silent
from dx2px.training.run import SplitConfig, Trained
from dx2px.training.streaming import BUFFER, StreamedStays

MEASURED = 100_000  # stays of a part that are read into memory to measure on; evenly spread if it has more


@dataclass(frozen=True, eq=False)
class StreamedRun(Trained):
    """A method that has learned from a stream."""

    source: StreamedStays = field(kw_only=True)
    _held: dict[str, Cohort] = field(kw_only=True, default_factory=dict)

    @property
    def lessons(self) -> StreamedStays:
        """The stays that were learned from."""
        return self.source

    def stays(self, part: str) -> Cohort:
        """Stays of a part, at most `MEASURED`; read once."""
        if part not in self._held:
            self._held[part] = super().stays(part)
        return self._held[part]

    def rows(self, part: str) -> Rows:
        """Rows of a part, at most `MEASURED`."""
        return spread(super().rows(part), MEASURED)

    @property
    def data(self) -> str:
        """The fingerprint of the cohort, the same as in memory."""
        return self.source.data

    @property
    def split_settings(self) -> dict[str, Any]:
        """How the cohort was split; `hash` says that a stay's part follows from its id alone."""
        return super().split_settings | {"rule": "hash"}


def learn_stream(
    path: str | os.PathLike[str],
    method: LearnedModel,
    split: SplitConfig | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    buffer: int = BUFFER,
    say: Say = silent,
) -> StreamedRun:
    """Train a method of the loop on its part of a cohort file, in memory that hardly grows with the file."""
    if threads is not None:
        set_threads(threads)
    split = split or SplitConfig()
    say("reading the vocabularies")
    stream = CohortStream(path)
    say("splitting the stays")
    parts = _parts(stream, split)
    lessons = StreamedStays(stream, parts, split.fold, buffer)
    validation = stream.subset(spread(parts.validation(split.fold), MEASURED))
    method.fit_stays(lessons, validation, seed=seed)
    return StreamedRun(stream, parts, split.fold, method, source=lessons)


def spread(rows: Rows, most: int) -> Rows:
    """All rows, or `most` of them, evenly spread."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def _parts(stream: CohortStream, c: SplitConfig) -> Split:
    return split_stream(stream, by=c.by, folds=c.folds, test_share=c.test_share, seed=c.seed)
