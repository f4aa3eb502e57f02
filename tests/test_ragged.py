"""Rows of unequal length: blocks cover them, and repeats are seen wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dx2px import ragged
from dx2px.ragged import Ragged

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
