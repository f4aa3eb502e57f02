"""The figure of shared chapters: a panel for each label, a row for each method, marks where the shares are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dx2px.errors import InputError
from dx2px.lab.neighbourhood_figure import save_neighbourhoods
from dx2px.report.neighbourhoods import BEYOND, Sharing


def one(kind: str, label: str, *share: float) -> Sharing:
    return Sharing(kind, label, 10, 0, (1, 5, 10), share, 0.1, (1.0, 1.0, 1.0))


def test_methods_labels_and_marks_are_drawn(tmp_path: Path) -> None:
    found = {
        "coupling": [one("diagnosis", "chapter", 0.9, 0.7, 0.5), one("procedure", BEYOND, 0.6, 0.5, 0.4)],
        "bpr": [one("diagnosis", "chapter", 0.4, 0.3, 0.2)],  # no procedures with a label
    }
    save_neighbourhoods(found, tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    for words in (
        "coupling",
        "bpr",
        "diagnoses: chapter",
        "procedures: chapter, category left out",
        "5 nearest",
    ):
        assert f"<!-- {words} -->" in text
    save_neighbourhoods(found, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "figure.svg").read_bytes()


def test_an_ending_that_is_no_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="A figure is saved as"):
        save_neighbourhoods({"x": [one("diagnosis", "chapter", 1, 1, 1)]}, tmp_path / "figure.doc")
