"""One small module per source: how its tables become code entries."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from dx2px.cohort.sources.source_options import Icd, SourceOptions
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.cohort.sources.entries import Extract
    from dx2px.cohort.sources.source_tables import Tables

SOURCES = ("mimic3", "mimic4", "nhds", "synpuf", "omop", "fhir", "meds", "table")


def source(name: str) -> Callable[[Tables, SourceOptions], Extract]:
    """The function that extracts entries from the tables of a source."""
    if name not in SOURCES:
        raise InputError(f"There is no source {name!r}; choose one of {', '.join(SOURCES)}.")
    extract: Callable[[Tables, SourceOptions], Extract] = import_module(f"{__name__}.{name}").extract
    return extract


__all__ = ["SOURCES", "Icd", "SourceOptions", "source"]
