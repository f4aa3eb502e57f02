"""The audit tab: one stay as it is entered, several stays at once, and what is sent of them."""

from __future__ import annotations

import json
from typing import Any

RIGHT, ENTER = "\ue014", "\ue007"


MANY = " ".join(str(code) for code in range(300, 501))  # one more than a stay may have
LINES = f"""Jane Doe | 585.6 | 39.95
b 585.6
c | 585.6 abc 518.81 | 39.95
d | {MANY} | 39.95
e | 585.6 End stage renal disease; 518.81 | 79.35"""


def findings(page: Any, kind: str) -> list[str]:
    return list(page.texts(f"#findings .{kind} .code"))


def test_an_omitted_procedure_is_found_and_added(page: Any) -> None:
    page.open("dx=585.6,518.81&yes=icd9pcs:3995")
    page.procedures()
    page.run("document.querySelector('#tab-recommend').focus()")
    page.keys(RIGHT)
    assert page.shown("#panel-audit")
    assert not page.shown("#panel-recommend")
    assert page.find("#tab-audit").get_attribute("aria-selected") == "true"
    page.click("#audit-take")
    page.until("return document.querySelectorAll('#audit-diagnoses .code').length === 2")
    assert page.texts("#audit-procedures .code") == ["39.95"], "what was ticked in the other tab"
    page.run("location.hash = 'tab=audit'")
    page.until("return !document.querySelector('#audit-diagnoses .code')")
    for field, code in (("audit-diagnosis", "585.6"), ("audit-procedure", "79.35")):
        page.click(f"#{field}-input")
        page.keys(code + ENTER)
    page.until("return document.querySelector('#findings .omitted .code')")
    assert "39.95" in findings(page, "omitted")
    assert page.texts("#audit-procedures .code") == ["79.35"]
    page.click("#findings .omitted button[aria-label^='Add 39.95']")
    page.until("return document.querySelectorAll('#audit-procedures .code').length === 2")
    page.until(
        "return ![...document.querySelectorAll('#findings .code')].some((one) => one.textContent === '39.95')"
    )
    assert (
        page.until("return document.querySelector('#audit-diagnoses .title').textContent")
        == "End stage renal disease"
    )


def test_an_unsupported_procedure_is_found_and_removed(page: Any) -> None:
    page.open("tab=audit&adx=585.6,518.81,995.92,038.9&apx=39.95,79.35")
    page.until("return document.querySelector('#audit-answer:not([aria-busy]) #findings section')")
    expected = page.run(
        "return fetch('api/audit', {method: 'POST', headers: {'content-type': 'application/json'},"
        " body: JSON.stringify("
        "{stays: [{id: '1', diagnoses: ['585.6', '518.81', '995.92', '038.9'], procedures: ['39.95', '79.35']}]})})"
        ".then((answer) => answer.json())"
    )["stays"][0]
    told = [(one["kind"], one["code"]) for one in expected["findings"]]
    assert ("unsupported", "icd9pcs:7935") in told
    assert findings(page, "unsupported") == ["79.35"]
    assert len(page.texts("#findings .finding")) == len(told)
    assert page.texts("#audit-procedures .asked .code") == ["79.35"], "it is marked in the stay"
    assert page.texts("#audit-procedures .asked .kind-mark") == ["unsupported"]
    page.click("#findings .unsupported button")
    page.until("return document.querySelectorAll('#audit-procedures .code').length === 1")
    page.click("#audit-undo .link")
    page.until("return document.querySelectorAll('#audit-procedures .code').length === 2")


def test_lines_that_cannot_be_read_are_marked_and_the_others_answered(page: Any, weather: Any) -> None:
    page.open("tab=audit")
    page.run("document.querySelector('.several').open = true")
    page.run("document.querySelector('#audit-lines').value = arguments[0]", LINES)
    page.click("#audit-run")
    page.until("return document.querySelectorAll('#findings .stay').length === 5")
    marked = page.texts("#findings .flawed .status")
    assert (
        marked[0] == "Line 2 was not audited: two bars are needed, it has none: "
        "write name | diagnoses | procedures (the name may be empty)."
    )
    assert marked[1] == "Line 3 was not audited: abc: not a code."
    assert "Line 4 was not audited: " in marked[2], "the server refused it"
    assert "at most 200" in marked[2]
    assert page.texts("#findings .stay h3") == ["Jane Doe", "c", "d", "e"]
    sent = [body for path, body in weather.bodies if path == "/api/audit"]
    assert ["1", "4", "5"] in [[stay["id"] for stay in json.loads(body)["stays"]] for body in sent]
    assert not any(b"Doe" in body for body in sent), "names never leave the browser"
    assert "Doe" not in page.driver.current_url
    whole = page.run(
        "return [...document.querySelectorAll('#findings .stay:last-child .whole')].map((list) =>"
        " [...list.querySelectorAll('.code')].map((one) => one.textContent))"
    )
    assert whole == [["585.6", "518.81"], ["79.35"]]
    assert page.texts("#findings .stay:last-child .asked .code") == ["79.35"]
    assert page.texts("#findings .stay:last-child .asked .kind-mark") == ["unsupported"]
    page.until("return document.querySelector('#findings .stay:last-child .whole .title').textContent")
    assert "3 lines could not be audited" in page.text("#live")
