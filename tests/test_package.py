"""The package as a whole: public names, light imports, quick help."""

from __future__ import annotations

import resource
import subprocess
import sys

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


def test_help_costs_under_half_a_second() -> None:
    """Measured as processor time, which other work on the machine hardly changes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "dx2px", "--help"], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
    assert "prepare" in done.stdout
    assert "not medical advice" in " ".join(done.stdout.split())
