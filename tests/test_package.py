"""The package as a whole: public names, light imports, quick help."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

import dx2px

HEAVY = ("torch", "ibis", "numba", "pandas", "matplotlib", "sklearn", "pyarrow", "numpy")


def modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not modules_after("import dx2px") & set(HEAVY)


def test_the_command_line_imports_nothing_heavy() -> None:
    assert not modules_after("import dx2px.cli") & set(HEAVY)


@pytest.mark.parametrize("room", ["codes", "cohort"])
def test_reading_rooms_need_neither_torch_nor_ibis(room: str) -> None:
    assert not modules_after(f"import dx2px.{room}") & {"torch", "ibis", "numba", "pandas", "matplotlib"}


def test_every_public_name_can_be_had_and_no_other() -> None:
    for name in dx2px.__all__:
        assert getattr(dx2px, name) is not None
    assert set(dir(dx2px)) == set(dx2px.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = dx2px.nonsense


def test_help_answers_within_half_a_second() -> None:
    """The bound is the promise to users; the best of three tries keeps a busy machine from failing it."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "dx2px", "--help"], capture_output=True, text=True, check=True
        )
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5
    assert "prepare" in done.stdout
    assert "no medical advice" in done.stdout.replace("\n", " ").replace("  ", " ")
