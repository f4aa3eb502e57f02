"""Narrow screens, themes, contrast, labels: what can be measured of how the page looks and sounds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dx2px

PAGE = Path(dx2px.__file__).parent / "service" / "page"
FRAGMENT = "dx=585.6,518.81,414.01,995.92,414.00"

# For every piece of visible text: its contrast with the nearest opaque background behind it (WCAG 2, 1.4.3).
CONTRASTS = r"""
const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const light = (color) => {
  const [r, g, b] = color.match(/[\d.]+/g).map(Number).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const opaque = (color) => !/rgba\(.*, 0\)$/.test(color) && color !== 'transparent';
const behind = (one) => {
  while (one && !opaque(getComputedStyle(one).backgroundColor)) one = one.parentElement;
  return one ? getComputedStyle(one).backgroundColor : 'rgb(255, 255, 255)';
};
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const one = walker.currentNode.parentElement;
  const text = walker.currentNode.textContent.trim();
  if (!text || !one.checkVisibility() || one.closest('.unseen, .skip, noscript, title')) continue;
  const { color, fill } = getComputedStyle(one);
  const heat = one.classList.contains('heat-text') && one.parentElement.querySelector('.heat');
  const ground = heat ? getComputedStyle(heat).fill : behind(one);
  found.push([ratio(one.closest('svg') ? fill : color, ground), text.slice(0, 30), one.tagName]);
}
return found.sort((a, b) => a[0] - b[0]).slice(0, 5);
"""

# Controls without a name that a screen reader could say.
NAMELESS = """
const controls = 'button, input, select, textarea, [tabindex="0"], [role=img]';
const named = (one) =>
  one.ariaLabel || one.textContent.trim() || one.labels?.length || one.getAttribute('aria-labelledby');
return [...document.querySelectorAll(controls)].filter((one) => !named(one)).map((one) => one.outerHTML);
"""


STILL = (
    "return new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 30))))"
)


@pytest.mark.parametrize(
    "fragment", [FRAGMENT, FRAGMENT + "&view=heat&top=20", "tab=audit&adx=585.6,518.81&apx=79.35,01.24"]
)
def test_it_can_be_read_in_both_themes_and_nothing_scrolls_sideways(page: Any, fragment: str) -> None:
    page.width(1280)
    page.wish("dark")
    page.open(f"{fragment}&yes=icd9pcs:3995&no=icd9pcs:9604")
    page.until("return document.querySelector('#figure svg, #findings .finding')")
    assert page.run(NAMELESS) == []
    page.run("document.querySelectorAll('.disclosure').forEach((one) => one.click())")
    for theme in ("dark", "light"):
        page.wish(theme)
        page.until("return document.documentElement.dataset.theme === arguments[0]", theme)
        worst = page.run(CONTRASTS)
        assert worst[0][0] >= 4.5, (theme, worst)
    for pixels in (1280, 768, 360, 320):
        page.width(pixels)
        page.until("return innerWidth === arguments[0]", pixels)
        page.run(STILL)
        assert page.run("return document.documentElement.scrollWidth") <= pixels


def test_theme_follows_the_system_until_the_user_chooses(page: Any) -> None:
    page.wish("dark")
    page.open()
    ground = "return getComputedStyle(document.body).backgroundColor"
    dark = page.run(ground)
    page.click("#theme")
    light = page.run(ground)
    assert light != dark
    page.driver.refresh()
    page.until("return document.querySelector('#theme svg')")
    assert page.run(ground) == light, "the choice outlives a reload"
    assert page.find("#theme").get_attribute("aria-label") == "Switch to the dark theme"


def test_the_whole_page_is_reached_with_tab(page: Any) -> None:
    page.open("dx=585.6,518.81")
    page.procedures()
    assert page.text("#live").startswith("5 procedures, first ")
    page.run(
        "window.reached = []; document.addEventListener('focusin', ({target}) =>"
        " reached.push(target.id || target.dataset.key || target.textContent))"
    )
    page.keys("\ue004" * 60)
    reached = set(page.run("return reached"))
    assert {
        "diagnosis-input",
        "theme",
        "tab-recommend",
        "copy",
        "remove icd9cm:5856",
        "reasons icd9pcs:3995",
    } <= reached
    assert {"diagnosis icd9cm:5856", "procedure icd9pcs:3995"} <= reached


def test_the_files_name_no_other_place_and_hold_nothing_inline() -> None:
    index = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\son\w+=", index)
    addresses = re.findall(r"""(?:src|href)="([^"#]+)""", index)
    places = [PAGE.parents[1] if one == "page/looks.css" else PAGE for one in addresses]
    assert all(
        (place / one.removeprefix("page/")).is_file() for one, place in zip(addresses, places, strict=True)
    )
    for path in [*PAGE.iterdir(), PAGE.parents[1] / "looks.css"]:
        found = set(re.findall(r"https?://[^\s\"'`]+", path.read_text()))
        assert found <= {"http://www.w3.org/2000/svg"}, path.name


def test_markup_is_never_made_from_text() -> None:
    for path in PAGE.glob("*.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|DOMParser", path.read_text()
        )
