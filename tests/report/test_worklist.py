"""The worklist: whole, self-contained, and deaf to markup in what it shows."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dx2px.answers.audit_file import FileAudit
from dx2px.answers.audit_stream import AuditCounts, findings_schema
from dx2px.answers.defects import AuditSettings
from dx2px.report.worklist import save_worklist, worklist

HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>&amp;"


def audit(rows: list[dict[str, Any]], stay_id: pa.DataType | None = None) -> FileAudit:
    table = pa.Table.from_pylist(rows, schema=findings_schema(stay_id or pa.string()))
    counts = AuditCounts(stays=1234, unsupported=len(rows), missing=0)
    return FileAudit(table, counts, AuditSettings(), "model")


def finding(**more: Any) -> dict[str, Any]:
    return {
        "stay_id": "A1",
        "kind": "unsupported",
        "code": "icd9pcs:3995",
        "title": "Hemodialysis",
        "strength": 0.75,
        "probability": 0.00004,
        "rank": 17,
        "because": [{"code": "icd9cm:4280", "share": 0.6}, {"code": "icd9cm:5849", "share": 0.4}],
    } | more


class Page(HTMLParser):
    """The elements of a page, the cells of its table, and its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self.inline: dict[str, str] = {}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag if tag in ("script", "style") else self._open
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = "" if tag == self._open else self._open

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inline[self._open] = self.inline.get(self._open, "") + data
        elif self.cells and self.cells[-1]:
            self.cells[-1][-1] += data


def test_a_finding_is_told_whole() -> None:
    page = Page(worklist(audit([finding()])))
    head, row = page.cells
    assert len(head) == len(row) == 8
    assert row[1:7] == [" 0.75", "A1", "unsupported", "39.95 Hemodialysis", "< 0.1%", "17"]
    assert "428.0 Congestive heart failure, unspecified (60%)" in row[7]


def test_codes_of_two_systems_are_marked_and_shares_of_nothing_left_out() -> None:
    because = [("icd9cm:4280", 0.6), ("icd10cm:N179", 0.4), ("icd9cm:5849", 0.001)]
    mixed = finding(because=[{"code": code, "share": share} for code, share in because])
    head, row = Page(worklist(audit([mixed]))).cells
    assert head[4] == "Procedure (ICD-9-CM)"
    assert head[7] == "Best-supporting diagnoses (ICD-9-CM, ICD-10-CM)"
    assert "428.0 (ICD-9-CM) Congestive" in row[7]
    assert "N17.9 (ICD-10-CM) Acute" in row[7]
    assert "584.9" not in row[7]


def test_markup_in_the_data_stays_text() -> None:
    hostile = [finding(stay_id=HOSTILE, title=HOSTILE, code="icd9pcs:3995")]
    text = worklist(audit(hostile))
    page = Page(text)
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in Page(worklist(audit([finding()]))).tags}
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.cells[1][2] == HOSTILE


def test_the_page_runs_its_own_script_alone_and_loads_nothing() -> None:
    text = worklist(audit([finding()]))
    page = Page(text)
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inline[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert not any({"src", "href", "style"} & attributes.keys() for _, attributes in page.tags)
    assert not re.search(r"https?://|url\(|@import|localStorage|innerHTML", text)


def test_the_scope_and_the_settings_are_said() -> None:
    text = worklist(audit([finding()]))
    assert "not proof of a mistake, and not medical advice" in text
    assert "1,234 stays" in text
    assert "if 5% of stays had a procedure that is not theirs" in text


def test_only_the_strongest_are_listed() -> None:
    page = Page(worklist(audit([finding(stay_id=str(place)) for place in range(30)]), listed=7))
    assert [row[2] for row in page.cells[1:]] == [str(place) for place in range(7)]
    assert "Listed here, strongest first: 7." in worklist(audit([finding()] * 30), listed=7)


@pytest.mark.parametrize("stay_id", [17, None])
def test_other_ids(stay_id: int | None, tmp_path: Path) -> None:
    save_worklist(audit([finding(stay_id=stay_id)], pa.int64()), tmp_path / "W.html")
    assert Page((tmp_path / "W.html").read_text()).cells[1][2] == str(stay_id)


def test_no_findings_make_a_page_too() -> None:
    assert len(Page(worklist(audit([]))).cells) == 1
