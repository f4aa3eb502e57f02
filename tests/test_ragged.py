"""Rows of unequal length: blocks cover them, and repeats are seen wherever they stand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dx2px import InputError, ragged
from dx2px.ragged import Ragged, side_by_side

rows_of_codes = some.lists(some.lists(some.integers(0, 30), max_size=6), max_size=40)


@given(rows_of_codes, some.integers(1, 50))
def test_blocks_are_all_rows_in_order(rows: list[list[int]], size: int) -> None:
    blocks = list(Ragged.from_lists(rows).blocks(size))
    assert [row.tolist() for block in blocks for row in map(block.__getitem__, range(len(block)))] == rows
    assert all(0 < len(block) <= size for block in blocks)


def test_rows_that_are_one_block_are_not_copied() -> None:
    rows = Ragged.from_lists([[1, 2], [3]])
    assert next(rows.blocks(2)) is rows


@given(rows=rows_of_codes)
def test_repeats_are_seen_in_any_block(rows: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ragged, "BLOCK", 3)
        found = Ragged.from_lists(rows).has_repeats()
    assert found == any(len(set(row)) < len(row) for row in rows)


def test_rows_come_back_as_they_were_laid() -> None:
    rows = Ragged.from_lists([[3, 1], [], [2]])
    assert [row.tolist() for row in (rows[0], rows[1], rows[2])] == [[3, 1], [], [2]]
    assert rows.lengths.tolist() == [2, 0, 1]
    assert rows.place_of_entry.tolist() == [0, 1, 0]


def test_take_chooses_rows_in_the_order_given_with_repeats() -> None:
    rows = Ragged.from_lists([[3, 1], [], [2], [9, 8, 7]]).take([3, 1, 0, 3])
    assert [rows[i].tolist() for i in range(4)] == [[9, 8, 7], [], [3, 1], [9, 8, 7]]


def test_inconsistent_arrays_are_refused() -> None:
    with pytest.raises(InputError, match="end at 3"):
        Ragged(np.array([0, 3]), np.array([1, 2]))
    with pytest.raises(InputError, match="start at 0"):
        Ragged(np.array([1, 2]), np.array([1, 2]))


@given(rows=rows_of_codes)
def test_copies_without_each_entry_and_indicators_are_those_of_a_loop(rows: list[list[int]]) -> None:
    rows = [list(dict.fromkeys(row)) for row in rows]
    found = Ragged.from_lists(rows)
    expected = [row[:i] + row[i + 1 :] if len(row) > 1 else row for row in rows for i in range(len(row))]
    assert found.copies_without() == Ragged.from_lists(expected)
    alone = [row[:i] + row[i + 1 :] for row in rows for i in range(len(row))]
    assert found.each_left_out() == Ragged.from_lists(alone)
    assert side_by_side(found, found) == Ragged.from_lists([row + row for row in rows])
    assert found.indicator(31).tolist() == [[code in row for code in range(31)] for row in rows]
    odd = found.filtered(found.values % 2 == 1)
    assert odd == Ragged.from_lists([[code for code in row if code % 2] for row in rows])
