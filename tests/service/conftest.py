"""A small model with planted vectors behind the service, in process, and a stand-in for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from dx2px.model.calibration import Calibration, Curve
from dx2px.model.folder import ModelFiles, write_folder
from dx2px.service import ServiceConfig, create_app
from dx2px.service.served import Served

DIAGNOSES = ("icd10cm:E030", "icd9cm:0389", "icd9cm:25000", "icd9cm:4280", "icd9cm:E030")
PROCEDURES = ("icd9pcs:0017", "icd9pcs:0389", "icd9pcs:3722", "icd9pcs:3995")
# 4280 goes with 3722 and a little with 0017, 25000 with 3995, 0389 with 0389; the two E030 with nothing.
U = [[0, 0, 0, 0], [0, 0, 0, 3], [0, 3, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0]]
V = [[0, 0, 2, 0], [0, 0, 0, 2], [2, 0, 0, 0], [0, 2, 0, 0]]
# Leaves scores as they are, so that probabilities are sigmoids.
_IDENTITY = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    centred=False,
    first=_IDENTITY,
    weights=np.array([1.0, 0.0, 0.0, 0.0]),
    second=_IDENTITY,
    coverages=np.array([0.5, 0.9]),
    thresholds=np.array([0.9, 0.6]),
)
CARD = "# Planted\n\n| top | recall % | precision % | F1 % |\n|---|---|---|---|\n| 1 | 12.5 | 42.0 | 17.3 |\n"


def planted(card: str = CARD, calibration: Calibration | None = SIGMOID) -> ModelFiles:
    arrays = {"U": np.array(U, np.float32), "V": np.array(V, np.float32)}
    return ModelFiles(
        method="e+pooling",
        settings={"model": {"dim": 4, "pooling": "mean"}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card=card,
        calibration=calibration,
    )


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "model"
    write_folder(path, planted())
    return path


@pytest.fixture
def write_planted() -> Callable[[Path, str], None]:
    """Writes the planted model with a card of one's own."""
    return lambda path, card: write_folder(path, planted(card))


@pytest.fixture(scope="session")
def uncalibrated(tmp_path_factory: pytest.TempPathFactory) -> Served:
    path = tmp_path_factory.mktemp("uncalibrated") / "model"
    write_folder(path, planted(calibration=None))
    return Served.load(path)


@pytest.fixture(scope="session")
def served(model_folder: Path) -> Served:
    return Served.load(model_folder)


@pytest.fixture(scope="session")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "style.css").write_text("body { color: black }")
    (folder / "app.js").write_text("export {};")
    (folder / "notes.txt").write_text("not for browsers")
    (folder.parent / "secret.css").write_text("secret")
    return folder


@pytest.fixture
def connect(served: Served, page_folder: Path) -> Iterator[Callable[..., TestClient]]:
    """Opens a client to a service of its own, with settings."""
    opened: list[TestClient] = []

    def open_client(**settings: Any) -> TestClient:
        app = create_app(served, ServiceConfig(**({"page": page_folder} | settings)))
        opened.append(TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture
def client(connect: Callable[..., TestClient]) -> TestClient:
    return connect()
