"""Strengths of findings are Bayes' rule: shown by counting simulated mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.answers.defects import (
    EXPLAINING,
    KINDS,
    AuditSettings,
    diagnosis_strength,
    omitted_strength,
    swap_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.errors import InputError

DRAWS = 400_000


@pytest.mark.parametrize(("P", "omitted"), [(0.9, 0.05), (0.5, 0.3), (0.02, 0.5)])
def test_omitted_strength_is_the_share_of_absent_procedures_that_were_left_out(
    P: float, omitted: float
) -> None:
    rng = np.random.default_rng(0)
    belongs, forgotten = rng.random(DRAWS) < P, rng.random(DRAWS) < omitted
    absent = ~belongs | forgotten
    left_out = (belongs & forgotten).sum() / absent.sum()
    # Here P is the probability that a procedure belongs to the stay, coded or forgotten.
    assert omitted_strength(np.array([P]), omitted)[0] == pytest.approx(left_out, abs=0.01)


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


@pytest.mark.parametrize(("P", "Q", "others", "omitted"), [(0.4, 0.1, 2, 0.1), (0.3, 0.01, 1, 0.05)])
def test_swap_strength_is_the_share_of_coded_alternatives_that_stand_for_another(
    P: float, Q: float, others: int, omitted: float
) -> None:
    """Given the rest, a stay has one of the two, the other, or neither; here both at once cannot be."""
    rng = np.random.default_rng(2)
    odds = np.array([P / (1 - P), Q / (1 - Q), 1.0])
    truth = rng.choice(3, DRAWS, p=odds / odds.sum())
    swapped = (truth == 0) & (rng.random(DRAWS) < omitted) & (rng.integers(0, others, DRAWS) == 0)
    share = swapped.sum() / ((truth == 1) | swapped).sum()
    found = swap_strength(np.array([P]), np.array([Q]), np.array([others]), omitted)[0]
    assert found == pytest.approx(share, abs=0.01)


def test_a_procedure_that_nothing_explains_may_lack_a_diagnosis_or_be_wrong() -> None:
    never, w = np.array([0.0]), np.array([0.1])
    assert diagnosis_strength(never, w, 0.05, 0.05)[0] == pytest.approx(EXPLAINING / (EXPLAINING + 1))
    assert diagnosis_strength(never, w, 0.02, 0.06)[0] == pytest.approx(EXPLAINING / (EXPLAINING + 3))
    assert diagnosis_strength(np.array([1.0]), w, 0.05, 0.05)[0] == 0


def test_kinds_are_known_and_in_order() -> None:
    assert AuditSettings().kinds == ("unsupported", "omitted", "companion", "diagnosis")
    assert AuditSettings(kinds=("swap", "unsupported", "swap")).kinds == ("unsupported", "swap")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"no kind of finding 'missing'; choose from {', '.join(KINDS)}"):
        AuditSettings(kinds=("missing",))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="At least one kind"):
        AuditSettings(kinds=())


def test_strengths_order_findings_by_probability() -> None:
    P = np.linspace(0.001, 0.999, 50)
    assert (np.diff(omitted_strength(P, 0.05)) > 0).all()
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
