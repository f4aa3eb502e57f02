"""BigQuery: every step is one query of the tables; our verdicts go to a temporary table of the query session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import google.auth
import ibis
from google.api_core.exceptions import Forbidden, GoogleAPIError, NotFound
from google.auth.exceptions import GoogleAuthError

from dx2px.cohort.engines.engine import Engine
from dx2px.errors import CohortError

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def connect(url: str, workspace: Path) -> BigQuery:
    """`bigquery://project[/dataset]`: the project that is billed; credentials are Google's default ones."""
    project, _, dataset = url.partition("://")[2].strip("/").partition("/")
    if not project:
        raise CohortError("The BigQuery URL names no project; it looks like bigquery://project/dataset.")
    place = f"BigQuery project {project}"
    with _sentences(place):
        credentials, _ = google.auth.default(scopes=SCOPES)  # Ibis would open a browser where there are none
        connection = ibis.bigquery.connect(project_id=project, dataset_id=dataset, credentials=credentials)
        return BigQuery(connection, place)


class BigQuery(Engine):
    """Datasets of other projects are named `project.dataset`, as in `physionet-data.mimiciv_hosp`."""

    @property
    def default_schema(self) -> str:
        name: str | None = self.connection.current_database
        return name or ""

    def tables_of(self, schema: str) -> list[str] | None:
        if not schema:
            return None
        try:
            tables: list[str] = self.connection.list_tables(database=schema)
        except NotFound:
            return None
        return tables

    @contextmanager
    def sentences(self) -> Iterator[None]:
        with _sentences(self.place):
            yield

    def close(self) -> None:
        self.connection.disconnect()


@contextmanager
def _sentences(place: str) -> Iterator[None]:
    try:
        yield
    except Forbidden:
        raise CohortError(f"{place} does not let these credentials read the tables or run queries.") from None
    except GoogleAuthError:
        raise CohortError(
            "There are no credentials for BigQuery; `gcloud auth application-default login` makes them."
        ) from None
    except GoogleAPIError as error:
        raise CohortError(f"{place} could not finish the query ({type(error).__name__}).") from None
