"""The tables and figures of a study, from a record made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dx2px.lab.faithfulness.figures import save_figures
from dx2px.lab.faithfulness.markdown import markdown


def interval(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.01, "high": value + 0.01}


def model(family: str, own: str, seed: int = 0) -> dict[str, Any]:
    values = {own: 0.9, "leave-one-out": 1.0, "lift": 0.8, "random": 0.1, "significance": 0.4}
    planted = {
        name: {
            "accuracy": interval(v),
            "of_posterior": interval(v),
            "over_lift": None,
            "roc": interval(v),
            "pr": interval(v),
        }
        for name, v in {**values, "posterior": 0.95}.items()
    }
    curve = {"comprehensiveness": [0.5, 0.9, 1.2, 1.4], "sufficiency": [0.3, 0.1, 0.0, -0.1]}
    record = {
        "method": family.partition(" ")[0],
        "family": family,
        "seed": seed,
        "fold": 0,
        "accuracy": {f"f1@{L}": 40.0 for L in (1, 3, 5, 10)},
        "planted": planted,
        "causes_first": {"significance": {"ahead": interval(0.9), "first": interval(0.8)}},
        "deletion": {
            "coded": {name: {"fall": interval(v), "of_best": interval(v)} for name, v in values.items()}
        },
        "curves": {"coded": dict.fromkeys(values, curve)},
    }
    if own == "plan":
        overlap = {"first": 0.9, "variation": 0.1}
        grid = [(beta, steps) for beta in (0.05, 0.5, 5.0) for steps in (1, 10)]
        record["plan_settings"] = [
            {"beta": b, "steps": s, "overlap": overlap, "accuracy": 0.7} for b, s in grid
        ]
        record["penalties"] = [
            {"diagnosis_penalty": None, "entropy": 0.0, "accuracy": 0.7},
            {"diagnosis_penalty": 0.0, "entropy": 0.05, "accuracy": 0.9},
        ]
    return record


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The figures of the whole record."""
    return save_figures(whole(), tmp_path_factory.mktemp("figures"))


@pytest.fixture
def record() -> dict[str, Any]:
    return whole()


def whole() -> dict[str, Any]:
    return {
        "scale": "log softmax of the scores over all procedures",
        "settings": {"level": 0.95, "resamples": 500},
        "cohort": {"asked": 2000, "asked_procedures": 4321},
        "models": {
            "a": model("coupling", "shares"),
            "b": model("coupling", "shares", 1),
            "c": model("e+sa+ma", "plan"),
            "d": model("e+sa+ma (penalties 0, exact)", "own plan"),
        },
        "stability": {
            "coupling": {
                "models": ["a", "b"],
                "significance": {"spearman": 0.92, "kendall": 0.86, "first": 0.88},
                "overlap": {"shares": {"first": 0.9, "variation": 0.07}},
            }
        },
    }


def test_the_tables_hold_the_numbers_best_first(record) -> None:
    text = markdown(record)
    assert "2,000 stays with 4,321 procedures" in text
    assert "| posterior | 95.0 [94.0, 96.0] |" in text
    section = text[text.index("## Deletion, coded procedures: a") :]
    assert section.index("| leave-one-out |") < section.index("| shares |") < section.index("| random |")
    assert "Spearman 0.920" in text
    assert "| exact, no entropy | 0 | 70.0 |" in text
    for line in text.splitlines():
        assert not line.startswith("| ") or line.endswith(" |")


def test_every_figure_is_drawn_twice_and_is_the_same_each_time(record, drawn, tmp_path: Path) -> None:
    names = {"planted", "deletion", "curves", "stability", "plan-steps"}
    assert {path.name for path in drawn} == {f"{n}{e}" for n in names for e in (".png", ".svg")}
    for one, other in zip(drawn, save_figures(record, tmp_path), strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


def test_labels_are_not_cut_off(drawn) -> None:
    """Nothing dark touches the border of a figure."""
    from matplotlib.image import imread

    for path in drawn:
        if path.suffix == ".png":
            image = imread(path)[:, :, :3].mean(axis=2)
            edges = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
            assert edges.min() > 0.99, path.name
            assert image.min() < 0.3


def test_without_truth_or_other_models_the_rest_is_still_there(record, tmp_path: Path) -> None:
    one = record["models"]["a"]
    for name in ("planted", "causes_first"):
        one.pop(name)
    alone = record | {"models": {"a": one}, "stability": {}}
    assert "Planted" not in markdown(alone)
    assert {path.stem for path in save_figures(alone, tmp_path)} == {"deletion", "curves"}
