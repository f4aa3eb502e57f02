"""Headless Chromium, for the tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def chromium(width: int, height: int) -> Iterator[Any]:
    """A browser with a window of this size; the test is skipped if Chromium is not installed."""
    pytest.importorskip("selenium", reason="selenium is not installed")
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no browser: install chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    size = f"window-size={width},{height}"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", size):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        yield browser
    finally:
        browser.quit()
