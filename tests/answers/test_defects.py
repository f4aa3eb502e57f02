"""Strengths of findings are Bayes' rule: shown by counting simulated mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.answers.defects import (
    AuditSettings,
    missing_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.errors import InputError

DRAWS = 400_000


@pytest.mark.parametrize(("P", "omitted"), [(0.9, 0.05), (0.5, 0.3), (0.02, 0.5)])
def test_missing_strength_is_the_share_of_absent_procedures_that_were_left_out(
    P: float, omitted: float
) -> None:
    rng = np.random.default_rng(0)
    belongs, forgotten = rng.random(DRAWS) < P, rng.random(DRAWS) < omitted
    absent = ~belongs | forgotten
    left_out = (belongs & forgotten).sum() / absent.sum()
    # Here P is the probability that a procedure belongs to the stay, coded or forgotten.
    assert missing_strength(np.array([P]), omitted)[0] == pytest.approx(left_out, abs=0.01)


@pytest.mark.parametrize(("P", "share", "wrong"), [(0.01, 0.2, 0.05), (0.3, 0.5, 0.4), (0.001, 0.01, 0.5)])
def test_unsupported_strength_is_the_share_of_coded_procedures_that_are_wrong(
    P: float, share: float, wrong: float
) -> None:
    rng = np.random.default_rng(1)
    belongs, added = rng.random(DRAWS) < P, rng.random(DRAWS) < wrong * share
    mistaken = (added & ~belongs).sum() / (added | belongs).sum()
    assert unsupported_strength(np.array([P]), np.array([share]), wrong)[0] == pytest.approx(
        mistaken, abs=0.03
    )


def test_strengths_order_findings_by_probability() -> None:
    P = np.linspace(0.001, 0.999, 50)
    assert (np.diff(missing_strength(P, 0.05)) > 0).all()
    assert (np.diff(unsupported_strength(P, np.full(50, 0.02), 0.05)) < 0).all()


def test_wrong_shares_sum_to_one_and_follow_the_counts() -> None:
    shares = wrong_shares([0, 100, 10_000], 3)
    assert shares.sum() == pytest.approx(1)
    assert (np.diff(shares) > 0).all()
    assert shares.min() > 0.25 / 3
    assert wrong_shares(None, 4).tolist() == [0.25] * 4


@pytest.mark.parametrize(
    "wrong", [{"precision": 0.0}, {"precision": 1.0}, {"wrong": -1.0}, {"omitted": float("nan")}]
)
def test_settings_are_shares(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"The setting {next(iter(wrong))} must lie between 0 and 1"):
        AuditSettings(**wrong)
