"""Markup: text stays text, pages load nothing, data blocks cannot be broken out of."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from dx2px.report.markup import Markup, data_block, digest, document, el, joined


class Reader(HTMLParser):
    """The elements, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


# HTML cannot hold surrogates and NUL, and reads a carriage return as a line feed.
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")))


@given(TEXTS, TEXTS)
def test_any_text_comes_back_as_it_was(inside: str, attribute: str) -> None:
    page = Reader(el("p", inside, title=attribute))
    assert page.tags == [("p", {"title": attribute})]
    assert page.text == inside


@given(st.recursive(TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_data_comes_back_whole_and_ends_nothing(value: object) -> None:
    block = data_block("d", value)
    inside = block.removeprefix('<script type="application/json" id="d">').removesuffix("</script>")
    assert "<" not in inside
    assert json.loads(inside) == value


def test_children_nest_and_nothing_is_nothing() -> None:
    assert joined(["a&b", None, [el("br"), Markup("<i>")]]) == "a&amp;b<br/><i>"
    assert (
        el("div", class_="x", hidden=True, id=None, data_kind="k")
        == '<div class="x" hidden data-kind="k"></div>'
    )
    assert el("svg", viewBox="0 0 1 1", x=1 / 3) == '<svg viewBox="0 0 1 1" x="0.3333333"></svg>'


def test_a_page_may_use_its_own_style_and_script_alone() -> None:
    page = document("a <b>", el("p", "x"), ["p { }"], ["run();"])
    policy = _policy(page)
    assert "default-src 'none'" in policy
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inside is not None
        assert f"{rule} '{digest(inside[1])}'" in policy
    assert "<title>a &lt;b&gt;</title>" in page


def _policy(page: str) -> str:
    found = [attributes for tag, attributes in Reader(page).tags if tag == "meta" and "content" in attributes]
    return next(str(one["content"]) for one in found if one.get("http-equiv") == "Content-Security-Policy")
