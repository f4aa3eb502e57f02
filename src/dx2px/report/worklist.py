"""A worklist of an audit's findings: one HTML page that opens without a network, to sort, filter and tick off.

What is ticked is not stored: the page holds stay ids, and a browser's storage is not a safe place for them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dx2px.answers.audit_file import FileAudit
from dx2px.answers.results import shown_probability
from dx2px.codes import Notation, title
from dx2px.report.markup import Markup, document, el, resource, table
from dx2px.storage import write_text
from dx2px.words import counted

NAME = "Audit of coded stays"
LISTED = 2000  # findings on a page; a browser sorts them at once
KINDS = ("unsupported", "missing")
MEANING = "Unsupported: coded, but hardly supported by the diagnoses. Missing: expected, but not coded."
SCOPE = (
    "A finding compares a stay with how stays like it were coded in the model's data. It is a reason to look, not "
    "proof of a mistake, and not medical advice."
)
LEAST_SHARE = 0.005  # of a supporting diagnosis that is shown
TEXT_COLUMNS = ("stay", "finding", "procedure", "because")  # sorted as text, the others as numbers


def save_worklist(audit: FileAudit, path: str | os.PathLike[str], listed: int = LISTED) -> None:
    """Write the page of the strongest findings, all or nothing."""
    write_text(path, worklist(audit, listed))


def worklist(audit: FileAudit, listed: int = LISTED) -> str:
    """The page as text."""
    found = audit.findings.slice(0, listed).to_pylist()
    reasons = Notation.of(reason["code"] for finding in found for reason in finding["because"])
    procedures = Notation.of(finding["code"] for finding in found)
    rows = [_row(finding, procedures, reasons) for finding in found]
    body = [
        el("h1", NAME),
        el("p", _summary(audit, len(found))),
        el("p", f"{MEANING} {_strength(audit)} {SCOPE}", class_="muted"),
        _controls(),
        el("div", table(_heads(procedures, reasons), rows), class_="scroll"),
    ]
    package = "dx2px.report"
    return document(NAME, body, [resource(package, "worklist.css")], [resource(package, "worklist.js")])


def _summary(audit: FileAudit, listed: int) -> str:
    counts = audit.counts
    return (
        f"{counted(counts.stays, 'stay')}: {counts.unsupported:,} unsupported and {counts.missing:,} missing "
        f"procedures. Listed here, strongest first: {listed:,}."
    )


def _strength(audit: FileAudit) -> str:
    settings = audit.settings
    return (
        f"Strength is the probability that a finding is a mistake, if {settings.wrong:.0%} of stays had a procedure "
        f"that is not theirs and {settings.omitted:.0%} of procedures were not coded. Findings have a strength of "
        f"{settings.precision:g} or more."
    )


def _controls() -> Markup:
    options = [el("option", "all", value=""), *(el("option", kind, value=kind) for kind in KINDS)]
    return el(
        "form",
        el("label", "Finding", el("select", options, id="kind")),
        el("label", "Stay, code or words", el("input", id="text", type="search", autocomplete="off")),
        el("label", el("input", id="open", type="checkbox"), " hide what is done", class_="line"),
        el("span", id="shown", class_="muted", role="status"),
    )


def _heads(procedures: Notation, reasons: Notation) -> list[Markup]:
    names = {
        "strength": "Strength",
        "stay": "Stay",
        "finding": "Finding",
        "procedure": _with_system("Procedure", procedures),
        "probability": "Probability",
        "rank": "Rank",
        "because": _with_system("Best-supporting diagnoses", reasons),
    }
    return [el("th", "Done", scope="col"), *(_head(name, shown) for name, shown in names.items())]


def _with_system(name: str, notation: Notation) -> str:
    return f"{name} ({notation.name})" if notation.name else name


def _head(name: str, shown: str) -> Markup:
    return el(
        "th",
        el("button", shown, type="button"),
        scope="col",
        data_text="1" if name in TEXT_COLUMNS else None,
        aria_sort="descending" if name == "strength" else None,
    )


def _row(finding: Mapping[str, Any], procedures: Notation, reasons: Notation) -> Markup:
    kind, stay = finding["kind"], str(finding["stay_id"])
    strength, probability = finding["strength"], finding["probability"]
    meter = el("meter", min="0", max="1", value=f"{strength:.3f}")
    return el(
        "tr",
        el("td", el("input", type="checkbox", aria_label=f"Done: stay {stay}")),
        el("td", meter, f" {strength:.2f}", class_="number", data_value=f"{strength:.9g}"),
        el("td", stay),
        el("td", kind, class_="kind"),
        el("td", _code(finding["code"], procedures), f" {finding['title']}"),
        el("td", shown_probability(probability), class_="number", data_value=f"{probability:.9g}"),
        el("td", str(finding["rank"]), class_="number"),
        el("td", _reasons(finding["because"], reasons)),
        class_=kind,
    )


def _reasons(because: Sequence[Mapping[str, Any]], notation: Notation) -> list[Markup]:
    """The diagnoses with a share worth showing; the first one in any case."""
    shown = [one for place, one in enumerate(because) if place == 0 or one["share"] >= LEAST_SHARE]
    return [
        el("div", _code(one["code"], notation), f" {_title(one['code'])} ({one['share']:.0%})")
        for one in shown
    ]


def _code(code: str, notation: Notation) -> Markup:
    return el("span", notation.write(code), class_="code")


@cache
def _title(code: str) -> str:
    return title(code).text
