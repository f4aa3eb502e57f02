"""The page of an explanation: self-contained, deaf to markup, and read by pointer and by keyboard alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dx2px.answers import Explanation, Model
from dx2px.report.explanation_page import INVITATION, explanation_page
from dx2px.report.explanation_words import percent

from .test_explanation import drawn

HOSTILE = "<img src=x onerror=window.hurt=1>\"'><script>window.hurt=1</script>&amp;"
RIGHT, DOWN, TAB = "\ue014", "\ue015", "\ue004"
VOID = {"meta", "input", "br", "img"}


class Parsed(HTMLParser):
    """Elements and their attributes; every element must be closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag


@pytest.fixture(scope="module")
def explained() -> Explanation:
    model = Model(
        drawn(
            "coupling",
            ["icd9cm:25000", "icd9cm:4280", "icd9cm:5856"],
            ["icd9pcs:3722", "icd9pcs:3893", "icd9pcs:3995"],
        )
    )
    return model.explain(["585.6", "428.0", "250.00", "428.9"], top=3)


def test_it_parses_and_asks_for_nothing_from_outside(explained: Explanation) -> None:
    text = explanation_page(explained)
    parsed = Parsed(text)
    assert parsed.stack == []
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    loading = {"src", "href", "srcset", "data", "action", "style", "onclick"}
    assert [tag for tag, attributes in parsed.tags if loading & attributes.keys()] == []
    (policy,) = (a["content"] for _, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_it_opens_with_the_flow_and_says_that_colour_is_not_linear(explained: Explanation) -> None:
    text = explanation_page(explained)
    flow = text[text.index('<svg class="flow"') : text.index("</details>")]
    assert text.index('class="flow"') < text.index("<table")
    assert flow.count("<path") == (explained.plan.mass > 0.001).sum()
    row, column = divmod(int(explained.plan.mass.argmax()), explained.plan.mass.shape[1])
    assert f"{explained.diagnoses[row].title} → " in flow
    assert f"{explained.procedures[column].title}: {percent(explained.plan.mass.max())} of the mass" in flow
    assert "Colour grows with the square root" in text
    assert "<details open>" in text


def test_every_mass_and_share_is_in_the_table(explained: Explanation) -> None:
    cells = [attributes for tag, attributes in Parsed(explanation_page(explained)).tags if tag == "td"]
    masses = [one["data-mass"] for one in cells if "data-mass" in one]
    assert masses == [percent(value) for value in explained.plan.mass.ravel().tolist()]
    shares = [one["data-share"] for one in cells if "data-share" in one]
    assert shares == [percent(value) for value in explained.plan.shares.ravel().tolist()]


def test_other_evidence_has_rows_of_its_own(with_evidence: Explanation) -> None:
    text = explanation_page(with_evidence)
    rows = [attributes.get("class") for tag, attributes in Parsed(text).tags if tag == "tr"]
    assert rows == [None, None, None, "apart", "other", "other", "other", "apart", None]
    assert "below 1.0 % everywhere: elective admission" in text
    because = text.split("Because of ")[1].split('"')[0]
    named = {"any stay": "any stay", "age:75–84,sex:F": "age 75–84, female", "icd9pcs:3893": ", coded"}
    for reason in with_evidence.procedures[0].because[:4]:
        if reason.code in named and reason.share >= 0.005:
            assert named[reason.code] in because


def test_titles_are_text(explained: Explanation) -> None:
    poisoned = replace(
        explained,
        diagnoses=tuple(replace(one, title=HOSTILE) for one in explained.diagnoses),
        procedures=tuple(replace(one, title=HOSTILE) for one in explained.procedures),
    )
    parsed = Parsed(explanation_page(poisoned))
    assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert "img" not in [tag for tag, _ in parsed.tags]


@pytest.fixture
def opened(driver: Any, explained: Explanation, tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / "e.html"
    path.write_text(explanation_page(explained), encoding="utf-8")
    driver.get(path.as_uri())
    yield driver
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def said(driver: Any) -> str:
    return str(driver.execute_script("return document.getElementById('reading').textContent"))


def expected(explained: Explanation, row: int, column: int) -> list[str]:
    diagnosis, procedure = explained.diagnoses[row], explained.procedures[column]
    mass, share = explained.plan.mass[row, column], explained.plan.shares[row, column]
    return [
        diagnosis.title,
        procedure.title,
        f"{percent(mass)} of all mass",
        f"{percent(share)} of what leads to",
    ]


def test_pointing_at_a_cell_tells_both_titles_and_the_mass(opened: Any, explained: Explanation) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    assert said(opened) == INVITATION
    cells = opened.find_elements(By.CSS_SELECTOR, "td[data-mass]")
    opened.execute_script("arguments[0].scrollIntoView({ block: 'center' })", cells[3 * 1 + 2])
    ActionChains(opened, duration=0).move_to_element(cells[3 * 1 + 2]).perform()
    for part in expected(explained, 1, 2):
        assert part in said(opened)
    ActionChains(opened, duration=0).move_to_element(opened.find_element(By.TAG_NAME, "h1")).perform()
    assert said(opened) == INVITATION


def test_the_arrow_keys_walk_the_table(opened: Any, explained: Explanation) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    opened.execute_script("document.querySelector('input').focus()")
    ActionChains(opened, duration=0).send_keys(TAB).perform()
    assert explained.diagnoses[0].title in said(opened)
    ActionChains(opened, duration=0).send_keys(RIGHT, RIGHT, DOWN).perform()
    for part in expected(explained, 1, 1):
        assert part in said(opened)
    ActionChains(opened, duration=0).send_keys("\ue013", "\ue013").perform()  # up to the procedure itself
    leading = explained.procedures[1].because[0]
    assert explained.procedures[1].title in said(opened)
    assert percent(leading.share) in said(opened)


def test_the_arrow_keys_pass_over_the_headings(
    driver: Any, with_evidence: Explanation, tmp_path: Path
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    path = tmp_path / "e.html"
    path.write_text(explanation_page(with_evidence), encoding="utf-8")
    driver.get(path.as_uri())
    driver.execute_script("document.querySelector('input').focus()")
    ActionChains(driver, duration=0).send_keys(TAB, DOWN).perform()
    assert "(principal diagnosis)" in said(driver)
    ActionChains(driver, duration=0).send_keys(DOWN).perform()
    assert said(driver).startswith("38.93 ")
    assert "(coded)" in said(driver)
    ActionChains(driver, duration=0).send_keys(DOWN, DOWN, DOWN).perform()
    assert said(driver).startswith("any stay: significance")
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_colours_follow_the_readers_theme_and_choice(opened: Any) -> None:
    def colour(selector: str) -> str:
        script = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"
        return str(opened.execute_script(script, selector))

    found = {}
    for theme in ("light", "dark"):
        wishes = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", wishes)
        found[theme] = colour("body"), colour("td[data-mass]")
    assert found["light"][0] == "rgb(255, 255, 255)"
    assert found["light"] != found["dark"]
    before = opened.execute_script("return document.querySelector('table').className")
    opened.execute_script("document.querySelector('input[value=share]').click()")
    after = opened.execute_script("return document.querySelector('table').className")
    assert ("by-mass" in before, "by-share" in after) == (True, True)
    assert opened.execute_script("return document.getElementById('most').textContent") == "100 %"
