"""Entering codes: typing, choosing by keyboard, pasting, removing, undoing, and the address that keeps it all."""

from __future__ import annotations

from typing import Any

from dx2px.codes import is_listed

DOWN, ENTER, ESCAPE, BACK, CONTROL = "\ue015", "\ue007", "\ue00c", "\ue003", "\ue009"
CODES = "#diagnoses .code"
FIELD = "#diagnosis-input"
OPTIONS = "#diagnosis-list [role=option]"
OFFERED = (
    "const found = [...document.querySelectorAll(arguments[0])];"
    "return found.length > 2 && found[0].checkVisibility()"
)


def typed(page: Any, text: str) -> None:
    page.click(FIELD)
    page.keys(text)


def listed(page: Any, *codes: str) -> None:
    page.until(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent).join()"
        " === arguments[1].join()",
        CODES,
        list(codes),
    )


def test_words_find_a_code_that_the_keyboard_chooses(page: Any) -> None:
    page.open()
    typed(page, "kidney disease")
    page.until(OFFERED, OPTIONS)
    field = page.find(FIELD)
    assert field.get_attribute("aria-expanded") == "true"
    first = field.get_attribute("aria-activedescendant")
    page.keys(DOWN)
    second = field.get_attribute("aria-activedescendant")
    assert first != second
    chosen = page.run("return document.getElementById(arguments[0])", second)
    assert chosen.get_attribute("aria-selected") == "true"
    code = page.text(f"#{second} .code")
    page.keys(ENTER)
    listed(page, code)
    assert field.get_attribute("aria-expanded") == "false"
    assert field.get_attribute("value") == ""
    typed(page, "heart")
    page.until(OFFERED, OPTIONS)
    page.keys(ESCAPE)
    assert not page.shown("#diagnosis-list")
    assert field.get_attribute("value") == "heart"
    page.keys(ESCAPE)
    assert field.get_attribute("value") == ""
    typed(page, "zzzzqqq")
    page.until("return document.querySelector('#diagnosis-list').textContent === 'No matching code.'")
    page.keys(ENTER)
    assert page.texts(CODES) == [code]
    page.keys(ESCAPE + ESCAPE)
    typed(page, "585")
    page.until("return document.querySelector('#diagnosis-list .code')?.textContent === '585.6'")
    options = page.texts(OPTIONS)
    assert "not in the model" not in options[0]
    assert all("not in the model" in text for text in options[1:]), "known codes come first"


def test_enter_does_not_wait_for_the_server(page: Any, weather: Any) -> None:
    page.open()
    typed(page, "518.81" + ENTER)
    listed(page, "518.81")
    typed(page, "unspecified septicemia" + ENTER)  # the first hit of the words, once it is there
    listed(page, "518.81", "038.9")
    typed(page, "N18.6" + ENTER)
    listed(page, "518.81", "038.9", "N18.6")
    page.until("return document.querySelector('#diagnoses .reading')")
    read = "Read as 585.6 End stage renal disease (ICD-9-CM, exact)."
    assert page.text("#diagnoses .reading") == read
    assert page.texts("#diagnoses .title")[2] == "End stage renal disease"
    typed(page, "585.6" + ENTER)  # what N18.6 was read as: neither goes without a word
    listed(page, "518.81", "038.9", "585.6", "N18.6")
    page.until("return document.querySelector('#diagnoses .reading')?.textContent.endsWith('counts once.')")
    assert page.text("#diagnoses .reading") == f"{read} It is in the list already and counts once."
    page.run(
        "document.querySelector('#diagnoses [data-diagnosis] [data-key^=\"remove icd9cm:5856\"]').click()"
    )
    listed(page, "518.81", "038.9", "N18.6")
    page.driver.refresh()
    assert "39.95" in page.procedures()
    # Words that are searched for are in addresses, the codes of the stay only in bodies.
    asked = page.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [one for one in asked if "518" in one or "N18" in one] == []
    assert {path for path, body in weather.bodies if b"N186" in body} == {"/api/explain"}


def test_a_pasted_list_gives_each_code_once(page: Any) -> None:
    page.open()
    page.paste(FIELD, "585.6 End stage renal disease\n518.81, 414.01\nno code here\n5856")
    listed(page, "585.6", "518.81", "414.01")
    assert (
        page.text("#diagnosis-hint") == "Added 3 codes. 1 code already listed. Skipped 1 line without a code."
    )
    page.procedures()
    assert page.texts("#diagnoses .title")[0] == "End stage renal disease"
    page.click("#clear")
    listed(page)
    assert page.text("#diagnosis-hint") == "Type a code or words, or paste a list.", "nothing stale is left"
    assert page.text("#diagnosis-undo span") == "Removed 3 codes."
    assert page.run("return document.activeElement.id") == "diagnosis-input"
    assert page.run(
        "const data = new DataTransfer(); data.setData('text/plain', 'heart failure');"
        "return document.querySelector(arguments[0]).dispatchEvent("
        "new ClipboardEvent('paste', {clipboardData: data, cancelable: true}))",
        FIELD,
    ), "words go into the field: the browser's own pasting is not prevented"


def test_removal_can_be_undone_by_button_and_by_keys(page: Any) -> None:
    page.open("dx=585.6,518.81,414.01")
    page.procedures()
    for undo in (lambda: page.click("#diagnosis-undo .link"), lambda: page.chord(CONTROL, "z")):
        page.click("[data-key='remove icd9cm:51881']")
        listed(page, "585.6", "414.01")
        assert page.text("#diagnosis-undo span") == "Removed 518.81."
        undo()
        listed(page, "585.6", "518.81", "414.01")
    assert not page.shown("#diagnosis-undo")
    page.click("[data-key='remove icd9cm:5856']")
    typed(page, "428.0" + ENTER)
    listed(page, "518.81", "414.01", "428.0")
    page.click("#diagnosis-undo .link")
    listed(page, "585.6", "518.81", "414.01", "428.0")  # what was added since stays
    page.run("location.hash = 'dx=82021,585.6'")
    page.procedures("79.35")
    page.run("document.querySelector(\"[data-key='remove icd9cm:82021']\").focus()")
    page.keys(ENTER)
    assert page.run("return document.activeElement.dataset.key") == "remove icd9cm:5856", "the next row"
    page.keys(ENTER)
    assert page.run("return document.activeElement.id") == "diagnosis-input"


def test_examples_are_of_listed_codes_and_undo_brings_the_old_stay_back(page: Any) -> None:
    page.open("dx=585.6&yes=icd9pcs:3995&no=icd9pcs:9604")
    page.procedures()
    assert len(page.texts(".example")) == 3
    for place in (2, 0, 1):
        page.run("document.querySelectorAll('.example')[arguments[0]].click()", place)
        page.procedures()
        codes = page.run(
            "return [...document.querySelectorAll('#diagnoses [data-diagnosis]')].map((one) => one.dataset.diagnosis)"
        )
        assert len(codes) >= 5
        assert all(is_listed(code) for code in codes)
        assert "yes=" not in page.driver.current_url, "the verdicts were on another stay"
    for _ in range(3):
        page.chord(CONTROL, "z")
    listed(page, "585.6")
    assert "yes=icd9pcs:3995&no=icd9pcs:9604" in page.driver.current_url


def test_the_address_keeps_the_state_over_a_reload(page: Any) -> None:
    page.open("dx=585.6,518.81")
    before = page.procedures()
    page.click(f"[data-key='accept icd9pcs:{before[0].replace('.', '')}']")
    page.click(f"[data-key='reject icd9pcs:{before[1].replace('.', '')}']")
    page.run("document.querySelector('input[value=heat]').click()")
    address = page.driver.current_url
    assert "dx=icd9cm:5856,icd9cm:51881" in address
    page.driver.refresh()
    assert page.procedures() == before
    assert page.driver.current_url == address
    pressed = page.texts("#procedures [aria-pressed=true]")
    assert len(pressed) == 2
    assert page.run("return document.querySelector('input[value=heat]').checked")
    assert page.find("#figure .cell")
