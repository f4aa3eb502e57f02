"""The map: every code once with the right words, no count, nothing from elsewhere; and in a real browser."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from browser import chromium
from dx2px.answers import Model
from dx2px.codes import System
from dx2px.codes.ancestors import chapter_titles
from dx2px.report.embedding import CodeMap, code_map, map_page, save_map
from dx2px.report.embedding.families import GENERAL, group, heading
from dx2px.scoring.folder import ModelFiles

COUNTS = [3, 10, 11, 49, 50, 777, 1234, 4999, 5000, 86421]
DIAGNOSES = [
    f"icd9cm:{code}"
    for code in ("0389", "25000", "4019", "41401", "42731", "4280", "51881", "5856", "82021", "V3000")
]
PROCEDURES = [
    f"icd9pcs:{code}"
    for code in ("3722", "3893", "3995", "7935", "8856", "9604", "9671", "9904", "6400", "741")
]


@pytest.fixture(scope="module")
def made() -> CodeMap:
    rng = np.random.default_rng(0)
    files = ModelFiles(
        method="e+pooling",
        settings={"model": {"dim": 6, "pooling": "mean"}},
        diagnoses=tuple(DIAGNOSES),
        procedures=tuple(sorted(PROCEDURES)),
        arrays={name: rng.standard_normal((10, 6)).astype(np.float32) for name in ("U", "V")},
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        diagnosis_counts=COUNTS,
        procedure_counts=COUNTS,
    )
    return code_map(Model(files))


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="map-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_every_code_is_told_with_its_title_and_band(made: CodeMap) -> None:
    data = data_of(map_page(made, "x"))
    assert len(data["codes"]) == len(data["x"]) == len(data["nearest"]) == 20
    place = data["codes"].index("428.0")
    assert data["titles"][place] == "Congestive heart failure, unspecified"
    assert data["bands"][data["band"][place]] == "200 to 999 training stays"
    assert data["bands"][data["band"][data["codes"].index("038.9")]] == "fewer than 11 training stays"
    assert data["groups"][data["group"][place]] == {"name": "Circulatory system", "kind": "diagnosis"}


def test_counts_themselves_appear_nowhere(made: CodeMap) -> None:
    page = map_page(made, "x")
    assert not re.search(r"\b(777|1,?234|86,?421)\b", page)


def test_every_code_has_one_mark_of_its_kind(made: CodeMap) -> None:
    drawn = re.findall(r'<path d="([^"]*)" class="mark size-\d"', map_page(made, "x"))
    marks = "".join(drawn)
    assert marks.count("h0") == 10
    assert marks.count("l.01.01") == 10


def test_lines_go_to_the_nearest_by_cosine(made: CodeMap) -> None:
    assert made.nearest.shape == (20, 5)
    assert all(row not in near for row, near in enumerate(made.nearest.tolist()))


def test_the_page_needs_nothing_from_elsewhere(made: CodeMap) -> None:
    page = map_page(made, "x")
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", page)
    assert not re.search(r"\b(src|href|url|@import)\s*[=(]", page)
    assert "default-src 'none'" in unescape(page)


def test_a_model_without_counts_has_a_map_without_bands(made: CodeMap) -> None:
    from dataclasses import replace

    assert data_of(map_page(replace(made, bands=None), "x"))["band"] is None


@pytest.mark.parametrize("system", list(System))
def test_chapters_have_a_colour_and_share_no_mark(system: System) -> None:
    ranges = chapter_titles(system)
    groups = [group(f"{system}:@{span}") for span in ranges]
    marks = [(one.family, one.fill) for one in groups]
    assert len(marks) == len(set(marks))


def test_sections_of_icd_10_pcs_are_cut_by_body_system() -> None:
    assert group(heading("icd10pcs:02703ZZ")).name == "Heart and great vessels"
    assert heading("icd10pcs:5A1D70Z") == "icd10pcs:5"
    assert group(heading("icd9cm:000")).family == GENERAL  # in no chapter


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(1000, 900) as found:
        yield found


@pytest.fixture
def page(browser: Any, made: CodeMap, tmp_path: Path) -> Iterator[Any]:
    save_map(made, tmp_path / "map.html", "planted")
    browser.get((tmp_path / "map.html").as_uri())
    yield browser
    assert [one for one in browser.get_log("browser") if "favicon" not in one["message"]] == []


def until(page: Any, script: str, *arguments: Any) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if found := page.execute_script(script, *arguments):
            return found
        time.sleep(0.02)
    raise AssertionError(f"in vain waited for: {script}")


def test_a_pointer_over_a_mark_shows_its_code(page: Any, made: CodeMap) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    data = data_of(map_page(made, "x"))
    picture = page.find_element(By.ID, "map-picture")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", picture)
    place = data["codes"].index("585.6")
    left, top = page.execute_script(
        "const p = arguments[0], box = p.getBoundingClientRect();"
        "const at = new DOMPoint(arguments[1], arguments[2]).matrixTransform(p.getScreenCTM());"
        "return [at.x - box.left - box.width / 2, at.y - box.top - box.height / 2]",
        picture,
        data["x"][place],
        data["y"][place],
    )
    ActionChains(page).move_to_element_with_offset(picture, round(left), round(top)).perform()
    shown = until(page, "const t = document.getElementById('map-tip'); return t.hidden ? '' : t.innerText")
    assert shown.splitlines() == [
        "585.6 End stage renal disease",
        "diagnosis, Genitourinary system",
        "1,000 to 4,999 training stays",
    ]


def test_arrows_go_from_code_to_code_and_escape_lets_go(page: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    picture = page.find_element(By.ID, "map-picture")
    told = "return document.getElementById('map-status').textContent"
    seen = []
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN):
        picture.send_keys(key)
        seen.append(until(page, told))
    assert "Nearest by vector" in seen[0]
    assert seen[0] != seen[1]
    picture.send_keys(Keys.ESCAPE)
    until(page, "return document.getElementById('map-tip').hidden")


def test_search_finds_words_and_takes_the_reader_there(page: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    box = page.find_element(By.ID, "map-search")
    box.send_keys("renal dis")
    assert until(
        page, "return [...document.querySelectorAll('#map-results li')].map(e => e.textContent)"
    ) == ["585.6 End stage renal disease"]
    box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    assert until(page, "return document.getElementById('map-tip').innerText").startswith("585.6")


def test_a_chapter_is_switched_off_and_on(page: Any) -> None:
    switches = "[...document.querySelectorAll('.map-legend [data-group]')]"
    switch = f"{switches}.find(b => b.textContent.startsWith('Circulatory'))"
    state = (
        f"const b = {switch}; const g = document.querySelector(`#map-marks > [data-group='${{b.dataset.group}}']`);"
        "return [b.getAttribute('aria-pressed'), getComputedStyle(g).display]"
    )
    assert page.execute_script(state) == ["true", "inline"]
    page.execute_script(f"{switch}.click()")
    assert page.execute_script(state) == ["false", "none"]
    page.execute_script(f"{switch}.click()")
    assert page.execute_script(state) == ["true", "inline"]


def test_marks_are_drawn_in_both_themes(page: Any) -> None:
    """Pixels: the page's colour and many others, and the page's colour follows the theme."""
    import base64
    import io

    from PIL import Image

    pages = {}
    for theme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        shot = page.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
        picture = Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")
        colours = picture.getcolors(1 << 20)
        assert colours is not None
        assert len(colours) > 50
        pages[theme] = max(colours)[1]
    assert sum(pages["light"]) > 600
    assert sum(pages["dark"]) < 150
