"""Charts: heights in proportion, round ticks, and histograms whose bars all may be told."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.report.page.charts import (
    Bar,
    Line,
    bar_cell,
    curves,
    histogram,
    log_scatter,
    nice_top,
    share_cell,
    ticks,
)
from dx2px.report.page.cohort import pooled


def elements(svg: str, tag: str) -> list[dict[str, str]]:
    return [dict(one.attrib) for one in ElementTree.fromstring(svg).iter(tag)]


def test_columns_are_as_high_as_their_numbers() -> None:
    bars = elements(
        histogram([Bar("1", 10, "a"), Bar("2", 40, "b"), Bar("3", 0, "c")], "codes", "stays"), "rect"
    )
    heights = [float(one["height"]) for one in bars]
    assert heights[1] == pytest.approx(4 * heights[0])
    assert heights[2] == 0
    assert [float(one["y"]) + float(one["height"]) for one in bars] == pytest.approx([210.0] * 3)


def test_counts_have_whole_ticks() -> None:
    chart = histogram([Bar("1", 2, "a"), Bar("2", 1, "b")], "codes", "stays")
    texts = [one.text for one in ElementTree.fromstring(chart).iter("text") if one.get("class") == "end"]
    assert texts == ["0", "1", "2"]


def test_curves_pass_through_their_points_and_carry_their_names() -> None:
    svg = curves([Line("loss", [1, 2, 3], [4.0, 2.0, 1.0])], "epoch", "loss")
    points = [tuple(map(float, p.split(","))) for p in elements(svg, "polyline")[0]["points"].split()]
    assert points[0][1] < points[1][1] < points[2][1]  # falling losses go down the page
    slope = [(b[1] - a[1]) for a, b in pairwise(points)]
    assert slope[0] == pytest.approx(2 * slope[1], abs=0.2)
    assert ">loss</text>" in svg


def test_equal_shares_stand_on_the_line_of_equality() -> None:
    svg = log_scatter([Line("all", [0.001, 0.03, 0.4], [0.001, 0.03, 0.4])], "given", "coded")
    line = next(one for one in elements(svg, "line") if one.get("class") == "diagonal")
    x1, y1, x2, y2 = (float(line[name]) for name in ("x1", "y1", "x2", "y2"))
    for dot in elements(svg, "circle")[:3]:
        along = (float(dot["cx"]) - x1) / (x2 - x1)
        assert float(dot["cy"]) == pytest.approx(y1 + along * (y2 - y1), abs=0.01)


def test_bars_in_cells_are_shares_of_the_width() -> None:
    assert [one["width"] for one in elements(bar_cell(25, 50), "rect")] == ["100%", "50.00%"]
    assert [one["width"] for one in elements(share_cell(0.2, 0.1, 0.8, ""), "rect")] == ["80.00%", "20.00%"]
    ends = elements(bar_cell(98, 100, margin=5), "line")[0]
    assert (ends["x1"], ends["x2"]) == ("93.00%", "100.00%")


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in found)
    step = found[1] - found[0]
    leading = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(leading - nice) for nice in (1, 2, 5, 10)) < 1e-3 * max(1, abs(low) / span)


@given(st.floats(1e-6, 1e9))
def test_the_top_is_a_little_above_the_highest(high: float) -> None:
    assert high * (1 - 1e-9) <= nice_top(high) <= high * 1.5


@given(st.lists(st.integers(0, 40), max_size=30))
def test_pooled_bars_hold_all_stays_and_none_is_small(counts: list[int]) -> None:
    bars = pooled(counts)
    if sum(counts) < 11:
        assert bars == []
        return
    assert sum(stays for _, _, stays in bars) == sum(counts)
    assert all(stays >= 11 for _, _, stays in bars)
    assert all(low <= high for low, high, _ in bars)
    assert all(before[1] < after[0] for before, after in pairwise(bars))
    assert all(stays == sum(counts[low : high + 1]) for low, high, stays in bars)


def test_pooling_joins_the_tail() -> None:
    assert pooled([0, 50, 30, 11, 6, 3, 2]) == [(1, 1, 50), (2, 2, 30), (3, 3, 11), (4, 6, 11)]
    assert pooled([0, 4, 30]) == [(1, 2, 34)]


def test_charts_of_nothing_are_still_charts() -> None:
    for svg in (histogram([], "a", "b"), log_scatter([Line("all", [], [])], "a", "b")):
        assert re.match(r"<svg .*</svg>$", svg)
