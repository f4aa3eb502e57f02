"""Stays in blocks of one size, each block with the scorer that knows its codes.

A stay's answer must not depend on which other stays are in its block. So every block has the same size, the last one
filled up (methods may sum in another order for few stays than for many). Stays in which a heading replaces a code go
to a scorer that knows every heading, not only those that occur.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.answers.encoding import StayEncoder
from dx2px.answers.mapping import Translation
from dx2px.answers.model import Model
from dx2px.ragged import Ragged
from dx2px.scoring import candidates
from dx2px.scoring.candidates import Candidates
from dx2px.scoring.evidence import layout_of
from dx2px.scoring.known import FACTS, Known
from dx2px.scoring.scorer import BLOCK, Scorer


@dataclass(frozen=True, eq=False)
class EvenBlock:
    """Some stays with usable diagnoses, filled up to `BLOCK` rows with copies of the last one."""

    scorer: Scorer
    filled: NDArray[np.int64]  # (BLOCK,) places of the stays among all
    size: int  # how many of them are not copies
    rows: Ragged  # the diagnoses and other evidence of `filled`, as the scorer's indices

    @property
    def places(self) -> NDArray[np.int64]:
        """The places of the stays among all, without the copies."""
        return self.filled[: self.size]


class EvenBlocks:
    """Cuts stays into blocks for a model; several threads may ask at once."""

    def __init__(self, model: Model, map: bool = True) -> None:  # noqa: A002
        self.model = model
        self.translation = Translation(model.diagnoses, model.files.diagnosis_counts, map)

    @cached_property
    def encoder(self) -> StayEncoder:
        """Reads lists of diagnoses as rows of the model's codes and, numbered after them, its headings."""
        return StayEncoder(self.model.diagnoses, self.model.headings, self.translation)

    def known(self, stays: pa.RecordBatch) -> Known | None:
        """What a batch says about its stays besides their codes, for a model that takes it."""
        layout = self.model.layout
        if layout is None:
            return None
        columns = {name: stays.column(name) for name in FACTS if name in stays.schema.names}
        return layout.known_from(len(stays), columns, self.encoder.row)

    def of(self, rows: Ragged, known: Known | None) -> Iterator[EvenBlock]:
        """The blocks of encoded stays; stays without a usable diagnosis are in none."""
        for scorer, places in self._groups(rows, known):
            layout = layout_of(scorer)
            for start in range(0, len(places), BLOCK):
                some = places[start : start + BLOCK]
                filled = some[np.minimum(np.arange(BLOCK), len(some) - 1)]
                own = rows.take(filled)
                if layout is not None:
                    own = layout.rows(own, None if known is None else known.take(filled))
                yield EvenBlock(scorer, filled, len(some), own)

    def _groups(self, rows: Ragged, known: Known | None) -> Iterator[tuple[Scorer, NDArray[np.int64]]]:
        """Stays of known codes; then those with a heading in place of some code, which need another scorer."""
        size = len(self.model.files.diagnoses)
        stood_in = np.zeros(len(rows), np.bool_)
        stood_in[rows.row_of_entry[rows.values >= size]] = True
        if known is not None:
            stood_in |= (known.facts[:, 0] >= size) & (rows.lengths > 0)  # of the principal diagnosis
        yield self.model.scorer, np.flatnonzero((rows.lengths > 0) & ~stood_in)
        if stood_in.any():
            yield self.model.stand_ins, np.flatnonzero(stood_in)

    def candidates_of(self, scorer: Scorer) -> Candidates | None:
        """What finds the best procedures for a block's scorer without scoring all; None where all are scored."""
        if len(self.model.files.procedures) < candidates.MANY_IN_FILES:
            return None
        return self.model.candidates_of(scorer)
