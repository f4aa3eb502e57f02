"""Learning from a cohort file that is larger than memory.

An epoch reads the file's row groups in random order, several at a time into a buffer, and takes the stays of a buffer
in random order. A batch may span two buffers, so an epoch has as many steps as it would have in memory. The order of
the stays is a function of (seed, epoch), so a run can be resumed in the middle of an epoch; buffers before that point
are not read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, CohortStream, Ragged, Split, Vocabulary
from dx2px.cohort.file import CODE_LISTS
from dx2px.cohort.fingerprint import stream_fingerprint
from dx2px.cohort.splits import TEST
from dx2px.ragged import joined
from dx2px.scoring.cohort_evidence import known_of, layout_for
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import Known
from dx2px.training.batch import Batch
from dx2px.training.batches import WHOLE, Cut, cut_batch
from dx2px.training.stays import Counts, row_counts

BUFFER = 2**19  # stays: a buffer takes row groups until it has this many

Numbers = NDArray[np.int64]
Lists = tuple[
    Ragged, Ragged, Known | None
]  # diagnoses and procedures of the same stays, and what else is known


class StreamedStays:
    """The training part of a cohort file. In memory are two bytes per stay, for its part, and the buffers."""

    def __init__(self, stream: CohortStream, split: Split, fold: int, buffer: int = BUFFER) -> None:
        self.stream, self.buffer = stream, buffer
        split.validation(fold)  # refuses a fold that the split does not have
        self._part, self._fold = split.part, fold
        self._starts = np.concatenate([[0], np.cumsum(stream.group_sizes)])
        groups = range(len(stream.group_sizes))
        self.group_sizes = np.array([len(self._training(number)) for number in groups])  # training stays

    def __len__(self) -> int:
        return int(self.group_sizes.sum())

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Of diagnoses and of procedures."""
        return self.stream.diagnosis_vocabulary, self.stream.procedure_vocabulary

    @cached_property
    def counts(self) -> tuple[Counts, Counts]:
        """Training stays with each diagnosis and with each procedure; reads the file once."""
        diagnoses, procedures = (np.zeros(len(vocabulary), np.int64) for vocabulary in self.vocabularies)
        for number in range(len(self.group_sizes)):
            dx, px, _ = self.group(number)
            diagnoses += dx.counts(len(diagnoses))
            procedures += px.counts(len(procedures))
        return diagnoses, procedures

    @cached_property
    def data(self) -> str:
        """The fingerprint of all stays, whatever their part."""
        return stream_fingerprint(self.stream)

    def fingerprint(self) -> str:
        """A hash of the stays' codes, of which of them are learned from, and of what decides their order."""
        digest = hashlib.sha256(f"{self.data} {self.buffer} {self._fold} {self.stream.group_sizes}".encode())
        digest.update(self._part.tobytes())
        return digest.hexdigest()

    def group(self, number: int, layout: EvidenceLayout | None = None) -> Lists:
        """The training stays of a row group; with a layout, also what is known besides the diagnoses."""
        training = self._training(number)
        if layout is None:
            diagnoses, procedures = (lists.take(training) for lists in self.stream.group(number, CODE_LISTS))
            return diagnoses, procedures, None
        stays = self._stays(number)
        return stays.diagnoses, stays.procedures, known_of(layout, stays)

    def layout(self) -> EvidenceLayout:
        """The rows of evidence that the first training stays call for, as many as a buffer has."""
        ends = np.cumsum(self.group_sizes)
        number = int(np.searchsorted(ends, self.buffer)) + 1
        first = np.concatenate([self._starts[n] + self._training(n) for n in range(min(number, len(ends)))])
        return layout_for(self.stream.subset(first))

    def row_counts(self, layout: EvidenceLayout) -> Counts:
        """Training stays that can show each row of evidence; reads the file once."""
        counts = np.zeros(layout.size, np.int64)
        for number in range(len(self.group_sizes)):
            counts += row_counts(self._stays(number), layout)
        return counts

    def subset(self, places: Numbers) -> Cohort:
        """Some of the training stays, by their places among these, in memory."""
        return self.stream.subset(np.flatnonzero(self._learned(self._part))[places])

    def batches(self, size: int, seed: int, layout: EvidenceLayout | None = None) -> StreamedBatches:
        """The batches of each epoch, drawn buffer by buffer."""
        return StreamedBatches(self, size, seed, layout)

    def _stays(self, number: int) -> Cohort:
        return self.stream.subset(self._starts[number] + self._training(number))

    def _training(self, number: int) -> Numbers:
        part = self._part[self._starts[number] : self._starts[number + 1]]
        return np.flatnonzero(self._learned(part))

    def _learned(self, part: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Whether stays of these parts are learned from."""
        found: NDArray[np.bool_] = (part != TEST) & (part != self._fold)
        return found


@dataclass(frozen=True)
class StreamedBatches:
    """The batches of streamed stays; the next buffer is read while the current one is learned from."""

    stays: StreamedStays
    size: int
    seed: int
    layout: EvidenceLayout | None = None

    def __len__(self) -> int:
        return -(-len(self.stays) // self.size)

    def epoch(self, epoch: int, start: int = 0, cut: Cut = WHOLE) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on, or this cut of each."""
        for step, stays in enumerate(self._whole_batches(epoch, start), start=epoch * len(self) + start):
            yield cut_batch(*stays, step, cut)

    def _whole_batches(self, epoch: int, start: int) -> Iterator[Lists]:
        plan = self._plan(epoch)
        ends = np.cumsum([self.stays.group_sizes[groups].sum() for groups in plan])
        first = int(np.searchsorted(ends, start * self.size, side="right"))
        skipped = start * self.size - (int(ends[first - 1]) if first else 0)
        rest: list[Lists] = []
        for lists in self._buffers(epoch, plan, first):
            rest.append(_stretch(lists, skipped, len(lists[0])))
            held, skipped = _joined(rest), 0
            whole = len(held[0]) // self.size * self.size
            for at in range(0, whole, self.size):
                yield _stretch(held, at, at + self.size)
            rest = [_stretch(held, whole, len(held[0]))]
        if rest and len(rest[0][0]):
            yield rest[0]

    def _plan(self, epoch: int) -> list[Numbers]:
        """The row groups of each buffer."""
        order = np.argsort(
            np.random.PCG64([self.seed, epoch]).random_raw(len(self.stays.group_sizes)), kind="stable"
        )
        before = np.cumsum(self.stays.group_sizes[order]) - self.stays.group_sizes[order]
        cuts = np.flatnonzero(np.diff(before // self.stays.buffer)) + 1
        return np.split(order, cuts)

    def _buffers(self, epoch: int, plan: list[Numbers], first: int) -> Iterator[Lists]:
        with ThreadPoolExecutor(1) as reader:
            ahead = None
            for number in range(first, len(plan)):
                present = ahead or reader.submit(self._buffer, epoch, number, plan[number])
                lists = present.result()
                if number + 1 < len(plan):
                    ahead = reader.submit(self._buffer, epoch, number + 1, plan[number + 1])
                yield lists

    def _buffer(self, epoch: int, number: int, groups: Numbers) -> Lists:
        lists = _joined([self.stays.group(int(group), self.layout) for group in groups])
        keys = np.random.PCG64([self.seed, epoch, number + 1]).random_raw(len(lists[0]))
        order = np.argsort(keys, kind="stable")
        return lists[0].take(order), lists[1].take(order), None if lists[2] is None else lists[2].take(order)


def _stretch(lists: Lists, start: int, stop: int) -> Lists:
    """The stays from `start` up to `stop`."""
    diagnoses, procedures, known = lists
    rest = None if known is None else known.take(np.arange(start, stop))
    return _rows(diagnoses, start, stop), _rows(procedures, start, stop), rest


def _rows(lists: Ragged, start: int, stop: int) -> Ragged:
    offsets = lists.offsets[start : stop + 1]
    return Ragged(offsets - offsets[0], lists.values[offsets[0] : offsets[-1]])


def _joined(parts: list[Lists]) -> Lists:
    if len(parts) == 1:
        return parts[0]
    diagnoses, procedures = joined([part[0] for part in parts]), joined([part[1] for part in parts])
    known = [part[2] for part in parts if part[2] is not None]
    return diagnoses, procedures, Known.joined(known) if known else None
