"""Models that come with the package, so that dx2px answers before anything is trained."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from dx2px.errors import InputError

DEFAULT = "nhds2010"


def shipped_models() -> dict[str, Path]:
    """The folders of the models in this package, by name."""
    home = Path(str(files("dx2px"))) / "shipped"
    return {folder.name: folder for folder in sorted(home.iterdir())} if home.is_dir() else {}


def model_path(name: str | os.PathLike[str] | None = None) -> Path:
    """A model folder: one's own by its path, one of the package's by its name, the package's default by nothing."""
    found = shipped_models()
    if name is None:
        if DEFAULT not in found:
            raise InputError(
                "This installation holds no model: name one with --model; `dx2px train` makes one."
            )
        return found[DEFAULT]
    path = Path(name)
    return path if path.exists() else found.get(os.fspath(name), path)
