"""Entering codes: typing, choosing by keyboard, pasting, removing, undoing, and the address that keeps it all."""

from __future__ import annotations

from typing import Any

from dx2px.codes import is_listed

DOWN, ENTER, ESCAPE, BACK, CONTROL = "\ue015", "\ue007", "\ue00c", "\ue003", "\ue009"
CODES = "#diagnoses .code"
FIELD = "#diagnosis-input"
OPTIONS = "#diagnosis-list [role=option]"


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
    page.until("return document.querySelectorAll(arguments[0]).length > 2", OPTIONS)
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


def test_known_codes_come_first_and_others_are_marked(page: Any) -> None:
    page.open()
    typed(page, "585")
    page.until("return document.querySelectorAll(arguments[0]).length > 2", OPTIONS)
    assert page.texts(f"{OPTIONS} .code")[0] == "585.6"
    assert "not in the model" not in page.texts(OPTIONS)[0]
    assert all("not in the model" in text for text in page.texts(OPTIONS)[1:])


def test_enter_does_not_wait_for_the_server(page: Any) -> None:
    page.open()
    typed(page, "585.6" + ENTER)
    listed(page, "585.6")
    assert page.procedures("39.95")


def test_enter_before_the_answer_takes_the_first_hit_of_the_words(page: Any) -> None:
    page.open()
    typed(page, "end stage renal" + ENTER)
    listed(page, "585.6")


def test_escape_closes_then_clears(page: Any) -> None:
    page.open()
    typed(page, "heart")
    page.until("return document.querySelectorAll(arguments[0]).length > 2", OPTIONS)
    page.keys(ESCAPE)
    assert not page.shown("#diagnosis-list")
    assert page.find(FIELD).get_attribute("value") == "heart"
    page.keys(ESCAPE)
    assert page.find(FIELD).get_attribute("value") == ""


def test_nothing_fits(page: Any) -> None:
    page.open()
    typed(page, "zzzzqqq")
    page.until("return document.querySelector('#diagnosis-list').textContent === 'No matching code.'")
    page.keys(ENTER)
    assert page.texts(CODES) == []


def test_a_pasted_list_gives_each_code_once(page: Any) -> None:
    page.open()
    page.paste(FIELD, "585.6 End stage renal disease\n518.81, 414.01\nno code here\n5856")
    listed(page, "585.6", "518.81", "414.01")
    assert (
        page.text("#diagnosis-hint") == "Added 3 codes. 1 code already listed. Skipped 1 line without a code."
    )
    page.procedures()
    assert page.texts("#diagnoses .title")[0] == "End stage renal disease"


def test_a_pasted_word_goes_into_the_field(page: Any) -> None:
    page.open()
    assert page.run(
        "const data = new DataTransfer(); data.setData('text/plain', 'heart failure');"
        "return document.querySelector(arguments[0]).dispatchEvent("
        "new ClipboardEvent('paste', {clipboardData: data, cancelable: true}))",
        FIELD,
    ), "the browser's own pasting must not be prevented"


def test_an_example_shows_a_stay_and_undo_brings_the_old_one_back(page: Any) -> None:
    page.open()
    typed(page, "585.6" + ENTER)
    listed(page, "585.6")
    page.run("document.querySelectorAll('.example')[1].click()")
    page.until("return document.querySelectorAll('#diagnoses .code').length === 6")
    page.click("#diagnosis-undo .link")
    listed(page, "585.6")


def test_every_example_is_of_listed_codes_and_has_an_answer(page: Any) -> None:
    page.open()
    assert len(page.texts(".example")) == 3
    for place in range(3):
        page.run("document.querySelectorAll('.example')[arguments[0]].click()", place)
        page.procedures()
        codes = page.run(
            "return [...document.querySelectorAll('#diagnoses [data-diagnosis]')].map((one) => one.dataset.diagnosis)"
        )
        assert len(codes) >= 5
        assert all(is_listed(code) for code in codes)


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


def test_undo_keeps_what_was_added_since(page: Any) -> None:
    page.open("dx=585.6,518.81")
    page.procedures()
    page.click("[data-key='remove icd9cm:5856']")
    typed(page, "428.0" + ENTER)
    listed(page, "518.81", "428.0")
    page.click("#diagnosis-undo .link")
    listed(page, "585.6", "518.81", "428.0")


def test_after_a_removal_the_focus_is_on_the_next_row(page: Any) -> None:
    page.open("dx=585.6,518.81")
    page.procedures()
    page.run("document.querySelector(\"[data-key='remove icd9cm:5856']\").focus()")
    page.keys(ENTER)
    assert page.run("return document.activeElement.dataset.key") == "remove icd9cm:51881"
    page.keys(ENTER)
    assert page.run("return document.activeElement.id") == "diagnosis-input"


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


def test_a_changed_address_changes_the_page(page: Any) -> None:
    page.open("dx=585.6")
    page.procedures("39.95")
    page.run("location.hash = 'dx=82021'")
    page.procedures("79.35")


def test_codes_are_not_sent_in_addresses_of_questions(page: Any, weather: Any) -> None:
    page.open("dx=585.6")
    page.procedures()
    asked = page.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [one for one in asked if "585" in one] == []
    assert any(path == "/api/explain" and b"585" in body for path, body in weather.bodies)


def test_an_icd_10_code_stays_as_typed_and_says_what_it_is_read_as(page: Any) -> None:
    page.open()
    typed(page, "N18.6" + ENTER)
    listed(page, "N18.6")
    assert page.procedures("39.95")
    assert page.text("#diagnoses .title") == "End stage renal disease"
    assert page.text("#diagnoses .status") == "Read as 585.6 End stage renal disease (ICD-9-CM, exact)."
    assert page.text("#diagnoses .number") == "100 %"
    assert "dx=icd10cm:N186" in page.run("return location.hash")
