"""BigQuery: each step is one query of the tables; our verdicts go to a temporary table of the query session."""

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
    """`bigquery://project[/dataset]`: the project that is billed; the credentials are Google's default ones."""
    project, _, dataset = url.partition("://")[2].strip("/").partition("/")
    if not project:
        raise CohortError(
            "The BigQuery URL has no project; write it as bigquery://project or bigquery://project/dataset."
        )
    place = f"BigQuery project {project}"
    with _plain_errors(place):
        credentials, _ = google.auth.default(scopes=SCOPES)  # without any, Ibis would open a browser
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
    def plain_errors(self) -> Iterator[None]:
        with _plain_errors(self.place):
            yield

    def close(self) -> None:
        self.connection.disconnect()


@contextmanager
def _plain_errors(place: str) -> Iterator[None]:
    try:
        yield
    except Forbidden:
        raise CohortError(
            f"{place} does not allow these credentials to read the tables or run queries."
        ) from None
    except GoogleAuthError:
        raise CohortError(
            "There are no credentials for BigQuery; create them with `gcloud auth application-default login`."
        ) from None
    except GoogleAPIError as error:
        raise CohortError(f"{place} could not finish the query ({type(error).__name__}).") from None
