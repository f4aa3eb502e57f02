"""The worklist: whole stays, groups, ticks, CSV and paper; self-contained, and deaf to markup in what it shows."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dx2px.answers.audit_file import FileAudit
from dx2px.answers.audit_stream import AuditCounts, Tally, findings_schema
from dx2px.answers.defects import KINDS, AuditSettings
from dx2px.report.worklist import save_worklist, worklist

PATIENCE = 10  # seconds until a wait fails
HOSTILE = "<img src=x onerror=alert(1)>\"'></script><script>alert(2)</script>&amp;"
VACCINE, DIALYSIS, STENT, VESSEL = "icd9pcs:9955", "icd9pcs:3995", "icd9pcs:3606", "icd9pcs:0040"


def finding(**more: Any) -> dict[str, Any]:
    return {
        "stay_id": "A1",
        "kind": "unsupported",
        "code": DIALYSIS,
        "title": "Hemodialysis",
        "other": None,
        "strength": 0.75,
        "probability": 0.00004,
        "rank": 17,
        "because": [{"code": "icd9cm:4280", "share": 0.6}, {"code": "age:45–54,sex:M", "share": 0.399}],
        "suggested": [],
        "diagnoses": ["icd9cm:5849", "icd9cm:4280"],
        "procedures": [VACCINE, DIALYSIS],
    } | more


def omitted(number: int, strength: float) -> dict[str, Any]:
    """A newborn without the usual vaccine."""
    newborn = {"diagnoses": ["icd9cm:V3000"], "procedures": ["icd9pcs:640"], "probability": 0.6, "rank": 1}
    support = [{"code": "icd9cm:V3000", "share": 0.97}, {"code": "icd9cm:7746", "share": 0.004}]
    return finding(
        stay_id=f"N{number}", kind="omitted", code=VACCINE, strength=strength, because=support, **newborn
    )


def audit(rows: list[dict[str, Any]], stay_id: pa.DataType | None = None) -> FileAudit:
    """The findings of a file in which each group has ten more that were not kept."""
    procedures = sorted({row["code"] for row in rows})
    tally, by_kind = Tally.none(len(procedures)), dict.fromkeys(KINDS, 0)
    for row in rows:
        place = KINDS.index(row["kind"]), procedures.index(row["code"])
        by_kind[row["kind"]] += 1
        tally.number[place] += 1
        tally.probability[place] += row["probability"]
    more = np.where(tally.number > 0, 10, 0)
    means = tally.probability / np.maximum(tally.number, 1)
    tally = tally.plus(Tally(more, more * means))
    table = pa.Table.from_pylist(rows, schema=findings_schema(stay_id or pa.string()))
    counts = AuditCounts(stays=1234, stays_with_findings=len(rows), by_kind=by_kind)
    return FileAudit(table, counts, AuditSettings(), "model", tally, procedures)


MIXED = [
    finding(),
    finding(
        stay_id="=1+1", strength=0.7, kind="diagnosis", suggested=[{"code": "icd9cm:5856", "share": 0.8}]
    ),
    omitted(1, 0.5),
    omitted(2, 0.4),
    omitted(3, 0.3),
    finding(
        stay_id="C1",
        kind="companion",
        code=VESSEL,
        other=STENT,
        strength=0.2,
        probability=0.5,
        diagnoses=["icd9cm:41401"],
        procedures=[STENT],
    ),
]


class Page(HTMLParser):
    """The elements of a page, its scripts, styles and data, and the rest of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline: dict[str, str] = {}
        self.text = ""
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open = dict(attrs).get("id") or tag

    def handle_endtag(self, tag: str) -> None:
        self._open = "" if tag in ("script", "style") else self._open

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inline[self._open] = self.inline.get(self._open, "") + data
        else:
            self.text += data

    @property
    def data(self) -> Any:
        return json.loads(self.inline["worklist-data"])


def test_a_finding_carries_its_whole_stay() -> None:
    data = Page(worklist(audit(MIXED))).data
    codes = data["codes"]

    def told(places: list[int]) -> list[str]:
        return [codes[place][1] for place in places]

    first, second, companion = data["findings"][0], data["findings"][1], data["findings"][5]
    assert (first["stay"], first["kind"], first["strength"], first["rank"]) == ("A1", "unsupported", 0.75, 17)
    assert told(first["diagnoses"]) == ["584.9", "428.0"]
    assert told(first["procedures"]) == ["99.55", "39.95"]
    assert [codes[place][1:] for place, _ in first["because"]] == [
        ["428.0", "Congestive heart failure, unspecified"],
        ["", "age 45–54, male"],
    ]
    assert told([place for place, _ in second["suggested"]]) == ["585.6"]
    assert told([companion["code"], companion["other"]]) == ["00.40", "36.06"]


def test_groups_count_the_whole_file() -> None:
    data = Page(worklist(audit(MIXED))).data
    vaccine = data["groups"][data["findings"][2]["group"]]
    assert (vaccine["kind"], vaccine["stays"]) == ("omitted", 13)
    assert vaccine["probability"] == pytest.approx(0.6)
    assert "Miscellaneous" in vaccine["chapter"]
    assert data["findings"][3]["group"] == data["findings"][2]["group"] == 0, "the largest comes first"


def test_codes_of_two_systems_are_marked() -> None:
    codes = Page(worklist(audit([finding(diagnoses=["icd9cm:4280", "icd10cm:N179"])]))).data["codes"]
    shown = {code: text for code, text, _ in codes}
    assert shown["icd10cm:N179"] == "N17.9 (ICD-10-CM)"
    assert shown["icd9pcs:3995"] == "39.95"


def test_markup_in_the_data_stays_text() -> None:
    page = Page(worklist(audit([finding(stay_id=HOSTILE, diagnoses=[HOSTILE])])))
    assert {tag for tag, _ in page.tags} == {tag for tag, _ in Page(worklist(audit([finding()]))).tags}
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.data["findings"][0]["stay"] == HOSTILE


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
    assert not re.search(r"https?://|url\(|@import|innerHTML|sessionStorage", text)


def test_the_scope_the_settings_and_the_sizes_are_told() -> None:
    text = Page(worklist(audit(MIXED), listed=4)).text
    assert "not proof of a mistake, and not medical advice" in text
    assert "1,234 stays, 6 of them (0.5%) with a finding." in text
    assert "6 findings (1 unsupported, 3 omitted, 1 companion, 1 diagnosis missing?)." in text
    assert "if 5% of stays had a procedure that is not theirs" in text
    assert "Listed here: the 4 strongest." in text
    assert "Listed here" not in Page(worklist(audit(MIXED))).text


def test_only_the_strongest_are_listed() -> None:
    found = Page(worklist(audit([finding(stay_id=str(place)) for place in range(30)]), listed=7)).data
    assert [one["stay"] for one in found["findings"]] == [str(place) for place in range(7)]


@pytest.mark.parametrize(("stay_id", "shown"), [(17, "17"), (None, "no id")])
def test_other_ids(stay_id: int | None, shown: str, tmp_path: Path) -> None:
    save_worklist(audit([finding(stay_id=stay_id)], pa.int64()), tmp_path / "W.html")
    assert Page((tmp_path / "W.html").read_text()).data["findings"][0]["stay"] == shown


def test_the_fingerprint_belongs_to_the_content() -> None:
    one, again, other = (
        Page(worklist(audit([finding(stay_id=name)]))).data["fingerprint"] for name in ("A", "A", "B")
    )
    assert one == again != other


WORDS = """
const words = (one) => {
  const parts = [], walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) parts.push(walker.currentNode.data.trim());
  return parts.join(' ');
};
"""


class Browser:
    """The worklist in a browser: what a person does and sees."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver, self.path = driver, path

    def open(self, found: FileAudit) -> Browser:
        save_worklist(found, self.path)
        self.driver.get(self.path.as_uri())
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        """The text of elements, a space between their parts; `innerText` is empty while they are out of sight."""
        return list(
            self.run(WORDS + "return [...document.querySelectorAll(arguments[0])].map(words)", selector)
        )

    def click(self, selector: str, place: int = 0) -> None:
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)

    def choose(self, name: str, value: str) -> None:
        self.run(
            "const field = document.querySelector('form').elements[arguments[0]]; field.value = arguments[1];"
            "field.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            value,
        )

    def pages(self) -> int:
        """How many sheets of paper it prints."""
        pdf = base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
        return len(re.findall(rb"/Type\s*/Page\b", pdf))

    def come_back(self, script: str) -> None:
        """Open the page again; a browser may take a moment to pass on what the page before it has stored."""
        deadline = time.monotonic() + PATIENCE
        self.driver.refresh()
        while not self.run(script) and time.monotonic() < deadline:
            time.sleep(0.05)
            self.driver.refresh()

    def stored(self) -> dict[str, str]:
        return dict(self.run("return {...localStorage}"))

    def saved(self) -> list[dict[str, str]]:
        """The rows of the CSV; the download itself is the browser's affair."""
        return list(csv.DictReader(io.StringIO(self.run("return csv()"), newline="")))


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Any:
    page = Browser(driver, tmp_path / "W.html")
    yield page
    page.run("localStorage.clear()")
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_group_opens_to_stays_and_a_stay_to_all_its_codes(browser: Browser) -> None:
    browser.open(audit(MIXED))
    assert len(browser.texts(".group")) == 4
    head = browser.texts(".group .row")[0]
    assert "omitted" in head
    assert "99.55 Prophylactic" in head
    assert "absent: 13 stays (3 shown)" in head
    assert "60 % of such stays have it" in head
    assert browser.texts(".finding") == []
    browser.click(".group .open")
    assert browser.texts(".finding .open") == ["stay N1", "stay N2", "stay N3"]
    browser.click(".finding .open")
    assert browser.texts(".detail li") == [
        "V30.00 Single liveborn, born in hospital, delivered without mention of cesarean section support 97 %",
        "64.0 Circumcision ",
        "99.55 Prophylactic administration of vaccine against other diseases absent",
    ]
    assert browser.texts(".detail li.asked.absent .code") == ["99.55"]
    (verdict,) = browser.texts(".verdict")
    assert "60 % of such stays have it. The support comes from V30.00 (97 %)." in verdict
    assert "40 % of such stays do without it." in verdict
    assert "Probability 60 %, rank 1 of all procedures, strength 0.50." in verdict
    browser.click(".finding .open")
    assert browser.texts(".detail") == []


def test_a_coded_procedure_is_marked_by_its_family(browser: Browser) -> None:
    knee, shoulder = "icd10pcs:0SR[CDTUVW]", "icd10pcs:0RR[EFJK]"
    coded = {"procedures": ["icd10pcs:0SRC0J9", "icd10pcs:30233N1"]}
    because = [{"code": "icd10pcs:302-3", "share": 0.4}]
    rows = [
        finding(code=knee, because=because, **coded),
        finding(kind="companion", code=shoulder, other=knee, strength=0.5, **coded),
    ]
    browser.open(audit(rows)).choose("order", "strength")
    for place in (0, 1):
        browser.click(".finding > .row .open", place)
    assert browser.texts(".unsupported .detail li.asked .code") == ["0SRC0J9"]
    assert browser.texts(".unsupported .detail .note")[3] == "support 40 %"
    assert browser.texts(".companion .detail li.with .code") == ["0SRC0J9"]
    assert browser.texts(".companion .detail li.asked.absent .code") == ["0RR[EFJK]"]


def test_every_kind_is_explained(browser: Browser) -> None:
    browser.open(audit(MIXED))
    browser.choose("order", "strength")
    assert browser.texts(".finding .kind")[:3] == ["unsupported", "diagnosis missing?", "omitted"]
    assert browser.texts(".finding .strength") == ["0.75", "0.70", "0.50", "0.40", "0.30", "0.20"]
    levels = browser.run("return [...document.querySelectorAll('.strength')].map((one) => one.classList[1])")
    assert levels == ["strong", "strong", "strong", "middle", "middle", "weak"]
    for place in (0, 1, 5):
        browser.click(".finding > .row .open", place)
    wrong, unexplained, companion = browser.texts(".verdict")
    assert "< 0.1 % of such stays have it." in wrong
    assert "comes from 428.0 (60 %), age 45–54, male (40 %)" in wrong
    assert "usually explain it 585.6 End stage renal disease 80 %" in unexplained
    assert "It usually goes with 36.06 Insertion of non-drug-eluting coronary artery stent(s)" in companion
    assert browser.texts(".detail li.asked .note") == ["questioned", "not explained", "absent"]
    assert browser.texts(".detail li.with .note") == ["goes with it"]


def test_filters(browser: Browser) -> None:
    browser.open(audit(MIXED))
    browser.choose("order", "strength")
    shown = "return document.getElementById('shown').textContent"
    for name, value, stays in (
        ("kind", "companion", ["C1"]),
        ("kind", "", ["A1", "=1+1", "N1", "N2", "N3", "C1"]),
        ("group", "0", ["N1", "N2", "N3"]),
        ("group", "", ["A1", "=1+1", "N1", "N2", "N3", "C1"]),
        ("text", "584.9 DIALYSIS =1", ["=1+1"]),
        ("text", "circumcision", ["N1", "N2", "N3"]),
        ("text", "", ["A1", "=1+1", "N1", "N2", "N3", "C1"]),
        ("chapter", "Cardiovascular system", ["A1", "=1+1"]),
    ):
        browser.choose(name, value)
        assert browser.texts(".finding .stay") == stays, (name, value)
        assert browser.run(shown) == f"{len(stays)} of 6 findings shown, 0 done."
    browser.click(".finding input")
    browser.click("[name=hide]")
    assert browser.texts(".finding .stay") == ["=1+1"]
    assert browser.run(shown) == "1 of 6 findings shown, 1 done."


def test_ticks_are_kept_only_if_asked_for_and_name_no_stay(browser: Browser) -> None:
    browser.open(audit(MIXED))
    browser.click(".group input")
    assert browser.run("return document.getElementById('shown').textContent") == (
        "6 of 6 findings shown, 3 done."
    )
    assert browser.stored() == {}
    browser.click("#remember")
    assert list(browser.stored().values()) == ["[2,3,4]"]
    assert not re.search("N1|V30|9955", json.dumps(browser.stored()))
    browser.come_back("return document.getElementById('remember').checked")
    browser.click(".group .open")
    ticks = browser.run("return [...document.querySelectorAll('.finding input')].map((one) => one.checked)")
    assert ticks == [True, True, True]
    browser.click(".finding input", 1)
    assert browser.run("return document.querySelector('.group input').indeterminate")
    assert [row["done"] for row in browser.saved()] == ["no", "no", "yes", "no", "yes", "no"]
    browser.click("#remember")
    assert browser.stored() == {}


def test_the_csv_has_what_is_shown_and_runs_nothing(browser: Browser) -> None:
    browser.open(audit(MIXED))
    browser.choose("kind", "diagnosis")
    (row,) = browser.saved()
    assert row["stay_id"] == "'=1+1"
    assert (row["kind"], row["code"], row["other"]) == ("diagnosis", DIALYSIS, "")
    assert row["because"] == "icd9cm:4280 60%; age:45–54,sex:M 40%"
    assert row["suggested"] == "icd9cm:5856 80%"
    assert row["diagnoses"] == "icd9cm:5849; icd9cm:4280"
    assert "drg_coded" not in row
    browser.choose("kind", "omitted")
    assert [one["because"] for one in browser.saved()] == ["icd9cm:V3000 97%"] * 3


def test_the_keyboard_is_enough(browser: Browser) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    browser.open(audit(MIXED))
    browser.run("document.querySelector('.group .open').focus()")
    down, enter = "\ue015", "\ue007"
    ActionChains(browser.driver, duration=0).send_keys(enter, down, down, enter, "x").perform()
    assert browser.run("return document.activeElement.innerText") == "stay N2"
    assert browser.texts(".finding.done .open") == ["stay N2"]
    assert len(browser.texts(".detail")) == 1


def test_paper_has_what_is_shown(browser: Browser) -> None:
    findings = [finding(stay_id=f"N{number}", diagnoses=[DIALYSIS] * 40) for number in range(30)]
    browser.open(audit([finding(stay_id="ONE"), *findings]))
    assert browser.pages() == 1  # groups that are closed stay closed
    browser.click("#all")
    assert len(browser.texts(".detail")) == 31
    assert browser.pages() > 5
    browser.choose("text", "ONE")
    assert browser.pages() == 1
    browser.click("#all")
    assert browser.texts(".detail") == []


@pytest.mark.parametrize("order", ["group", "strength"])
def test_nothing_scrolls_sideways_and_markup_stays_text(browser: Browser, order: str) -> None:
    poisoned = finding(stay_id=HOSTILE, diagnoses=[HOSTILE, "icd9cm:4280"])
    browser.open(audit([*MIXED, poisoned]))
    browser.choose("order", order)
    browser.run("document.querySelectorAll('.open').forEach((one) => one.click())")
    browser.run(
        "document.querySelectorAll('.finding .open[aria-expanded=false]').forEach((one) => one.click())"
    )
    assert HOSTILE in browser.run("return document.body.textContent")
    assert browser.run("return document.querySelectorAll('img').length") == 0
    for width in (1280, 390, 320):
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_many_findings_and_none(browser: Browser) -> None:
    browser.open(audit([omitted(place, 0.5) for place in range(2000)]))
    browser.choose("order", "strength")
    assert browser.run("return document.querySelectorAll('.finding').length") == 2000
    assert len(browser.saved()) == 2000
    browser.open(audit([]))
    assert (
        browser.run("return document.getElementById('shown').textContent") == "0 of 0 findings shown, 0 done."
    )
