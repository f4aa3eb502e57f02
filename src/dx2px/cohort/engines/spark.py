"""Spark: the session of this process, or a new one; intermediate results are cached views of the session.

The cluster and its memory come from Spark's own settings (spark-defaults.conf, spark-submit).
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dx2px.cohort.engines.engine import BATCH_ROWS, FILE_NAME, FILE_ROW, Engine
from dx2px.errors import CohortError

_SHUFFLE, _PER_CORE = "spark.sql.shuffle.partitions", 4


def connect(url: str, workspace: Path) -> Spark:
    """Join the active session, or start one with Spark's own settings."""
    active = SparkSession.getActiveSession()
    try:
        session = active or SparkSession.builder.appName("dx2px prepare").getOrCreate()
        if active is None:
            with suppress(PySparkException):  # a remote session has no context here
                _settle(session.sparkContext, session)
    except (PySparkException, Py4JError, OSError):
        raise CohortError(
            "Spark does not start: it needs Java 17 or newer; set JAVA_HOME to its folder."
        ) from None
    return Spark(ibis.pyspark.connect(session), session, ours=active is None)


def _settle(context: Any, session: Any) -> None:
    """A quiet log, and on one machine only as many shuffle partitions as it can use: Spark's 200 are for a cluster."""
    context.setLogLevel("ERROR")
    if context.master.startswith("local") and not context.getConf().contains(_SHUFFLE):
        session.conf.set(_SHUFFLE, _PER_CORE * context.defaultParallelism)


class Spark(Engine):
    """Spark reads the tables of its catalogue, and files that its workers can reach."""

    def __init__(self, connection: Any, session: Any, *, ours: bool) -> None:
        super().__init__(connection, "Spark")
        self.session, self.ours = session, ours
        self.views: list[str] = []
        self.cached: list[Any] = []

    def has_files(self, path: str) -> bool:
        return Path(path).exists()

    def read_parquet(self, path: Path) -> Any:
        return self._view(self.session.read.parquet(path.absolute().as_uri()))

    def read_numbered_parquet(self, path: Path) -> Any:
        frame = self.session.read.parquet(path.absolute().as_uri())
        return self._view(frame.select("*", frame["_metadata.row_index"].alias(FILE_ROW)))

    def read_shards(self, paths: list[Path]) -> Any:
        frame = self.session.read.option("mergeSchema", "true").parquet(
            *(path.absolute().as_uri() for path in paths)
        )
        row, name = (
            frame["_metadata.row_index"].alias(FILE_ROW),
            frame["_metadata.file_path"].alias(FILE_NAME),
        )
        return self._view(frame.select("*", row, name))

    @property
    def default_schema(self) -> str:
        name: str = self.session.catalog.currentDatabase()
        return name

    def tables_of(self, schema: str) -> list[str] | None:
        if not self.session.catalog.databaseExists(schema):
            return None
        return [table.name for table in self.session.catalog.listTables(schema) if not table.isTemporary]

    def lend(self, table: pa.Table) -> Any:
        return self._view(self.session.createDataFrame(table))

    def keep(self, name: str, expression: Any) -> Any:
        frame = self._frame(expression).persist()
        self.cached.append(frame)
        return self._view(frame)

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """One partition at a time; Ibis would collect the whole result in pandas first."""
        schema = expression.schema().to_pyarrow()
        rows = self._frame(expression).toLocalIterator()
        while chunk := list(itertools.islice(rows, BATCH_ROWS)):
            columns = zip(*chunk, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            yield pa.record_batch(arrays, schema=schema)

    def fetch(self, expression: Any) -> pa.Table:
        table: pa.Table = self._frame(expression).toArrow()
        return table.cast(expression.schema().to_pyarrow())

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            raise CohortError(f"Spark could not finish the query ({_condition(error)}).") from None
        except (Py4JError, ConnectionError):
            raise CohortError("The connection to Spark was lost; start the preparation again.") from None

    def close(self) -> None:
        try:
            for frame in self.cached:
                frame.unpersist()
            for view in self.views:
                self.session.catalog.dropTempView(view)
            if self.ours:
                self.session.stop()
        except (PySparkException, Py4JError, ConnectionError):
            return  # Spark is gone, and its views with it

    def _frame(self, expression: Any) -> Any:
        return self.session.sql(self.connection.compile(expression))

    def _view(self, frame: Any) -> Any:
        name = f"dx2px_{uuid.uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self.views.append(name)
        return self.connection.table(name)


def _condition(error: PySparkException | Any) -> str:
    """Spark's name for the error; its text may quote rows."""
    if isinstance(error, PySparkException):
        return error.getCondition() or type(error).__name__
    return str(error.java_exception.getClass().getSimpleName())
