"""Generated parts of documents: only what stands between markers changes, and no block can get stale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px import InputError
from dx2px.lab.blocks import blocks_of, with_blocks

DOCUMENT = "# T\n\nbefore\n\n<!-- made: table nhds -->\nold\n<!-- end: table nhds -->\n\nafter | as it was\n"


def test_a_block_is_renewed_and_the_rest_is_kept() -> None:
    new = with_blocks(DOCUMENT, {"table nhds": "| a |\n", "not used here": "x"})
    assert new == DOCUMENT.replace("old\n", "| a |\n")
    assert with_blocks(new, {"table nhds": "| a |\n"}) == new


@given(st.text(st.characters(exclude_characters="<\r"), max_size=60))
def test_what_goes_in_can_be_read_back(text: str) -> None:
    made = with_blocks(DOCUMENT, {"table nhds": text})
    assert blocks_of(made) == {"table nhds": text.rstrip() + "\n"}


def test_backslashes_are_text() -> None:
    assert "\\1 \\g<0>" in with_blocks(DOCUMENT, {"table nhds": "\\1 \\g<0>"})


@pytest.mark.parametrize("document", [DOCUMENT, "<!-- made: open -->\nnever closed\n"])
def test_a_block_that_nothing_makes_is_an_error(document: str) -> None:
    with pytest.raises(InputError, match="Nothing generates"):
        with_blocks(document, {"open": "x"})
