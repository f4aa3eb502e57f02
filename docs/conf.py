"""How `make docs` builds the site: Sphinx reads these pages and the docstrings of the public names."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myst_parser.parsers.sphinx_ import MystParser

from dx2px import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "dx2px"
author = "The dx2px developers"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".ipynb": "notebook"}
myst_heading_anchors = 4
highlight_language = "none"
default_role = "code"  # docstrings write `name`, as Markdown does

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_use_ivar = True  # the fields of a dataclass as one list
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = f"dx2px {__version__}"
html_static_path = ["stylesheets"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False

DOCS = Path(__file__).parent
ROOT = DOCS.parent
# Files outside docs/ that the site shows, and the page that includes each.
PAGES = {
    ROOT / "README.md": DOCS / "index.md",
    ROOT / "CONTRIBUTING.md": DOCS / "contributing.md",
    ROOT / "CHANGELOG.md": DOCS / "changes.md",
    ROOT / "benchmarks/README.md": DOCS / "benchmarks.md",
    ROOT / "src/dx2px/shipped/nhds2010/MODEL_CARD.md": DOCS / "model-card.md",
}
LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")


def setup(app: Sphinx) -> None:
    """Links are written for the repository; here they are made to work on the site too."""
    app.add_source_parser(NotebookParser)
    app.connect("source-read", lambda _, page, text: relink(text, DOCS / f"{page}.md", DOCS / page))
    app.connect("include-read", lambda _, file, page, text: relink(text, DOCS / file, DOCS / page))


class NotebookParser(MystParser):
    """Shows a notebook with the outputs that it holds; nothing is run."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Parse the notebook as the Markdown of its cells."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(part for cell in cells for part in markdown_of(cell)), document)


def markdown_of(cell: dict[str, Any]) -> list[str]:
    """A cell and what it showed, as blocks of Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    blocks = [("python", source)]
    for output in cell["outputs"]:
        data = {name: "".join(lines) for name, lines in output.get("data", {}).items()}
        text = "".join(output.get("text", [])) or data.get("text/plain", "")
        blocks.append(("{raw} html", data["text/html"]) if "text/html" in data else ("text", text))
    return [f"````{kind}\n{text.rstrip()}\n````" for kind, text in blocks]


def relink(text: list[str], file: Path, page: Path) -> None:
    """Rewrite the links of `file`, whose text is shown on `page`.

    Folders and Markdown files that the site does not show lose their link and keep their words.
    """

    def on_the_site(link: re.Match[str]) -> str:
        found = (file.parent / link["target"]).resolve()
        target = PAGES.get(found, found)
        if not target.exists():
            return link[0]  # Sphinx reports it
        if not target.is_relative_to(DOCS) and (target.is_dir() or target.suffix == ".md"):
            return link["text"]
        return f"[{link['text']}]({os.path.relpath(target, page.parent)}{link['anchor'] or ''})"

    text[0] = LINK.sub(on_the_site, text[0])
