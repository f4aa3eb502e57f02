"""A training run as data: a TOML file with options of `dx2px train` and an introduction for the model card."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from dx2px.errors import InputError


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
    """The introduction of the model card; empty if the recipe has no table [card]."""
    notes = record_of(Path(path)).get("card", {}).get("notes", "")
    return str(notes).strip()


def record_of(file: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no recipe {file}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not a TOML file: {error}.") from None
