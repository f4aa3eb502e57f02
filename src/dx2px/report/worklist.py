"""A worklist of an audit's findings: one HTML page that opens without a network, to sort, filter and tick off.

Everything that comes from the data is escaped. The page may run its own script and no other, by its hash, and may load
nothing. What is ticked is not stored: the page holds stay ids, and a browser's storage is no place for them.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from dx2px.codes import dotted, title
from dx2px.errors import CodeError
from dx2px.inference.audit_file import FileAudit
from dx2px.inference.results import shown_probability
from dx2px.storage import write_text
from dx2px.words import counted

LISTED = 2000  # findings on a page, which a browser sorts in no time
KINDS = {"unsupported": "hardly supported", "missing": "expected, absent"}
SCOPE = (
    "A finding compares a stay with how stays like it were coded in the model's data. It is a reason to look, no proof "
    "of a mistake, and no medical advice."
)
COLUMNS = (
    ("strength", "Strength"),
    ("stay", "Stay"),
    ("finding", "Finding"),
    ("procedure", "Procedure"),
    ("probability", "Probability"),
    ("rank", "Rank"),
    ("because", "Best-supporting diagnoses"),
)

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e8eb); --muted: light-dark(#57606a, #a3abb5);
  --page: light-dark(#ffffff, #14171a); --line: light-dark(#d8dde3, #343a41); --head: light-dark(#f4f6f8, #1d2125);
  --wrong: light-dark(#a63d00, #ffa56b); --absent: light-dark(#0b5aa8, #7fbcff); }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 1.5rem; }
h1 { font-size: 1.35rem; margin: 0 0 .3rem; } p { margin: .3rem 0; max-width: 60rem; } .muted { color: var(--muted); }
form { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; margin: 1rem 0; align-items: end; }
label { display: inline-flex; flex-direction: column; font-size: .85rem; color: var(--muted); gap: .15rem; }
label.line { flex-direction: row; align-items: center; gap: .4rem; }
input, select, button { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line);
  border-radius: 4px; padding: .25rem .4rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th { position: sticky; top: 0; background: var(--head); text-align: left; border-bottom: 1px solid var(--line); }
th button { border: 0; background: none; font-weight: 600; padding: .4rem; cursor: pointer; white-space: nowrap; }
th[aria-sort=ascending] button::after { content: " ▲"; } th[aria-sort=descending] button::after { content: " ▼"; }
td { border-bottom: 1px solid var(--line); padding: .35rem .4rem; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.kind { white-space: nowrap; font-weight: 600; } .unsupported .kind { color: var(--wrong); }
.missing .kind { color: var(--absent); } .code { font-family: ui-monospace, monospace; white-space: nowrap; }
meter { width: 4rem; } tr.done { opacity: .45; } @media print { form { display: none; } }
"""

SCRIPT = """
"use strict";
const body = document.querySelector("tbody");
const rows = [...body.rows];
const kind = document.getElementById("kind"), text = document.getElementById("text");
const hideDone = document.getElementById("open"), shown = document.getElementById("shown");
function filter() {
  const words = text.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const content = row.textContent.toLowerCase();
    const hidden = (kind.value && !row.classList.contains(kind.value)) ||
      (hideDone.checked && row.classList.contains("done")) || words.some((word) => !content.includes(word));
    row.hidden = hidden;
    count += hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${rows.length} findings shown`;
}
function sort(head) {
  const place = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  const rising = before === "descending" || (before === null && head.dataset.text === "1");
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const key = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
  const compare = head.dataset.text === "1" ? (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true })
    : (a, b) => Number(key(a)) - Number(key(b));
  rows.sort((a, b) => (rising ? 1 : -1) * compare(a, b));
  body.append(...rows);
}
document.querySelector("thead").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button) sort(button.closest("th"));
});
body.addEventListener("change", (event) => {
  event.target.closest("tr").classList.toggle("done", event.target.checked);
  filter();
});
document.querySelector("form").addEventListener("input", filter);
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
filter();
"""


def save_worklist(audit: FileAudit, path: str | os.PathLike[str], listed: int = LISTED) -> None:
    """Write the page of the strongest findings, all or nothing."""
    write_text(path, worklist(audit, listed))


def worklist(audit: FileAudit, listed: int = LISTED) -> str:
    """The page as text."""
    found = audit.findings.slice(0, listed).to_pylist()
    sources = f"script-src '{_hash(SCRIPT)}'; style-src '{_hash(STYLE)}'"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>Audit of coded stays</title><style>{STYLE}</style></head><body>",
            f"<h1>Audit of coded stays</h1><p>{escape(_summary(audit, len(found)))}</p>",
            f'<p class="muted">{escape(_reading(audit))} {escape(SCOPE)}</p>',
            _controls(),
            f'<div class="scroll"><table><thead><tr><th>Done</th>{_heads()}</tr></thead><tbody>',
            *(_row(finding) for finding in found),
            f"</tbody></table></div><script>{SCRIPT}</script></body></html>\n",
        ]
    )


def _summary(audit: FileAudit, listed: int) -> str:
    counts = audit.counts
    return (
        f"{counted(counts.stays, 'stay')}: {counted(counts.unsupported, 'coded procedure')} hardly supported by the "
        f"diagnoses, {counts.missing:,} expected but absent. Listed, strongest first: {listed:,}."
    )


def _reading(audit: FileAudit) -> str:
    settings = audit.settings
    return (
        f"Strength is the probability that a finding is a mistake, if {settings.wrong:.0%} of stays carried a "
        f"procedure not theirs and {settings.omitted:.0%} of procedures were left out; findings from "
        f"{settings.precision:g} on count."
    )


def _controls() -> str:
    kinds = "".join(f'<option value="{kind}">{shown}</option>' for kind, shown in KINDS.items())
    return (
        f'<form><label>Finding<select id="kind"><option value="">all</option>{kinds}</select></label>'
        '<label>Stay, code or words<input id="text" type="search" autocomplete="off"></label>'
        '<label class="line"><input id="open" type="checkbox"> hide what is done</label>'
        '<span id="shown" class="muted" role="status"></span></form>'
    )


def _heads() -> str:
    texts = ("stay", "finding", "procedure", "because")
    marks = dict.fromkeys(texts, ' data-text="1"') | {"strength": ' aria-sort="descending"'}
    return "".join(
        f'<th scope="col"{marks.get(name, "")}><button type="button">{shown}</button></th>'
        for name, shown in COLUMNS
    )


def _row(finding: Mapping[str, Any]) -> str:
    kind, stay = finding["kind"], escape(str(finding["stay_id"]))
    strength, probability = finding["strength"], finding["probability"]
    cells = [
        f'<td><input type="checkbox" aria-label="Done: stay {stay}"></td>',
        f'<td class="number" data-value="{strength:.9g}">{_meter(strength)} {strength:.2f}</td>',
        f"<td>{stay}</td>",
        f'<td class="kind">{KINDS[kind]}</td>',
        f"<td>{_code(finding['code'])} {escape(finding['title'])}</td>",
        f'<td class="number" data-value="{probability:.9g}">{shown_probability(probability)}</td>',
        f'<td class="number">{finding["rank"]}</td>',
        f"<td>{'<br>'.join(_reason(reason) for reason in finding['because'])}</td>",
    ]
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _meter(strength: float) -> str:
    return f'<meter min="0" max="1" value="{strength:.3f}"></meter>'


def _reason(reason: Mapping[str, Any]) -> str:
    return f"{_code(reason['code'])} {escape(_title(reason['code']))} ({reason['share']:.0%})"


def _code(code: str) -> str:
    return f'<span class="code" title="{escape(code)}">{escape(_dotted(code))}</span>'


@cache
def _title(code: str) -> str:
    return title(code).text


def _dotted(code: str) -> str:
    try:
        return dotted(code)
    except CodeError:
        return code


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
