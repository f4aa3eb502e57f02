"""Groups of stays: by hand, and nothing below eleven to be read or worked out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dx2px.cohort import Cohort
from dx2px.scoring.metrics import Metrics
from dx2px.scoring.subgroups import publishable, subgroups


def measured(context: pa.Table | None, hits: list[int]) -> tuple[Metrics, Cohort]:
    """Stays with one procedure each, hit or missed in the top 5 and 10."""
    n = len(hits)
    cohort = Cohort.from_lists([["icd9cm:4280"]] * n, [["icd9pcs:3893"]] * n)
    cohort = Cohort(**{**cohort.__dict__, "context": context}) if context is not None else cohort
    found = np.repeat(np.array(hits)[:, None], 2, axis=1)
    return Metrics((5, 10), found, np.tile([5, 10], (n, 1)), np.ones(n, np.int64)), cohort


def test_each_group_has_its_own_mean() -> None:
    context = pa.table({"sex": ["F"] * 20 + ["M"] * 20, "age": [0] * 20 + [17] * 10 + [85] * 10})
    found = {(one.column, one.group): one for one in subgroups(*measured(context, [1] * 20 + [0] * 20))}
    assert found["sex", "F"].f1 == pytest.approx(100 * 2 / 6)
    assert found["sex", "F"].f1_margin == 0.0
    assert found["sex", "M"].recall == 0.0
    assert found["age", "under 1"].stays == 20
    assert found.keys() == {
        ("sex", "F"),
        ("sex", "M"),
        ("age", "under 1"),
    }  # ten stays are too few to tell of


def test_a_single_small_group_takes_the_next_smallest_with_it() -> None:
    context = pa.table({"region": ["West"] * 5 + ["South"] * 15 + ["Midwest"] * 30 + [None] * 20})
    groups = [one.group for one in subgroups(*measured(context, [1] * 70))]
    assert groups == ["Midwest", "unknown"]


def test_the_interval_covers_the_spread_and_repeats() -> None:
    context = pa.table({"sex": ["F"] * 400})
    metrics, cohort = measured(context, [0, 1] * 200)
    one = subgroups(metrics, cohort)[0]
    expected = 1.645 * 100 * 2 / 6 * 0.5 / 20
    assert one.f1_margin == pytest.approx(expected, rel=0.25)
    assert subgroups(metrics, cohort) == subgroups(metrics, cohort)


def test_principal_diagnoses_and_columns_of_nulls_make_no_groups() -> None:
    context = pa.table(
        {"principal": ["icd9cm:4280"] * 20, "sex": pa.nulls(20, pa.string()), "age": [50] * 20}
    )
    assert [one.column for one in subgroups(*measured(context, [1] * 20))] == ["age"]


def test_without_context_there_are_no_groups_and_small_counts_are_hidden() -> None:
    assert subgroups(*measured(None, [1] * 20)) == []
    assert publishable(np.array([0, 1, 10, 11, 500])) == [0, 11, 11, 11, 500]
