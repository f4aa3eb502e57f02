"""What all tests share: where the open data lies, and that CI lets no test skip."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

# As the command line does: waiting threads sleep, so that tests stay quick on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the open hospital data; tests that ask for it skip where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"the open data are not at {DATA}")
    return DATA


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With DX2PX_NO_SKIP=1 a skip is a failure: there every component is meant to be present."""
    report = yield
    if report.skipped and os.environ.get("DX2PX_NO_SKIP") == "1" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} skipped where nothing may skip: {report.longrepr}"
    return report
