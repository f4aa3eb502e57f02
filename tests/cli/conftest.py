"""The command line inside the test's own process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from command_line import Done, dx2px


@pytest.fixture
def ask() -> Callable[..., Done]:
    """Run `dx2px` with these words."""
    return dx2px
