"""What docs/paper.md says of the paper's Table 1 follows from its figures and from the kept runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dx2px.lab.blocks import blocks_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def study() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "studies"))
        return importlib.import_module("paper_table")


@pytest.fixture(scope="module")
def fits(study: ModuleType) -> ModuleType:
    return importlib.import_module("codes_per_stay")  # loaded by the study


def test_the_page_says_what_the_study_makes(study: ModuleType) -> None:
    """Where this fails: python studies/paper_table.py --write docs/paper.md."""
    made = {name: text.rstrip() + "\n" for name, text in study.blocks().items()}
    assert blocks_of((ROOT / "docs" / "paper.md").read_text(encoding="utf-8")) == made


def test_hit_rates_by_rank_are_those_of_the_ranks_themselves(study: ModuleType) -> None:
    hits = np.random.default_rng(0).random((200, 10)) < np.linspace(0.6, 0.1, 10)  # stays × ranks
    cells = {(L, "precision"): 100 * hits[:, : int(L)].mean() for L in ("1", "3", "5", "10")}
    by_rank = 100 * hits.mean(0)
    assert study.hit_rates(cells) == pytest.approx(
        {
            "1": by_rank[0],
            "2–3": by_rank[1:3].mean(),
            "4–5": by_rank[3:5].mean(),
            "6–10": by_rank[5:].mean(),
        }
    )


def test_a_rise_must_exceed_what_rounding_can_make(study: ModuleType) -> None:
    """The two that the page quotes, and one that rounding to 0.1 explains."""
    pooling, full = study.published("medium")["e+pooling"], study.published("large")["e+sa+ma"]
    assert study.hit_rates(pooling)["1"] == 35.4
    assert study.hit_rates(pooling)["2–3"] == pytest.approx(41.85)
    assert study.rises(study.hit_rates(pooling)) == ["2–3"]
    assert study.rises(study.hit_rates(full)) == ["4–5"]
    gwl = study.hit_rates(study.published("large")["gwl"])
    assert gwl["4–5"] > gwl["2–3"]
    assert study.rises(gwl) == []
    assert study.rises(gwl, rounded=False) == ["4–5"]


def test_mean_f1_stays_below_the_harmonic_mean_of_the_means(study: ModuleType) -> None:
    rng = np.random.default_rng(1)
    coded, hits = rng.integers(1, 9, 500), rng.random(500) < 0.4
    precision, recall = hits.astype(float), hits / coded
    f1 = 2 * hits / (1 + coded)
    cells = {("1", n): 100 * v.mean() for n, v in (("precision", precision), ("recall", recall), ("f1", f1))}
    assert study.nearness(cells, "1") < 1
    same = {
        ("1", "precision"): 40.0,
        ("1", "recall"): 10.0,
        ("1", "f1"): 16.0,
    }  # four procedures in every stay
    assert study.nearness(same, "1") == pytest.approx(1)


def negative_binomial(r: float, q: float, length: int) -> np.ndarray:
    """Probabilities of 0, 1, …, by their recursion."""
    p = [(1 - q) ** r]
    for n in range(1, length):
        p.append(p[-1] * q * (n - 1 + r) / n)
    return np.array(p)


@pytest.mark.parametrize(("r", "q"), [(1.0, 0.5), (3.0, 0.4), (0.5, 0.7)])
@pytest.mark.parametrize("most", [None, 8])
def test_an_exact_histogram_gives_its_own_parameters(
    fits: ModuleType, r: float, q: float, most: int | None
) -> None:
    """Also where a source records at most eight codes, so that the last place holds all above."""
    shares = negative_binomial(r, q, 200)
    if most is not None:
        shares = np.append(shares[: most - 1], shares[most - 1 :].sum())
    found = fits.exponential([0, *(1e6 * shares)], most)
    assert found.shape == pytest.approx(r, rel=1e-3)
    assert found.ratios[:2] == pytest.approx([q * r, q * (r + 1) / 2])
    if r == 1:
        assert found.ratio == pytest.approx(q, rel=1e-4)
        assert found.misplaced < 1e-4
        assert found.statistic < 0.01
    else:
        assert found.misplaced > 0.03
        assert found.statistic > 1000


def test_the_distance_of_two_histograms_is_the_share_that_moves(fits: ModuleType) -> None:
    assert fits.distance([0, 1, 1], [0, 3, 3]) == 0
    assert fits.distance([0, 4], [0, 1, 1, 2]) == pytest.approx(0.75)
