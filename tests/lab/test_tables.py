"""Tables in Markdown."""

from __future__ import annotations

from dx2px.lab.tables import table


def test_a_heading_a_rule_and_a_line_per_row() -> None:
    assert table(["a", "b"], [[1, "x"], [2.5, "y"]]) == "| a | b |\n|---|---|\n| 1 | x |\n| 2.5 | y |\n"


def test_the_last_columns_can_be_aligned_to_the_right() -> None:
    assert table(["a", "b", "c"], [], right=2).splitlines()[1] == "|---|--:|--:|"


def test_an_empty_cell_is_empty_and_a_bar_ends_no_cell() -> None:
    assert table(["", "b"], [[None, "x | y"]]) == "| | b |\n|---|---|\n| | x \\| y |\n"
