"""Recommendations for any number of stays, as streams of Arrow record batches; needs only numpy and pyarrow.

In:   `stay_id`, `diagnoses` (a list of codes); other columns are ignored, as are their order and the kind of list.
Out:  one row per stay, in the same order:

stay_id                as it came
recommendations        codes of procedures, best first; empty if no diagnosis can be used
scores                 the model's score of each
probabilities          of each; null if the model is not calibrated and only ranks
known_diagnoses        how many diagnoses the model knows
backed_off_diagnoses   for how many others a heading stands in, as in `Model.recommend`
unknown_diagnoses      how many are left out; each code counts once per stay

Diagnoses of an ICD version that the model lacks are translated, and count as the codes that replace them.
Batches are regrouped into blocks of one size before they are scored: small ones cost no more than large ones, and
answers do not depend on their sizes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from os import cpu_count
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dx2px.answers.batch_answers import Answerer, ScoredBlock
from dx2px.answers.encoding import CODE_LISTS, check_code_lists
from dx2px.answers.given import check_top
from dx2px.answers.model import Model, check_model
from dx2px.errors import InputError
from dx2px.frames import filled, held_numbers, nothing, numbers, texts
from dx2px.ragged import offsets_of
from dx2px.scoring.known import FACTS
from dx2px.scoring.scorer import BLOCK

STAYS = 16 * BLOCK  # per batch: enough that threads seldom wait for each other, few enough for the memory
COLUMNS = ("stay_id", "diagnoses")
_NAMED = 8  # columns that an error message names at most

Done = TypeVar("Done")


def score_batches(
    model: Model,
    batches: Iterable[pa.RecordBatch],
    top: int = 10,
    threads: int | None = None,
    *,
    map: bool = True,  # noqa: A002
) -> Iterator[pa.RecordBatch]:
    """Recommend procedures for a stream of stays.

    Args:
        model: The model to ask.
        batches: Arrow record batches with `stay_id` and `diagnoses` (lists of text). A model that takes more evidence
            also reads `principal`, `age`, `sex` and `admission`, where they are there.
        top: How many procedures per stay.
        threads: Threads to use; one per processor by default.
        map: Translate diagnoses of the other ICD version by the public maps; False refuses them.

    Yields:
        Record batches with one row per stay, in the same order.
    """
    check_model(model)
    return (block.answers for block in scored_blocks(model, batches, top, threads, map))


def scored_blocks(
    model: Model,
    batches: Iterable[pa.RecordBatch],
    top: int = 10,
    threads: int | None = None,
    map: bool = True,  # noqa: A002
) -> Iterator[ScoredBlock]:
    """The answers for a stream of stays, with counts; one thread per processor by default."""
    check_top(top)
    answerer = Answerer(model, top, map)
    stays = even_batches(batches, COLUMNS, facts_of(model))
    return in_order(answerer.answer, stays, threads or cpu_count() or 1)


def facts_of(model: Model) -> tuple[str, ...]:
    """The columns that a model reads besides the codes, where they are there."""
    layout = model.layout
    return () if layout is None else tuple(name for name in FACTS if name != "principal" or layout.principal)


def check_columns(schema: pa.Schema, columns: Sequence[str] = COLUMNS, facts: Sequence[str] = ()) -> None:
    """Raise an `InputError` if a column is missing, named twice, or of the wrong type.

    The first of `columns` is `stay_id`; all others hold lists of codes. `facts` need not be there.
    """
    if wrong := [name for name in columns if schema.names.count(name) != 1]:
        there = ", ".join(schema.names[:_NAMED]) + (", …" if len(schema.names) > _NAMED else "")
        raise InputError(f"The stays need one column {' and one column '.join(wrong)}; they have {there}.")
    if pa.types.is_nested(schema.field(columns[0]).type):
        raise InputError(
            f"The column {columns[0]} must hold one value per stay, not {schema.field(columns[0]).type}."
        )
    for name in columns[1:]:
        check_code_lists(schema.field(name).type, name)
    for name in facts:
        if schema.names.count(name) > 1:
            raise InputError(f"The stays have more than one column {name}.")
        if name in schema.names and not _fits(schema.field(name).type, name):
            kind = "numbers" if name == "age" else "text"
            held = schema.field(name).type
            texts = pa.types.is_string(held) or pa.types.is_large_string(held)
            raise InputError(f"The column {name} must hold {kind}, not {'text' if texts else held}.")


def _fits(kind: pa.DataType, name: str) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(plain):
        return True
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    whole = pa.types.is_integer(plain) or pa.types.is_floating(plain)
    return whole if name == "age" else any(test(plain) for test in text)


def even_batches(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], facts: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The columns that matter, in batches of `STAYS` rows; the last has the rest. Absent `facts` are null."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for piece in _pieces(batches, columns, facts):
        waiting.append(piece)
        rows += len(piece)
        if rows >= STAYS:
            joined = pa.concat_batches(waiting)
            yield joined.slice(0, STAYS)
            waiting, rows = [joined.slice(STAYS)], rows - STAYS
    if rows:
        yield pa.concat_batches(waiting)


def _pieces(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], facts: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches of at most `STAYS` rows, with columns of plain types."""
    for batch in batches:
        check_columns(batch.schema, columns, facts)
        for start in range(0, len(batch), STAYS):
            piece = batch.slice(start, STAYS)
            ids = piece.column("stay_id")
            plain = ids.dictionary_decode() if pa.types.is_dictionary(ids.type) else ids
            lists = [piece.column(name).cast(CODE_LISTS) for name in columns[1:]]
            about = {name: _fact(piece, name) for name in facts}
            if "principal" in about:
                lists[0] = _with_principal(lists[0], about["principal"])
            yield pa.record_batch([plain, *lists, *about.values()], names=[*columns, *about])


def _fact(piece: pa.RecordBatch, name: str) -> pa.Array:
    """The column, null where it tells nothing."""
    kind = pa.int64() if name == "age" else pa.string()
    if name not in piece.schema.names:
        return pa.nulls(len(piece), kind)
    column = piece.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):  # a column of whole numbers with gaps, as pandas writes it
        column = pc.floor(pc.if_else(pc.is_finite(column), column, nothing(column.type)))
    column = column.cast(kind)
    if name == "age":
        return column
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), texts([""])[0]), nothing(kind), column)


def _with_principal(lists: pa.Array, principal: pa.Array) -> pa.Array:
    """Each list with the stay's principal diagnosis at its end; a code counts once per stay in any case."""
    lengths = filled(pc.list_value_length(lists), 0)
    named = held_numbers(principal.is_valid().cast(pa.uint8())).astype(np.bool_)
    offsets, flat = offsets_of(lengths + named), lists.flatten()
    last = offsets[1:][named] - 1
    listed = np.ones(offsets[-1], np.bool_)
    listed[last] = False
    source = np.empty(offsets[-1], np.int64)
    source[listed] = np.arange(len(flat))
    source[last] = len(flat) + np.flatnonzero(named)
    values = pa.concat_arrays([flat, principal]).take(numbers(source))
    return pa.ListArray.from_arrays(numbers(offsets.astype(np.int32)), values)


def in_order(
    work: Callable[[pa.RecordBatch], Done], blocks: Iterator[pa.RecordBatch], threads: int
) -> Iterator[Done]:
    """The result for each batch, several computed at once, in the order of the batches; few are ever in memory."""
    if threads == 1:
        yield from map(work, blocks)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Done]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
