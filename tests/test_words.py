"""Numbers in sentences, and titles in little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dx2px.words import counted, shortened

VENTILATION = [
    "Continuous invasive mechanical ventilation for less than 96 consecutive hours",
    "Continuous invasive mechanical ventilation for 96 consecutive hours or more",
    "Continuous invasive mechanical ventilation of unspecified duration",
]


def test_numbers_have_their_plural() -> None:
    assert [counted(n, "stay") for n in (0, 1, 1200)] == ["0 stays", "1 stay", "1,200 stays"]
    assert counted(2, "diagnosis", "diagnoses") == "2 diagnoses"


def test_a_title_that_fits_stays_as_it_is() -> None:
    assert shortened("Gout", 30) == "Gout"
    assert shortened("Gout", 4, ["Goat"]) == "Gout"


def test_a_long_title_loses_its_middle() -> None:
    assert shortened("Congestive heart failure, unspecified", 30) == "Congestive heart…unspecified"
    assert shortened("x" * 90, 30) == "x" * 15 + "…" + "x" * 14


def test_what_tells_titles_apart_is_kept() -> None:
    short = [shortened(title, 44, VENTILATION) for title in VENTILATION]
    assert short == [
        "Continuous…less than 96 consecutive…",
        "Continuous…96 consecutive hours or more",
        "Continuous invasive…of unspecified duration",
    ]
    for longest in range(24, 80):
        assert len({shortened(title, longest, VENTILATION) for title in VENTILATION}) == 3


@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join),
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12).map(" ".join),
    st.integers(6, 40),
)
def test_nothing_is_longer_than_the_room(text: str, other: str, longest: int) -> None:
    assert len(shortened(text, longest, [text, other])) <= longest
