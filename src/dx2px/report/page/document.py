"""The report as one page: its sections in order, and the file it is written to."""

from __future__ import annotations

import os

from dx2px.report.embedding.drawing import script, style
from dx2px.report.markup import Markup, document, el, resource
from dx2px.report.page.accuracy import breakdown_section, confusion_section
from dx2px.report.page.cohort import cohort_section
from dx2px.report.page.content import Content
from dx2px.report.page.overview import accuracy_section, head, main_numbers
from dx2px.report.page.package import package_section
from dx2px.report.page.stays import stays_section
from dx2px.report.page.training import card_section, settings_section, training_section
from dx2px.report.page.trust import trust_section
from dx2px.report.page.vectors import map_section, neighbour_section
from dx2px.report.page.words import SCOPE
from dx2px.storage import write_text
from dx2px.version import __version__

LINKS = {
    "package": "The package's model",
    "accuracy": "Accuracy",
    "breakdown": "Where it does well",
    "confusions": "Confusions",
    "calibration": "Calibration",
    "stays": "Stays",
    "map": "Map",
    "neighbours": "Neighbours",
    "cohort": "Cohort",
    "training": "Training",
    "settings": "Settings",
    "card": "Card",
}


def report_page(content: Content) -> str:
    """The page as text."""
    sections = [
        package_section(content.package) if content.package is not None else None,
        main_numbers(content),
        accuracy_section(content),
        breakdown_section(content),
        confusion_section(content),
        trust_section(content),
        stays_section(content),
        map_section(content),
        neighbour_section(content),
        cohort_section(content),
        training_section(content),
        settings_section(content),
        card_section(content),
    ]
    main = el("main", head(content), sections, el("footer", f"Made by dx2px {__version__}. {SCOPE}"))
    body = [_contents(content), main]
    styles = [resource("dx2px.report.page", "page.css"), style()]
    return document(f"dx2px report: {content.name}", body, styles, [script()])


def save_report(content: Content, path: str | os.PathLike[str]) -> None:
    """Write the page, all or nothing."""
    write_text(path, report_page(content))


def _contents(content: Content) -> Markup:
    absent = {"neighbours"} if content.vectors is None else set()
    absent |= {"package"} if content.package is None else set()
    links = {anchor: name for anchor, name in LINKS.items() if anchor not in absent}
    items = [el("li", el("a", name, href=f"#{anchor}")) for anchor, name in links.items()]
    return el("nav", el("ol", items), aria_label="Sections")
