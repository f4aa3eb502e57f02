"""`dx2px explain`: the same document from Python, the command line and HTTP; files of every kind; plain refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pyarrow as pa
import pytest

from command_line import dx2px
from dx2px.answers import Model, explanation_schema
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.folder import ModelFiles, write_folder
from dx2px.scoring.methods import METHODS

DIAGNOSES = ("icd9cm:25000", "icd9cm:25001", "icd9cm:4280", "icd9cm:4289", "icd9cm:5856")
PROCEDURES = ("icd9pcs:3722", "icd9pcs:3893", "icd9pcs:3995", "icd9pcs:9904")
QUESTIONS: list[dict[str, Any]] = [
    {"diagnoses": ["428.0", "585.6"]},
    {
        "diagnoses": ["428.0", "I50.9", "250.90", "hello"],
        "map": True,
        "procedures": ["39.95", "37.22", "99.99"],
    },
    {"diagnoses": ["428.0", "585.6"], "top": 2, "plan": "transport"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the default method with arrays of any numbers."""
    rng = np.random.default_rng(0)
    lengths = {"diagnosis": len(DIAGNOSES), "procedure": len(PROCEDURES)}
    layout = METHODS["coupling"].arrays
    shapes = {name: tuple(lengths.get(axis, 6) for axis in axes) for name, axes in layout.items()}
    line = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
    coverages, thresholds = np.array([0.5, 0.9]), np.array([0.9, 0.6])
    files = ModelFiles(
        method="coupling",
        settings={},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays={name: np.asarray(rng.normal(size=shape), np.float32) for name, shape in shapes.items()},
        history=pa.table({"epoch": [1]}),
        card="# Drawn\n",
        calibration=Calibration(False, line, np.array([1.0, 0, 0, 0]), line, coverages, thresholds),
    )
    path = tmp_path_factory.mktemp("explain") / "model"
    write_folder(path, files)
    return path


def words(question: dict[str, Any]) -> list[str]:
    options = [f"--{name}={question[name]}" for name in ("top", "plan") if name in question]
    options += ["--procedures", ",".join(question["procedures"])] if "procedures" in question else []
    return [*question["diagnoses"], *options, *(["--map"] if question.get("map") else [])]


@pytest.mark.parametrize("question", QUESTIONS)
def test_python_command_line_and_http_give_the_same_document(
    folder: Path, tmp_path: Path, question: dict[str, Any]
) -> None:
    testclient = pytest.importorskip("starlette.testclient", reason="the service is not installed")
    from dx2px.service import ServiceConfig, create_app
    from dx2px.service.served import Served

    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    app = create_app(Served.load(folder), ServiceConfig(page=tmp_path))
    client = testclient.TestClient(app, base_url="http://localhost:8000")
    answered = client.post("/api/explain", json=question)
    client.close()
    assert answered.status_code == 200
    asked = {name: value for name, value in question.items() if name != "diagnoses"}
    called = json.loads(json.dumps(Model.load(folder).explain(question["diagnoses"], **asked).to_dict()))
    saved = tmp_path / "e.json"
    printed = dx2px("explain", "--model", folder, *words(question), "--json", "--out", saved)
    assert printed.returncode == 0, printed.stderr
    assert answered.json() == called == json.loads(printed.stdout) == json.loads(saved.read_text())
    assert jsonschema_rs.is_valid(explanation_schema(), called)


@pytest.mark.parametrize(
    ("name", "theme", "part"),
    [("e.png", "light", b"\x89PNG"), ("e.svg", "dark", b"#181f26"), ("e.html", "dark", b"light-dark(")],
)
def test_figures_are_written_and_nothing_is_printed(
    folder: Path, tmp_path: Path, name: str, theme: str, part: bytes
) -> None:
    done = dx2px("explain", "--model", folder, "428.0", "5856", "--out", tmp_path / name, "--theme", theme)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "not medical advice" in done.stderr
    assert part in (tmp_path / name).read_bytes()


def test_the_plan_shown_is_named_with_its_measured_faithfulness(folder: Path) -> None:
    own = dx2px("explain", "--model", folder, "428.0", "585.6", "--procedures", "39.95,37.22")
    assert "(coupling; " in own.stdout
    assert "Hemodialysis" in own.stdout
    assert "93.4, 97.1, 97.5 %" in own.stderr
    paper = dx2px("explain", "--model", folder, "428.0", "585.6", "--plan", "transport")
    assert "(transport; " in paper.stdout
    assert "67.0, 66.1, 47.7 %" in paper.stderr
    assert "were not measured" in paper.stderr


def test_what_cannot_be_explained_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "e.png"
    done = dx2px("explain", "--model", folder, "hello", "V99", "--out", out)
    assert done.returncode == 1
    assert done.stderr.startswith("dx2px: The model knows none of these diagnoses: hello, ")
    assert "V99" in done.stderr
    assert "icd10cm" not in done.stderr
    assert not out.exists()
    assert dx2px("explain", "--model", folder, "428.0", "--out", tmp_path / "e.gif").returncode == 1
    assert dx2px("explain", "--model", folder, "428.0", "--plan", "other").returncode == 2
