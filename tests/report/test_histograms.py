"""The histogram figure is drawn, in each format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dx2px import Cohort, InputError, describe
from dx2px.report.histograms import save_histograms

COHORT = Cohort.from_lists(
    [["icd9cm:4280"], ["icd9cm:4280", "icd9cm:0389"]], [["icd9pcs:3995"], ["icd9pcs:3995", "icd9pcs:3893"]]
)


@pytest.mark.parametrize(("name", "start"), [("h.png", b"\x89PNG"), ("h.svg", b"<?xml"), ("h.PDF", b"%PDF")])
def test_formats(tmp_path: Path, name: str, start: bytes) -> None:
    save_histograms(describe(COHORT), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_both_kinds_are_seen(tmp_path: Path) -> None:
    from matplotlib.image import imread

    save_histograms(describe(COHORT), tmp_path / "h.png")
    pixels = imread(tmp_path / "h.png")[..., :3]
    for colour in ("#0072B2", "#E69F00"):
        rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        assert (np.abs(pixels - rgb).max(axis=-1) < 0.01).sum() > 500


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        save_histograms(describe(COHORT), tmp_path / "h.gif")
