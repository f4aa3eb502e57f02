"""What people come to the page for, done as they would do it, with the package's own models."""

from __future__ import annotations

from typing import Any

ENTER, SPACE = "\ue007", "\ue00d"
LINES = "A17 | 585.6 427.5 | 39.95\nA18 | 414.01 heart 411.1 | 37.22\nA19 | 820.21 | 39.95"

FORTY = (
    "585.6 403.91 427.5 518.81 995.92 038.9 410.71 414.01 428.0 427.31 401.9 250.00 272.4 285.9 276.1 584.9 486 "
    "599.0 496 491.21 305.1 V45.81 V58.61 412 443.9 530.81 244.9 278.00 327.23 715.90 733.00 311 300.00 285.21 "
    "276.7 276.2 287.5 578.9 V45.11 707.03"
)


def test_find_the_code_of_a_heart_attack_and_ask_what_follows(page: Any, shipped: str) -> None:
    page.open(address=shipped)
    page.click("#diagnosis-input")
    page.keys("heart attack")
    page.until("return document.querySelector('#diagnosis-list .code')?.textContent.startsWith('410.')")
    page.keys(ENTER)
    assert {"37.22", "88.56"} <= set(page.procedures())
    assert "infarction" in page.text("#diagnoses .title")


def test_a_slip_in_a_code_or_in_the_facts_is_said_beside_the_code(page: Any, shipped: str) -> None:
    page.open("dx=585.66,650&sex=M&age=80", shipped)
    page.procedures()
    slip, other = page.texts("#diagnoses .status")
    assert "did you mean 585.6 End stage renal disease? Use instead: 585.6" in slip
    assert other.endswith("for female patients from 9 to 64 years: please check code, sex and age.")
    page.click("#diagnoses .chip-button")
    page.until("return document.querySelectorAll('#diagnoses .status').length === 1")
    assert page.texts("#diagnoses .code") == ["585.6", "650"]


def test_tick_what_is_done_and_see_the_rest_move(page: Any, shipped: str) -> None:
    page.open("dx=820.21,285.1", shipped)
    before = page.procedures("79.35")
    assert page.texts(".remarks")[0].startswith("or 79.15"), "a stay has one of the alternatives"
    chance = (
        "return parseFloat(document.querySelector(\"[data-procedure='icd9pcs:7915'] .bar-fill\").style.width)"
    )
    likely = page.run(chance)
    page.run("document.querySelector(\"[data-key='accept icd9pcs:7935']\").focus()")
    page.keys(SPACE)
    page.until("return document.querySelector('#coded .code')?.textContent === '79.35'")
    assert page.procedures() != before
    assert page.run(chance) < likely / 4


def test_ask_in_icd_10(page: Any, shipped: str) -> None:
    page.open("dx=I21.4,I25.10", shipped)
    page.procedures()
    version = "return document.querySelector('input[name=answerIn]:checked').value"
    page.until("return document.querySelector('#versions').checkVisibility()")
    assert page.run(version) == "icd10pcs", "as the diagnoses"
    assert any("[" in code for code in page.texts("#procedures .code")), "families of codes"
    cut = page.run(
        "return [...document.querySelectorAll('#procedures .disclosure')].filter((one) => {"
        " const [code, title] = ['.code', '.title'].map((part) => one.querySelector(part).getBoundingClientRect());"
        " return code.bottom > title.top && code.right > title.left; }).length"
    )
    assert cut == 0, "long codes do not run into titles"
    page.run("document.querySelector('#versions input[value=icd9pcs]').focus()")
    page.keys(SPACE)
    page.until("return document.querySelector('#procedures .code').textContent === '00.66'")
    assert page.run(version) == "icd9pcs"
    assert "in=icd9pcs" in page.driver.current_url


def test_audit_a_pasted_list_with_one_bad_line(page: Any, shipped: str) -> None:
    page.open("tab=audit", shipped)
    page.click(".several summary")
    page.find("#audit-lines").send_keys(LINES)
    page.click("#audit-run")
    page.until("return document.querySelectorAll('#findings .stay').length === 3")
    assert page.texts("#findings .flawed .status") == ["Line 2 was not audited: heart: not a code."]
    assert page.texts("#findings .stay:last-child .unsupported .asked-code .code") == ["39.95"]


def test_copy_or_print_the_answer(page: Any, shipped: str) -> None:
    page.open("dx=585.6&age=70&yes=icd9pcs:3895", shipped)
    page.until("return document.querySelector('#coded li')")
    assert page.procedures("39.95")
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click("#copy")
    copied = page.until("return window.copied")
    for part in ("585.6 End stage renal disease", "age 65–74", "38.95 ", "1. 39.95 Hemodialysis ("):
        assert part in copied
    assert "not medical advice" in copied
    page.run("window.print = () => { window.printed = true; }")
    page.click("#print")
    assert page.run("return window.printed")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = page.run(
            "return ['#procedures', '#figure svg', '#scope', '#copy', '#diagnosis-input', '#plans', '.info',"
            " '#procedures .verdict'].map((one) => document.querySelector(one).checkVisibility())"
        )
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert seen == [True] * 3 + [False] * 5


def test_paste_forty_codes_and_still_see_the_answer(page: Any, shipped: str) -> None:
    page.open(address=shipped)
    page.paste("#diagnosis-input", FORTY)
    page.procedures("39.95")
    page.until("return document.querySelectorAll('#diagnoses .bar').length === 40")
    assert page.text("#diagnoses-count") == "40 codes"
    tall = "return ['#diagnoses', '#figure svg'].map((one) => document.querySelector(one).clientHeight)"
    assert max(page.run(tall)) < 900
    shares = [float(text.rstrip(" %")) for text in page.texts("#procedures .number")]
    assert shares != sorted(shares, reverse=True)
    assert not page.run("return document.getElementById('order-note').hidden")
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert page.run(tall)[0] < 600
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    drawn = len(page.texts("#figure .place[data-diagnosis]"))
    left = f"{40 - drawn} diagnoses with less than 0.5 % are only in the table."
    assert left in page.text("#figure-note"), "what is not drawn is said"
    page.run("document.querySelector('input[value=table]').click()")
    assert len(page.texts("#figure tbody:first-of-type tr")) == 40
