"""An experiment as data: a TOML file with the recipe of a benchmark and the numbers published for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dx2px.errors import InputError
from dx2px.lab.benchmark import BenchmarkConfig
from dx2px.lab.set_sizes import SetSize
from dx2px.training.recipe import record_of

NUMBERS = 12  # recall, precision, F1 of the top 1, 3, 5, 10


@dataclass(frozen=True)
class PublishedSet:
    """The set of stays that the numbers were measured on: its threshold and its size."""

    min_count: int
    size: SetSize


@dataclass(frozen=True)
class Recipe:
    """A benchmark's settings, and the published numbers of each method, in the order of the paper's Table 1.

    Where `source` is given, the numbers were measured on its stays and are shown beside no others.
    """

    name: str
    config: BenchmarkConfig
    published: dict[str, tuple[float, ...]]
    source: str | None = None
    cohort: PublishedSet | None = None
    tuned: tuple[str, ...] = ()  # methods with a second row, of settings chosen on validation

    def beside(self, cohorts: Mapping[str, str]) -> dict[tuple[str, str], tuple[float, ...]]:
        """The published numbers by cohort and method, for the cohorts (name → source) they belong to."""
        fitting = [name for name, source in cohorts.items() if self.source in (None, source)]
        return {(name, method): row for name in fitting for method, row in self.published.items()}


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe; an error says in one sentence what is wrong with it."""
    file = Path(path)
    record = record_of(file)
    settings = record.get("benchmark", {})
    published = {name: _numbers(file, name, values) for name, values in record.get("published", {}).items()}
    try:
        if "methods" in settings:
            settings["methods"] = tuple(settings["methods"])
        cohort = _set(record["cohort"]) if "cohort" in record else None
        tuned = tuple(record.get("tuned", {}).get("methods", []))
        config = BenchmarkConfig(**settings)
        return Recipe(record["name"], config, published, record.get("source"), cohort, tuned)
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} is not a recipe: {error}.") from None


def _set(entry: Mapping[str, int]) -> PublishedSet:
    size = {name: value for name, value in entry.items() if name != "min_count"}
    return PublishedSet(entry["min_count"], SetSize(**size))


def _numbers(file: Path, method: str, values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or len(values) != NUMBERS:
        raise InputError(f"{file}: the published numbers of {method} must be a list of {NUMBERS}.")
    return tuple(float(value) for value in values)
