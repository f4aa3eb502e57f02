"""Shares of like neighbours: planted vectors, a count by hand, and a plain loop."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.errors import InputError
from dx2px.report.neighbourhoods import BEYOND, nearest, neighbourhoods, sharing


def test_planted_groups_are_found_whole() -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(4), 15, axis=0)
    found = sharing(centres + 0.05 * rng.standard_normal((60, 4)), np.repeat(list("abcd"), 15).tolist())
    assert found is not None
    assert found.share == (1.0, 1.0, 1.0)
    assert found.chance == pytest.approx(14 / 59)
    assert (found.codes, found.left_out) == (60, 0)


def test_labels_without_a_reason_share_as_chance_does() -> None:
    rng = np.random.default_rng(1)
    labels = rng.choice(list("abcde"), 1500).tolist()
    found = sharing(rng.standard_normal((1500, 12)), labels)
    assert found is not None
    assert found.share == pytest.approx((found.chance,) * 3, abs=0.03)


def test_four_codes_by_hand() -> None:
    """a and b point alike, c and d alike; a, c, d are of one label, b has no other of its own."""
    X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    found = sharing(X, ["x", "y", "x", "x"], at=(1, 2, 3))
    assert found is not None
    assert (found.codes, found.left_out) == (3, 1)
    # Nearest of a: b, d, c; of c: d, b, a; of d: c, b, a.
    assert found.share == pytest.approx(((0 + 1 + 1) / 3, (1 + 1 + 1) / 6, 6 / 9))
    assert found.chance == pytest.approx(2 / 3)
    assert found.possible == pytest.approx((1.0, 1.0, 2 / 3))


def test_a_plain_loop_counts_the_same() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 5))
    labels: list[str | None] = [None if n % 9 == 0 else str(n % 7) for n in range(80)]
    found = sharing(X, labels, at=(1, 4))
    kept = [n for n in range(80) if labels[n] is not None]
    shares = []
    for n in kept:
        cosines = {m: X[n] @ X[m] / np.linalg.norm(X[n]) / np.linalg.norm(X[m]) for m in kept if m != n}
        best = sorted(cosines, key=lambda m: -cosines[m])
        shares.append([np.mean([labels[m] == labels[n] for m in best[:k]]) for k in (1, 4)])
    assert found is not None
    assert found.share == pytest.approx(tuple(np.mean(shares, axis=0)))
    assert found.left_out == 80 - len(kept)


def test_lengths_of_vectors_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 6))
    labels = [str(n % 4) for n in range(50)]
    assert sharing(X, labels) == sharing(X * rng.uniform(0.1, 9, (50, 1)), labels)


def test_more_neighbours_than_codes_count_as_not_shared() -> None:
    found = sharing(np.eye(3), ["x", "x", "x"], at=(1, 10))
    assert found is not None
    assert found.share == found.possible == (1.0, 0.2)


def test_nobody_is_its_own_neighbour_even_among_equals() -> None:
    X = np.ones((5, 2))
    assert nearest(X, np.arange(5), 2).tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


def test_each_kind_is_asked_by_its_own_books() -> None:
    diagnoses = ["icd9cm:4280", "icd9cm:42820", "icd9cm:41401", "icd9cm:486"]
    procedures = ["icd9pcs:3722", "icd9pcs:3723", "icd9pcs:9671"]
    U, V = np.eye(4), np.array([[1.0, 0], [0.9, 0.1], [0, 1]])
    found = {(one.kind, one.label): one for one in neighbourhoods(diagnoses, U, procedures, V)}
    assert found.keys() == {
        *(("diagnosis", label) for label in ("chapter", "category", "CCS", BEYOND)),
        *(("procedure", label) for label in ("chapter", "category")),  # chapters of one category each
    }
    assert found["diagnosis", "chapter"].codes == 3  # pneumonia is alone in its chapter
    assert found["diagnosis", "CCS"].codes == 2  # congestive heart failure, nonhypertensive
    assert found["procedure", "category"].share[0] == 1.0


def test_neighbours_of_the_same_category_can_be_left_out() -> None:
    """Categories point alike and lie side by side; chapters hold two categories, far from each other or near."""
    X = np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 0], [0.1, 1, 0], [0, 0, 1], [0, 0.9, 1]], np.float64)
    chapters, categories = list("xxxxyy"), list("aabbcd")
    plain = sharing(X, chapters, at=(1, 2))
    beyond = sharing(X, chapters, at=(1, 2), apart=categories)
    assert plain is not None
    assert beyond is not None
    assert plain.share[0] == 1.0
    # Without b's siblings, the nearest to the b's is now d, of the other chapter.
    assert beyond.share[0] == pytest.approx((2 + 0 + 2) / 6, abs=1e-9)
    assert beyond.chance == pytest.approx((4 * 2 / 4 + 2 * 1 / 5) / 6)
    assert beyond.possible == pytest.approx((1.0, (4 * 1 + 2 * 0.5) / 6))


def test_icd_10_diagnoses_have_no_ccs_group() -> None:
    found = neighbourhoods(["icd10cm:I509", "icd10cm:I501"], np.eye(2), ["icd10pcs:5A1D70Z"], np.eye(1))
    assert [(one.kind, one.label) for one in found] == [("diagnosis", "chapter"), ("diagnosis", "category")]


def test_vectors_and_labels_must_fit() -> None:
    with pytest.raises(InputError, match="3 vectors cannot have 2 labels"):
        sharing(np.eye(3), ["x", "y"])
