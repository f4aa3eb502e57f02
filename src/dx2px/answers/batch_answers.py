"""The best procedures of many stays, as an Arrow record batch.

Axes: i stays, p procedures, l the best of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.answers.even_blocks import EvenBlock, EvenBlocks
from dx2px.answers.model import Model
from dx2px.frames import numbers, texts
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.candidates import TOP, Candidates
from dx2px.scoring.known import Known
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Floats

NUMBERS = pa.list_(pa.float32())


def answer_schema(stay_id: pa.DataType) -> pa.Schema:
    """The columns of the answers, for stay ids of the given type."""
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


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """The answers for some stays, and how many of their diagnoses were translated, by kind of mapping."""

    answers: pa.RecordBatch
    mapping: Mapping[str, int]


class Answerer:
    """A model, and how many procedures to recommend for each stay."""

    def __init__(self, model: Model, top: int, map: bool = True) -> None:  # noqa: A002
        self.model, self.width = model, min(top, len(model.files.procedures))
        self.blocks = EvenBlocks(model, map)
        self.procedures = texts(model.files.procedures)

    def answer(self, block: pa.RecordBatch) -> ScoredBlock:
        """One row for each stay of a record batch."""
        stays = self.blocks.encoder.encode(block.column("diagnoses"))
        best = self._best(stays.rows, self.blocks.known(block))
        offsets = numbers(offsets_of((stays.rows.lengths > 0) * self.width).astype(np.int32))
        columns = {
            "stay_id": block.column("stay_id"),
            "recommendations": _lists(offsets, self.procedures.take(numbers(best.procedures.reshape(-1)))),
            "scores": _lists(offsets, numbers(best.scores.reshape(-1))),
            "probabilities": pa.nulls(len(block), NUMBERS)
            if best.probabilities is None
            else _lists(offsets, numbers(best.probabilities.reshape(-1))),
            "known_diagnoses": numbers(stays.known),
            "backed_off_diagnoses": numbers(stays.backed_off),
            "unknown_diagnoses": numbers(stays.unknown),
        }
        answers = pa.record_batch(columns, schema=answer_schema(block.schema.field("stay_id").type))
        return ScoredBlock(answers, stays.mapping)

    def _best(self, rows: Ragged, known: Known | None) -> _Best:
        """For the stays with usable diagnoses, in their order."""
        blocks = list(self.blocks.of(rows, known))
        parts = [self._best_of(block).take(slice(block.size)) for block in blocks]
        places = np.concatenate([np.empty(0, np.int64), *(block.places for block in blocks)])
        return _joined([self._nothing(), *parts]).take(np.argsort(places))

    def _best_of(self, block: EvenBlock) -> _Best:
        few = self.blocks.candidates_of(block.scorer) if self.width <= TOP else None
        if few is not None:
            return _joined([self._best_of_one(few, block.rows.take([row])) for row in range(block.size)])
        scores = block.scorer.scores(block.rows)  # (i, p)
        best = top_l(scores, self.width)  # (i, l)
        places = best.astype(np.int64)
        likely = self.model.probabilities(scores, places)
        chosen = np.take_along_axis(scores, places, axis=1)
        return _Best(best, chosen, None if likely is None else likely.astype(np.float32))

    def _best_of_one(self, few: Candidates, stay: Ragged) -> _Best:
        """The same of a single stay, from some of the procedures."""
        narrow = few.narrowed(stay)
        scores = narrow.scorer.scores(stay)  # (1, c)
        places = top_l(scores, self.width).astype(np.int64)
        likely = None if narrow.calibration is None else narrow.calibration.probability(scores, places)
        best = narrow.chosen.codes[places].astype(np.int32)
        chosen = np.take_along_axis(scores, places, axis=1)
        return _Best(best, chosen, None if likely is None else likely.astype(np.float32))

    def _nothing(self) -> _Best:
        """The answer for no stays at all."""
        none = np.empty((0, self.width), np.float32)
        return _Best(none.astype(np.int32), none, None if self.model.files.calibration is None else none)


@dataclass(frozen=True, eq=False)
class _Best:
    """The best procedures of some stays, best first; each array is (i, l)."""

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
