"""Models that come with the package, so that dx2px can answer before anything is trained."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from dx2px.errors import InputError

DEFAULT = "nhds2010"


def shipped_models() -> dict[str, Path]:
    """The folder of each model in this package, by name."""
    home = Path(str(files("dx2px"))) / "shipped"
    return {folder.name: folder for folder in sorted(home.iterdir())} if home.is_dir() else {}


def model_path(name: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a model: the path of one's own, or the name of one in the package; the default one if None.

    A path wins over a name.
    """
    found = shipped_models()
    if name is None:
        if DEFAULT not in found:
            raise InputError(
                "There is no model in this installation: name one with --model; `dx2px train` makes one."
            )
        return found[DEFAULT]
    path = Path(name)
    return path if path.exists() else found.get(os.fspath(name), path)
