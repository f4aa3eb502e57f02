"""Data frames of stays in, data frames of recommendations out, by the stream that `dx2px score` uses.

A frame needs a column `diagnoses` with lists of codes. `stay_id` is copied; without it stays are numbered from 1. A
model that takes more evidence also reads `principal`, `age`, `sex` and `admission`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dx2px.answers.batch_answers import answer_schema
from dx2px.answers.given import given_codes
from dx2px.answers.model import Model
from dx2px.answers.population import score_batches
from dx2px.codes import title
from dx2px.errors import InputError
from dx2px.frames import as_frame, as_table, is_frame, library_of


def score_frame(model: Model, frame: Any, top: int = 10, map: bool = True) -> Any:  # noqa: A002
    """The columns of `dx2px score`, one row per stay, in the library of the frame."""
    if not is_frame(frame):
        raise InputError("score_frame takes a data frame of stays; recommend_many also takes lists of codes.")
    return as_frame(_scored(model, _numbered(as_table(frame)), top, map), library_of(frame))


def recommend_many(model: Model, stays: Any, top: int = 5, map: bool = True) -> Any:  # noqa: A002
    """One row per stay and procedure; a stay without an answer has one row without a procedure."""
    lists = not is_frame(stays)
    table = _of_lists(stays) if lists else as_table(stays)
    scored = _scored(model, _numbered(table), top, map)
    return as_frame(_one_row_each(scored), None if lists else library_of(stays))


def _scored(model: Model, stays: pa.Table, top: int, mapped: bool) -> pa.Table:
    batches = score_batches(model, stays.to_batches(), top, map=mapped)
    return pa.Table.from_batches(batches, answer_schema(stays.schema.field("stay_id").type))


def _numbered(stays: pa.Table) -> pa.Table:
    if "stay_id" in stays.column_names:
        return stays
    return stays.append_column("stay_id", pa.array(np.arange(1, stays.num_rows + 1)))


def _of_lists(stays: Iterable[Sequence[str]]) -> pa.Table:
    rows = list(stays) if isinstance(stays, Iterable) else [stays]
    if any(isinstance(row, str | bytes) or not isinstance(row, Iterable) for row in rows):
        raise InputError("Give one list of codes per stay, as in [['585.6', '427.5'], ['820.21']].")
    lists = [given_codes(row, "diagnoses of a stay") for row in rows]
    return pa.table({"diagnoses": pa.array(lists, pa.list_(pa.string()))})


def _one_row_each(scored: pa.Table) -> pa.Table:
    """The lists of each stay below each other."""
    lengths = pc.list_value_length(scored["recommendations"]).to_numpy()
    rows = np.repeat(np.arange(len(lengths)), np.maximum(lengths, 1))
    starts = np.cumsum(np.maximum(lengths, 1)) - np.maximum(lengths, 1)
    rank = np.arange(len(rows)) - starts[rows] + 1
    answered = (lengths > 0)[rows]
    entry = pa.array(np.cumsum(answered) - 1, mask=~answered)  # null where there is no answer
    columns = {name: _flat(scored[name], entry) for name in ("recommendations", "probabilities", "scores")}
    return pa.table(
        {
            "stay_id": scored["stay_id"].take(pa.array(rows)),
            "rank": pa.array(rank, mask=~answered),
            "code": columns["recommendations"],
            "title": _titles(columns["recommendations"]),
            "probability": columns["probabilities"],
            "score": columns["scores"],
        }
    )


def _flat(lists: pa.ChunkedArray, entry: pa.Array) -> pa.Array:
    flat = lists.combine_chunks().flatten()
    return flat.take(entry) if len(flat) else pa.nulls(len(entry), flat.type)


def _titles(codes: pa.Array) -> pa.Array:
    coded = codes.dictionary_encode()
    names = pa.array([title(code).text for code in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)
