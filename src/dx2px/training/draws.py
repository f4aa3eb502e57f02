"""What dropout leaves out.

Several processes that share a batch must draw as one process would: each draws for the whole batch and takes its part.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dx2px.ragged import Offset


class SharedDraws:
    """A generator that draws for a whole batch and hands out the part of the stays in this process."""

    def __init__(self, generator: torch.Generator, lengths: Offset, own: slice) -> None:
        self._generator, self._own = generator, own
        # The number of entries of all stays; of the kept ones once some are left out.
        self._lengths = torch.from_numpy(lengths)

    def entries(self, share: float) -> Tensor:
        """Which entries of this process's stays are kept."""
        lengths = self._lengths
        row = torch.repeat_interleave(lengths)
        keep = kept_entries(row, lengths, share, self._generator)
        self._lengths = torch.bincount(row[keep], minlength=len(lengths))
        return keep[self._entries_of(lengths)]

    def keys(self) -> Tensor:
        """A random number for each entry of these stays."""
        return _keys(int(self._lengths.sum()), self._generator)[self._entries_of(self._lengths)]

    def _entries_of(self, lengths: Tensor) -> slice:
        start = int(lengths[: self._own.start].sum())
        return slice(start, start + int(lengths[self._own].sum()))


Source = torch.Generator | SharedDraws


def kept_entries(row: Tensor, lengths: Tensor, share: float, source: Source) -> Tensor:
    """Which entries are kept when a random share is left out; a row that would lose all keeps all."""
    if isinstance(source, SharedDraws):
        return source.entries(share).to(row.device)
    keep = torch.rand(len(row), generator=source).to(row.device) >= share
    left = torch.zeros(len(lengths), device=row.device).index_add_(0, row, keep.float())
    return keep | (left == 0)[row]


def feature_keys(entries: int, source: Source) -> NDArray[np.uint64]:
    """A random number for each entry, from which a method draws what it leaves out of that entry's features."""
    keys = source.keys() if isinstance(source, SharedDraws) else _keys(entries, source)
    return keys.numpy().view(np.uint64)


def _keys(entries: int, generator: torch.Generator) -> Tensor:
    return torch.empty(entries, dtype=torch.int64).random_(generator=generator)
