"""A worklist of an audit's findings: one HTML page that opens without a network.

The page holds its findings as data; its script shows them by group or by strength, each with its whole stay. Ticks
are kept in the browser only on request, as numbers of findings under a fingerprint of the page: the page holds stay
ids, and a browser's storage is not a safe place for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from dx2px.answers.audit_file import FileAudit
from dx2px.report.audit_words import WORDS
from dx2px.report.markup import Markup, data_block, document, el, resource
from dx2px.report.worklist_data import page_data
from dx2px.storage import write_text
from dx2px.words import counted

NAME = "Audit of coded stays"
LISTED = 2000  # findings on a page; a browser shows them at once
SCOPE = (
    "A finding compares a stay with how stays like it were coded in the model's data. It is a reason to look, not "
    "proof of a mistake, and not medical advice."
)
READING = (
    "Open a finding to see its whole stay. The questioned procedure is marked; “support” is the share of a code in "
    "what leads one to expect it. With the keyboard: arrows move, Enter opens, x ticks off."
)
KEEPING = (
    "Ticks are lost when the page is closed, unless you choose to keep them. Then this browser stores a fingerprint of "
    "this page and the numbers of the ticked findings: no id and no code. Untick the box to delete them."
)
PAPER = "Print and CSV contain what the filters leave; on paper, what is open on the screen is open, too."
DRG_SCOPE = "Groups are information, not advice on billing. Age, birth weight, discharge and onset are not considered."


def save_worklist(audit: FileAudit, path: str | os.PathLike[str], listed: int = LISTED) -> None:
    """Write the page of the strongest findings, all or nothing."""
    write_text(path, worklist(audit, listed))


def worklist(audit: FileAudit, listed: int = LISTED) -> str:
    """The page as text."""
    data = page_data(audit, listed)
    body = [
        el("h1", NAME),
        el("p", _summary(audit, len(data["findings"]))),
        el("p", _strength(audit)),
        el("p", SCOPE, class_="scope"),
        _help(data),
        _controls(data),
        el("div", id="head", aria_hidden="true"),
        el("ol", id="list", class_="wide-codes" if _has_long_codes(data) else None),
        el("noscript", el("p", "This page needs JavaScript. The findings file has the same content.")),
        data_block("worklist-data", data),
    ]
    package = "dx2px.report"
    styles = [resource("dx2px", "looks.css"), resource(package, "worklist.css")]
    return document(NAME, body, styles, [resource(package, "worklist.js")])


def _summary(audit: FileAudit, listed: int) -> str:
    counts = audit.counts
    kinds = ", ".join(f"{number:,} {WORDS[kind].name}" for kind, number in counts.by_kind.items() if number)
    share = counts.stays_with_findings / max(counts.stays, 1)
    some = f"Listed here: the {listed:,} strongest." if listed < counts.findings else ""
    return (
        f"{counted(counts.stays, 'stay')}, {counts.stays_with_findings:,} of them ({share:.1%}) with a finding. "
        f"{counted(counts.findings, 'finding')}{f' ({kinds})' if kinds else ''}. {some}"
    )


def _strength(audit: FileAudit) -> Markup:
    settings = audit.settings
    return el(
        "span",
        el("b", "Strength"),
        f" is the probability that a finding is a mistake, if {settings.wrong:.0%} of stays had a procedure that is "
        f"not theirs and {settings.omitted:.0%} of codes were left out: of 100 findings with strength 0.30, "
        f"about 30 are mistakes. Findings below {settings.precision:g} are not listed.",
    )


def _help(data: Mapping[str, Any]) -> Markup:
    kinds = dict.fromkeys(group["kind"] for group in data["groups"])
    meanings = [[el("dt", WORDS[kind].name), el("dd", WORDS[kind].means)] for kind in WORDS if kind in kinds]
    remarks = [READING, KEEPING, PAPER, *([DRG_SCOPE] if data["drg"] else [])]
    return el(
        "details",
        el("summary", "How to read this list"),
        el("dl", meanings),
        [el("p", one) for one in remarks],
        id="explain",
    )


def _controls(data: Mapping[str, Any]) -> Markup:
    groups = data["groups"]
    kinds = [(kind, WORDS[kind].name) for kind in WORDS if any(one["kind"] == kind for one in groups)]
    chapters = [(name, name) for name in sorted({one["chapter"] for one in groups})]
    codes = data["codes"]
    named = [
        (str(place), f"{codes[one['code']][1]} {WORDS[one['kind']].name} ({one['stays']:,})")
        for place, one in enumerate(groups)
    ]
    return el(
        "form",
        _choice("Order", "order", [("group", "by group, largest first"), ("strength", "by strength")]),
        _choice("Finding", "kind", [("", "all"), *kinds]),
        _choice("Chapter", "chapter", [("", "all"), *chapters]),
        _choice("Group", "group", [("", "all"), *named]),
        el(
            "label",
            "Stay, code or words of the stay",
            el("input", name="text", type="search", autocomplete="off"),
        ),
        el("label", el("input", name="hide", type="checkbox"), "hide what is done", class_="line"),
        el("label", el("input", id="remember", type="checkbox"), "keep ticks in this browser", class_="line"),
        el("button", "Open all", type="button", id="all"),
        el("button", "Save as CSV", type="button", id="save"),
        el("button", "Print", type="button", id="print"),
        el("span", id="shown", class_="muted", role="status"),
        id="controls",
    )


def _choice(label: str, name: str, options: Iterable[tuple[str, str]]) -> Markup:
    shown = [el("option", text, value=value) for value, text in options]
    return el("label", label, el("select", shown, name=name))


def _has_long_codes(data: Mapping[str, Any]) -> bool:
    """Whether codes carry their system, because the page mixes several."""
    return any("(" in shown for _, shown, _ in data["codes"])
