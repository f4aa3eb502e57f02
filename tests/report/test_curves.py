"""The curves of a training run: those that a method has."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dx2px.report.curves import F1, curve, epochs_of, loss_curves, save_curves

COUPLING = pa.table({"epoch": [1, 2], "loss_predictive": [7.0, 5.0], F1: [20.0, 40.0], "stays": [10, 10]})
PAPER = COUPLING.append_column("loss_transport", pa.array([0.5, 0.4]))
OLD = COUPLING.append_column("loss_transport", pa.array([0.0, 0.0]))  # older models have every column


@pytest.mark.parametrize(
    ("history", "names"),
    [
        (COUPLING, ["predictive loss"]),
        (PAPER, ["predictive loss", "transport loss"]),
        (OLD, ["predictive loss"]),
        (PAPER.slice(0, 0), []),
        (pa.table({"epoch": [1]}), []),
    ],
)
def test_a_method_has_its_own_losses(history: pa.Table, names: list[str], tmp_path: Path) -> None:
    assert list(loss_curves(history)) == names
    save_curves(history, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_has_a_number_in_every_epoch() -> None:
    assert curve(COUPLING, F1) == [20.0, 40.0]
    assert epochs_of(COUPLING) == [1.0, 2.0]
    assert curve(pa.table({"epoch": [1, 2], F1: [20.0, float("nan")]}), F1) is None
    assert curve(COUPLING, "loss_transport") is None


def test_axes_name_their_units(tmp_path: Path) -> None:
    save_curves(PAPER, tmp_path / "curves.svg")
    drawn = (tmp_path / "curves.svg").read_text()
    assert all(f"<!-- {name} -->" in drawn for name in ("epoch", "loss per stay", "F1@5 (per cent)"))
