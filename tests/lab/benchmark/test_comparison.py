"""Paired comparisons: all twelve cells, intervals that a second route confirms, verdicts that count them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dx2px.lab.benchmark import BenchmarkConfig, Job, compare, plan, rows_of, verdicts
from dx2px.lab.benchmark.comparison import CELLS, Comparison, _resampled_means
from dx2px.lab.benchmark.comparison_tables import comparisons_markdown
from dx2px.lab.benchmark.runs import run_job
from dx2px.lab.benchmark.settings import configured
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.scoring.methods import declared

METHODS = ("popularity", "cooccurrence")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[Job]:
    folder = tmp_path_factory.mktemp("out")
    generate(SyntheticConfig(stays=600))[0].save(folder / "tiny.parquet")
    jobs = plan([folder / "tiny.parquet"], BenchmarkConfig(METHODS, folds=4, run_folds=2), folder)
    for job in jobs:
        run_job(job, threads=1)
    jobs[0].store.add_pending()
    return jobs


def test_differences_are_those_of_the_table_in_every_cell(finished: list[Job]) -> None:
    found = compare(finished, "cooccurrence")
    assert [(c.other, c.folds, c.top, c.metric) for c in found] == [
        ("popularity", 2, *cell) for cell in CELLS
    ]
    rows = {row.method: row for row in rows_of(finished)}
    for c in found:
        cell = (str(c.top), c.metric)
        expected = rows["cooccurrence"].cells[cell].mean - rows["popularity"].cells[cell].mean
        assert c.difference == pytest.approx(expected)
        assert c.low < c.difference < c.high


def test_co_occurrence_beats_popularity_beyond_doubt(finished: list[Job]) -> None:
    found = compare(finished, "cooccurrence")
    assert {c.verdict for c in found if c.top == 5} == {"cooccurrence"}
    [one] = verdicts(found)
    assert (one.other, one.cells, one.ahead, one.below) == ("popularity", 12, 12, 0)
    assert one.above == sum(c.low > 0 for c in found)


def test_the_view_from_the_other_side_is_its_mirror(finished: list[Job]) -> None:
    mine, theirs = compare(finished, "cooccurrence"), compare(finished, "popularity")
    for one, other in zip(mine, theirs, strict=True):
        assert (one.difference, one.low, one.high) == pytest.approx(
            (-other.difference, -other.high, -other.low)
        )
    [one] = verdicts(theirs)
    assert (one.ahead, one.above) == (0, 0)
    assert one.below == sum(c.high < 0 for c in theirs)


def test_a_method_against_itself_is_undecided(finished: list[Job], tmp_path: Path) -> None:
    """Two names, the same hits: the interval is exactly zero, and no method is called better."""
    twin = [job for job in finished if job.method == "popularity"]
    renamed = [replace(job, declaration=declared("linear"), folder=tmp_path) for job in twin]
    for job, other in zip(twin, renamed, strict=True):
        kept, hits = job.result(), job.hits()
        assert kept is not None
        assert hits is not None
        other.store.leave(kept | {"key": other.key, "settings": configured("linear", {}, 0, 11)}, hits)
    renamed[0].store.add_pending()
    found = compare([*twin, *renamed], "popularity")
    assert len(found) == 12
    assert all((c.difference, c.low, c.high, c.verdict) == (0, 0, 0, "undecided") for c in found)
    [one] = verdicts(found)
    assert (one.ahead, one.above, one.below) == (0, 0, 0)


def test_intervals_agree_with_the_normal_approximation() -> None:
    values = np.random.default_rng(0).standard_normal((4000, 3)) * [1.0, 5.0, 20.0] + 2.0
    low, high = np.quantile(_resampled_means(values, 0), [0.05, 0.95], axis=0)
    error = values.std(axis=0) / 4000**0.5
    np.testing.assert_allclose(values.mean(axis=0) - low, 1.645 * error, rtol=0.08)
    np.testing.assert_allclose(high - values.mean(axis=0), 1.645 * error, rtol=0.08)


def test_the_documents_show_every_cell() -> None:
    cells = [Comparison("c", "a", "b", 10, top, metric, 1.25, -0.5, 3.0) for top, metric in CELLS]
    whole = comparisons_markdown(cells)
    assert whole.count("+1.25 (-0.50 … +3.00)") == 12
    assert "| c | a | b | 10 | 12 of 12 | 0 of 12 | 0 of 12 |" in whole
    assert "| c | a | b | 10 | recall |" in whole
