"""The reliability plot shows the bins where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dx2px import InputError
from dx2px.report import reliability
from dx2px.scoring.per_procedure import PerProcedure
from dx2px.scoring.reliability import Agreement, Coverage, Reliability

BINS = Agreement(np.array([0.01, 0.1, 0.5]), np.array([0.0, 0.12, 0.45]), np.array([9, 9, 9]), slope=0.97)
TOP = Agreement(np.array([0.2, 0.6]), np.array([0.25, 0.55]), np.array([5, 5]), slope=None)
NOTHING = PerProcedure(1.0, 0.5, (), None, None, None, 0)
TRUST = Reliability(1234, BINS, TOP, (Coverage(0.9, 0.91, 4.5),), NOTHING)


@pytest.mark.parametrize(("name", "start"), [("r.png", b"\x89PNG"), ("r.svg", b"<?xml"), ("r.pdf", b"%PDF")])
def test_formats(tmp_path: Path, name: str, start: bytes) -> None:
    reliability.save_reliability(TRUST, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_points_are_the_bins_in_which_something_was_coded(monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    monkeypatch.setattr(reliability, "save_figure", lambda figure, path: figures.append(figure))
    reliability.save_reliability(TRUST, "r.png")
    everyone, top, diagonal = figures[0].axes[0].get_lines()
    assert everyone.get_xydata().tolist() == [[0.1, 0.12], [0.5, 0.45]]
    assert top.get_xydata().tolist() == [[0.2, 0.25], [0.6, 0.55]]
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    assert "slope 0.97" in everyone.get_label()
    assert "slope" not in top.get_label()


def test_nothing_coded_makes_a_plot_too(tmp_path: Path) -> None:
    none = Agreement(np.array([0.01, 0.1]), np.zeros(2), np.array([9, 9]), slope=None)
    reliability.save_reliability(Reliability(9, none, none, (), NOTHING), tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png"):
        reliability.save_reliability(TRUST, tmp_path / "r.gif")
