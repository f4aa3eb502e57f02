"""A small model with planted vectors, whose answers are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from dx2px.answers import Model
from dx2px.scoring.folder import write_folder
from synthetic_models import planted_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "model", planted_files("e+sa+ma"))
    return tmp_path / "model"


@pytest.fixture
def model(folder: Path) -> Model:
    return Model.load(folder)
