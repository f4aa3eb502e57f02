"""All HTML and SVG of the reports, as nested calls.

Text is escaped wherever it enters, so nothing that comes from data becomes markup. A page may use its own styles and
scripts only, by their hashes, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

VOID = frozenset({"br", "hr", "input", "meta", "line", "rect", "circle", "path", "polyline"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = str | Markup | None | Iterable["Child"]


def el(tag: str, *children: Child, **attributes: Any) -> Markup:
    """An element. Attributes that are None or False are left out; `class_` gives `class`, `aria_label` `aria-label`."""
    shown = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID and not children:
        return Markup(f"<{tag}{shown}/>")
    return Markup(f"<{tag}{shown}>{joined(children)}</{tag}>")


def joined(children: Child) -> Markup:
    """Children one after another; plain text is escaped."""
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(escape(children, quote=False))
    return Markup("".join(joined(child) for child in children))


def data_block(name: str, value: Any) -> Markup:
    """Data for a script, in a block that browsers do not run and that no text in the data can end."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(f'<script type="application/json" id="{name}">{safe}</script>')


def table(heads: Child, rows: Child, foot: Child = None, **attributes: Any) -> Markup:
    """A table from the cells of its head and the rows of its body and foot."""
    parts = [el("thead", el("tr", heads)), el("tbody", rows), None if foot is None else el("tfoot", foot)]
    return el("table", parts, **attributes)


def document(name: str, body: Child, styles: Iterable[str], scripts: Iterable[str]) -> str:
    """A whole page with its styles and scripts."""
    style, script = "\n".join(styles), "\n".join(scripts)
    rules = [
        "default-src 'none'",
        f"style-src '{digest(style)}'",
        f"script-src '{digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    head = [
        Markup('<meta charset="utf-8"/>'),
        el("meta", http_equiv="Content-Security-Policy", content="; ".join(rules)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="generator", content="dx2px"),
        el("title", name),
        Markup(f"<style>{style}</style>"),
    ]
    page = el("html", el("head", head), el("body", body, Markup(f"<script>{script}</script>")), lang="en")
    return f"<!doctype html>\n{page}\n"


def digest(text: str) -> str:
    """The hash by which a content security policy allows an inline script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def resource(package: str, name: str) -> str:
    """The text of a style sheet or script beside the sources."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    return f' {written}="{escape(f"{value:.7g}" if isinstance(value, float) else str(value))}"'
