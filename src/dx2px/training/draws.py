"""What dropout leaves out.

Several processes that share a batch must draw as one process would: each draws for the whole batch and takes its part.
"""

from __future__ import annotations

import torch
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

    def features(self, size: int, keep: float, dtype: torch.dtype) -> Tensor:
        """Ones with probability `keep`, else zeros, for each entry of these stays and each of `size` features."""
        whole = torch.empty(int(self._lengths.sum()), size, dtype=dtype)
        return whole.bernoulli_(keep, generator=self._generator)[self._entries_of(self._lengths)]

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


def kept_features(x: Tensor, dropout: float, source: Source) -> Tensor:
    """A mask of zeros and 1/(1 − dropout)."""
    if isinstance(source, SharedDraws):
        drawn = source.features(x.shape[1], 1 - dropout, x.dtype)
    else:
        drawn = torch.empty(x.shape, dtype=x.dtype).bernoulli_(1 - dropout, generator=source)
    return drawn.to(x.device).div_(1 - dropout)
