"""An experiment as data: a TOML file with the recipe of a benchmark and the numbers published for it, or of a model."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dx2px.errors import InputError
from dx2px.evaluation.benchmark import BenchmarkConfig

NUMBERS = 12  # recall, precision, F1 of the top 1, 3, 5, 10


@dataclass(frozen=True)
class Recipe:
    """A benchmark's settings, and the published numbers of each method, in the order of the paper's Table 1.

    Where `source` is given, the numbers are of stays from there and belong beside no others.
    """

    name: str
    config: BenchmarkConfig
    published: dict[str, tuple[float, ...]]
    source: str | None = None

    def beside(self, cohorts: Mapping[str, str]) -> dict[tuple[str, str], tuple[float, ...]]:
        """The published numbers by cohort and method, for those cohorts (name → source) that they are of."""
        fitting = [name for name, source in cohorts.items() if self.source in (None, source)]
        return {(name, method): row for name in fitting for method, row in self.published.items()}


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe; what is wrong with it is said in one sentence."""
    file = Path(path)
    record = record_of(file)
    settings = record.get("benchmark", {})
    published = {name: _numbers(file, name, values) for name, values in record.get("published", {}).items()}
    try:
        if "methods" in settings:
            settings["methods"] = tuple(settings["methods"])
        return Recipe(record["name"], BenchmarkConfig(**settings), published, record.get("source"))
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} is not a recipe: {error}.") from None


def training_options(path: str | os.PathLike[str], known: Collection[str]) -> dict[str, Any]:
    """The `[train]` table of a recipe: options of `dx2px train` by their names in Python."""
    file = Path(path)
    options = record_of(file).get("train")
    if not isinstance(options, dict):
        raise InputError(f"{file} has no table [train].")
    if strangers := sorted(options.keys() - set(known)):
        raise InputError(f"{file}: `dx2px train` has no option {', '.join(strangers)}.")
    return options


def card_notes(path: str | os.PathLike[str]) -> str:
    """What a recipe wants its model's card to say first; nothing where it has no table [card]."""
    notes = record_of(Path(path)).get("card", {}).get("notes", "")
    return str(notes).strip()


def record_of(file: Path) -> dict[str, Any]:
    """What a TOML file holds."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no recipe {file}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not a TOML file: {error}.") from None


def _numbers(file: Path, method: str, values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or len(values) != NUMBERS:
        raise InputError(f"{file}: the published numbers of {method} must be a list of {NUMBERS}.")
    return tuple(float(value) for value in values)
