"""The best procedures of a block of stays, as an Arrow record batch.

A stay's answer must not depend on which other stays stand in the block. So stays are scored in blocks of one size,
the last one filled up (methods may sum in another order for few stays than for many), and those with headings in
place of codes go to a scorer that holds every heading, whichever of them are met.

Axes: i stays, p procedures, l the best of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.inference.encoding import StayEncoder
from dx2px.inference.recommender import Model
from dx2px.inference.scoring import BLOCK, Scorer, scorer_for
from dx2px.inference.segments import Floats
from dx2px.model.ranking import top_l
from dx2px.ragged import Ragged, offsets_of

NUMBERS = pa.list_(pa.float32())


def answer_schema(stay_id: pa.DataType) -> pa.Schema:
    """The columns of the answers, for stays whose ids are of the given type."""
    return pa.schema(
        [
            ("stay_id", stay_id.value_type if pa.types.is_dictionary(stay_id) else stay_id),
            ("recommendations", pa.list_(pa.string())),
            ("scores", NUMBERS),
            ("probabilities", NUMBERS),
            ("known_diagnoses", pa.int32()),
            ("backed_off_diagnoses", pa.int32()),
            ("unknown_diagnoses", pa.int32()),
        ]
    )


class Answerer:
    """A model with the question that a stream of stays asks it."""

    def __init__(self, model: Model, top: int) -> None:
        self.model, self.width = model, min(top, len(model.files.procedures))
        self.encoder = diagnosis_encoder(model)
        self.procedures = pa.array(model.files.procedures, pa.string())

    def answer(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """A row for each stay of a block."""
        stays = self.encoder.encode(block.column("diagnoses"))
        some = stays.rows.lengths > 0
        best = self._best(stays.rows if some.all() else stays.rows.take(np.flatnonzero(some)))
        offsets = pa.array(offsets_of(some * self.width).astype(np.int32))
        columns = {
            "stay_id": block.column("stay_id"),
            "recommendations": _lists(offsets, self.procedures.take(pa.array(best.procedures.reshape(-1)))),
            "scores": _lists(offsets, pa.array(best.scores.reshape(-1))),
            "probabilities": pa.nulls(len(block), NUMBERS)
            if best.probabilities is None
            else _lists(offsets, pa.array(best.probabilities.reshape(-1))),
            "known_diagnoses": pa.array(stays.known),
            "backed_off_diagnoses": pa.array(stays.backed_off),
            "unknown_diagnoses": pa.array(stays.unknown),
        }
        return pa.record_batch(columns, schema=answer_schema(block.schema.field("stay_id").type))

    def _best(self, stays: Ragged) -> _Best:
        """Of each stay; stays with stand-ins go to a scorer of their own, so that they change no other's answer."""
        stood_in = np.zeros(len(stays), np.bool_)
        stood_in[stays.row_of_entry[stays.values >= len(self.model.files.diagnoses)]] = True
        if not stood_in.any():
            return self._best_by(self.model.scorer, stays)
        places = [np.flatnonzero(~stood_in), np.flatnonzero(stood_in)]
        groups = [
            self._best_by(self.model.scorer, stays.take(places[0])),
            self._best_by(self._stand_ins, stays.take(places[1])),
        ]
        return _joined(groups).take(np.argsort(np.concatenate(places)))

    def _best_by(self, scorer: Scorer, stays: Ragged) -> _Best:
        parts = [self._best_of_block(scorer, block) for block in _even_blocks(stays)]
        return _joined(parts).take(slice(len(stays)))

    def _best_of_block(self, scorer: Scorer, block: Ragged) -> _Best:
        scores = scorer.scores(block)  # (i, p)
        best = top_l(scores, self.width)  # (i, l)
        places = best.astype(np.int64)
        likely = self.model.probabilities(scores, places)
        chosen = np.take_along_axis(scores, places, axis=1)
        return _Best(best, chosen, None if likely is None else likely.astype(np.float32))

    @cached_property
    def _stand_ins(self) -> Scorer:
        return stand_in_scorer(self.model)


def diagnosis_encoder(model: Model) -> StayEncoder:
    """Reads lists of diagnoses as rows of the model's codes and, after them, its headings."""
    headings = {heading: place for place, heading in enumerate(model.back_off.under)}
    return StayEncoder(model.diagnoses, headings)


def stand_in_scorer(model: Model) -> Scorer:
    """Knows the vocabulary and, after it, every heading that can stand in for a code, whatever stays may bring."""
    own, under = model.files.diagnoses, model.back_off.under
    members = [*((index,) for index in range(len(own))), *under.values()]
    return scorer_for(model.back_off.rows([*own, *under], members))


@dataclass(frozen=True, eq=False)
class _Best:
    """The best procedures of stays, best first, each array (i, l)."""

    procedures: NDArray[np.int32]
    scores: Floats
    probabilities: Floats | None

    def take(self, stays: NDArray[np.int64] | slice) -> _Best:
        likely = None if self.probabilities is None else self.probabilities[stays]
        return _Best(self.procedures[stays], self.scores[stays], likely)


def _joined(parts: Sequence[_Best]) -> _Best:
    likely = [part.probabilities for part in parts if part.probabilities is not None]
    return _Best(
        np.concatenate([part.procedures for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate(likely) if likely else None,
    )


def _lists(offsets: pa.Array, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(offsets, values)


def _even_blocks(stays: Ragged) -> Iterator[Ragged]:
    """Blocks of one size, at least one, the last filled up with its last stay."""
    if not len(stays):
        stays = Ragged.from_lists([[0]])
    for start in range(0, len(stays) - BLOCK + 1, BLOCK):
        offsets = stays.offsets[start : start + BLOCK + 1]
        yield Ragged(offsets - offsets[0], stays.values[offsets[0] : offsets[-1]])
    if left := len(stays) % BLOCK:
        yield stays.take(np.minimum(np.arange(BLOCK) + len(stays) - left, len(stays) - 1))
