"""Rows of evidence, or procedures, of some stays as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dx2px.ragged import Ragged
from dx2px.training.draws import Source, kept_entries


@dataclass(frozen=True, eq=False)
class Entries:
    """A `Ragged` as tensors."""

    codes: Tensor  # (n,)
    row: Tensor  # (n,) the stay of each entry
    offsets: Tensor  # (i + 1,)
    lengths: Tensor  # (i,) as floating-point numbers

    @classmethod
    def of(cls, rows: Ragged, device: torch.device) -> Entries:
        codes, row = rows.values.astype(np.int64), rows.row_of_entry.astype(np.int64)
        offsets = torch.from_numpy(rows.offsets.astype(np.int64)).to(device)
        parts = torch.from_numpy(codes).to(device), torch.from_numpy(row).to(device)
        return cls(*parts, offsets, offsets.diff().float())

    def thinned(self, share: float, generator: Source) -> Entries:
        """Without a random share of the entries; a row that would lose all of its entries keeps them all."""
        keep = kept_entries(self.row, self.lengths, share, generator)
        row = self.row[keep]
        lengths = torch.bincount(row, minlength=len(self.lengths))
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        return Entries(self.codes[keep], row, offsets, lengths.float())
