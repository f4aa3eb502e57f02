"""A small model with planted vectors behind the service, in process, and a stand-in for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dx2px.scoring.calibration import Calibration
from dx2px.scoring.folder import ModelFiles, write_folder
from dx2px.service import ServiceConfig, create_app
from dx2px.service.served import Served
from synthetic_models import SIGMOID, planted_files

MEASURED = {
    "stays": 20,
    "top": {"1": {"recall": 12.5, "precision": 42.0, "f1": 17.3}},
    "calibration": {"stays": 20},
}


def planted(card: str = "# Planted\n", calibration: Calibration | None = SIGMOID) -> ModelFiles:
    settings = {"model": {"dim": 4, "pooling": "mean"}}
    return planted_files(
        "e+pooling", settings=settings, card=card, calibration=calibration, measured=MEASURED
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


@pytest.fixture(scope="session")
def knowing_served(evidence_folder: Path) -> Served:
    return Served.load(evidence_folder)


@pytest.fixture
def knowing(knowing_served: Served, page_folder: Path) -> Iterator[TestClient]:
    """A client to a service whose model takes more than diagnoses."""
    app = create_app(knowing_served, ServiceConfig(page=page_folder))
    client = TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)
    yield client
    client.close()


@pytest.fixture
def client(connect: Callable[..., TestClient]) -> TestClient:
    return connect()
