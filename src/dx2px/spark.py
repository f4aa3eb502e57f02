"""Recommendations for the stays of a Spark table, and audits of coded ones, by the functions of `dx2px score` and
`dx2px audit`, run where the rows are.

Every executor needs dx2px (`pip install dx2px`, without extras) and the model folder under the same path.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import ArrayType, DoubleType, FloatType, IntegerType, StringType, StructType

from dx2px.answers import Model
from dx2px.answers.audit_stream import AUDITED, audit_batches
from dx2px.answers.defects import AuditSettings
from dx2px.answers.flagging import Flagger
from dx2px.answers.given import check_top
from dx2px.answers.population import COLUMNS, facts_of, score_batches
from dx2px.answers.shipped import model_path
from dx2px.errors import InputError, ModelError
from dx2px.scoring.identity import fingerprint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def recommend(
    model: str | os.PathLike[str],
    stays: DataFrame,
    top: int = 10,
    *,
    map: bool = True,  # noqa: A002
) -> DataFrame:
    """The best `top` procedures for each stay: one row per stay, with the columns of `dx2px.score_batches`.

    `stays` needs the columns `stay_id` and `diagnoses`, an array of strings. A model that takes more evidence also
    reads `principal`, `age`, `sex` and `admission`, where they are there. Diagnoses of an ICD version that the model
    lacks are translated; without `map`, they are refused. The work is lazy, as always in Spark, but a wrong model or
    column is reported at once.
    """
    check_top(top)
    schema = _schema(stays)
    path = str(model_path(model).absolute())
    loaded = Model.load(path)
    expected = fingerprint(loaded.files)
    columns = [*COLUMNS, *(name for name in facts_of(loaded) if name in stays.columns)]

    def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # One thread each, since Spark runs one worker per core.
        return score_batches(_model(path, expected), batches, top, threads=1, map=map)

    return stays.select(*columns).mapInArrow(answers, schema)


def audit(
    model: str | os.PathLike[str],
    stays: DataFrame,
    settings: AuditSettings | None = None,
    *,
    map: bool = True,  # noqa: A002
) -> DataFrame:
    """The findings of each stay: one row per finding, with the columns of `dx2px.audit_batches`.

    `stays` needs the columns `stay_id`, `diagnoses` and `procedures`, arrays of strings; a model that takes more
    evidence reads it, and diagnoses are translated, as in `recommend`. All findings that are strong enough are
    returned; sort them by `strength`.
    """
    schema = _audit_schema(stays)
    path, wanted = str(model_path(model).absolute()), settings or AuditSettings()
    loaded = Model.load(path)
    Flagger(loaded, wanted)  # reports at once that a model cannot audit
    expected = fingerprint(loaded.files)
    columns = [*AUDITED, *(name for name in facts_of(loaded) if name in stays.columns)]

    def findings(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return audit_batches(_model(path, expected), batches, wanted, threads=1, map=map)

    return stays.select(*columns).mapInArrow(findings, schema)


@lru_cache(maxsize=1)
def _model(path: str, expected: str) -> Model:
    """The model, loaded once per Python worker; Spark reuses workers for later tasks."""
    model = Model.load(path)
    if fingerprint(model.files) != expected:
        raise ModelError(
            f"The model in {path} is not the same on this executor as on the driver; copy it again."
        )
    return model


def _schema(stays: DataFrame) -> StructType:
    """The columns of the result; ids keep their type."""
    _check(stays, COLUMNS)
    return (
        StructType()
        .add("stay_id", stays.schema["stay_id"].dataType)
        .add("recommendations", ArrayType(StringType()))
        .add("scores", ArrayType(FloatType()))
        .add("probabilities", ArrayType(FloatType()))
        .add("known_diagnoses", IntegerType())
        .add("backed_off_diagnoses", IntegerType())
        .add("unknown_diagnoses", IntegerType())
    )


def _audit_schema(stays: DataFrame) -> StructType:
    _check(stays, AUDITED)
    codes = ArrayType(StringType())
    reasons = ArrayType(StructType().add("code", StringType()).add("share", DoubleType()))
    return (
        StructType()
        .add("stay_id", stays.schema["stay_id"].dataType)
        .add("kind", StringType())
        .add("code", StringType())
        .add("title", StringType())
        .add("other", StringType())
        .add("strength", DoubleType())
        .add("probability", DoubleType())
        .add("rank", IntegerType())
        .add("because", reasons)
        .add("suggested", reasons)
        .add("diagnoses", codes)
        .add("procedures", codes)
    )


def _check(stays: DataFrame, columns: Sequence[str]) -> None:
    """Raise an `InputError` if a column is missing or does not hold codes."""
    missing = [name for name in columns if name not in stays.columns]
    if missing:
        raise InputError(f"The table of stays has no column {' and no column '.join(missing)}.")
    for name in columns[1:]:
        lists = stays.schema[name].dataType
        if not isinstance(lists, ArrayType) or not isinstance(lists.elementType, StringType):
            raise InputError(
                f"The column {name} must hold lists of codes as text (array<string>), not {lists.simpleString()}."
            )
