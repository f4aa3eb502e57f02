"""The map of the codes as a page of its own."""

from __future__ import annotations

import os

from dx2px.report.embedding.drawing import draw, reading, script, style
from dx2px.report.embedding.points import CodeMap
from dx2px.report.markup import document, el, resource
from dx2px.storage import write_text

SCOPE = (
    "The vectors come from how stays were coded, for billing. Codes are near if they were coded in similar stays. "
    "That says nothing about medicine and is not medical advice."
)


def map_page(map_: CodeMap, name: str) -> str:
    """The page as text."""
    body = el(
        "main",
        el("h1", f"Codes of {name}"),
        el("p", SCOPE),
        reading(map_),
        draw(map_),
    )
    return document(
        f"Codes of {name}", body, [resource("dx2px.report.page", "page.css"), style()], [script()]
    )


def save_map(map_: CodeMap, path: str | os.PathLike[str], name: str = "the model") -> None:
    """Write the page, all or nothing."""
    write_text(path, map_page(map_, name))
