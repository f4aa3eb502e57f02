"""When things go wrong: server away, busy, refusing, slow; a token is asked; titles are hostile."""

from __future__ import annotations

from typing import Any

TOKEN = "a-token-for-the-tests"
ENTER = "\ue007"


def typed(page: Any, text: str) -> None:
    page.click("#diagnosis-input")
    page.keys(text)


def test_a_server_that_went_away_is_said_and_tried_again(page: Any) -> None:
    page.open("dx=585.6")
    page.procedures("39.95")
    page.offline(True)
    typed(page, "428.0" + ENTER)
    page.until("return document.querySelector('#recommend-problem p')")
    assert "is not responding" in page.text("#recommend-problem")
    assert "is not responding" in page.text("#banner")
    assert page.texts("#diagnoses .code") == ["585.6", "428.0"], "what was entered is kept"
    page.offline(False)
    page.run("document.querySelector('#recommend-problem button')?.click()")
    page.procedures()
    page.until("return document.querySelectorAll('#diagnoses .bar').length === 2")
    assert not page.shown("#banner")
    assert not page.shown("#recommend-problem")


def test_a_busy_server_is_asked_again_by_itself(page: Any, weather: Any) -> None:
    weather.busy = 1
    page.open("dx=585.6")
    page.until("return document.querySelector('#banner').textContent.includes('busy')")
    page.procedures("39.95")
    assert not page.shown("#banner")
    weather.busy = 3  # as often as the page asks by itself
    page.run("location.hash = 'dx=82021'")
    page.until("return document.querySelector('#recommend-problem button')").click()
    page.procedures("79.35")


def test_a_refusal_is_shown_in_the_servers_words(page: Any, weather: Any) -> None:
    weather.refusals["/api/explain"] = 422
    page.open("dx=585.6")
    page.until("return document.querySelector('#recommend-problem p')?.textContent === 'Not like this.'")
    assert page.texts("#recommend-problem button") == [], "asking again would not help"
    weather.refusals.clear()
    typed(page, "428.0" + ENTER)
    page.procedures()
    page.run("location.hash = 'dx=' + arguments[0]", ",".join(str(code) for code in range(4000, 4300)))
    page.until("return document.querySelector('#recommend-problem p')?.textContent.includes('at most')")


def test_late_answers_are_dropped(page: Any, weather: Any) -> None:
    page.open()
    weather.delays.extend([0.4, 0.0])
    typed(page, "585.6" + ENTER)
    while not any(path == "/api/explain" for path, _ in weather.bodies):
        page.pause(0.02)
    page.run("location.hash = 'dx=82021'")
    page.procedures("79.35")
    page.pause(0.5)
    assert page.procedures()[0] == "79.35"
    assert page.texts("#diagnoses .code") == ["820.21"]


def test_a_token_is_asked_for_kept_for_the_tab_and_sent(page: Any, guarded: str) -> None:
    page.open("dx=585.6", guarded)
    page.until("return document.querySelector('#token').open")
    page.run("document.querySelector('#token [data-close]').click()")
    page.until("return document.querySelector('#recommend-problem p')?.textContent.includes('token')")
    page.driver.refresh()
    page.until("return document.querySelector('#token').open")
    assert page.run("return document.activeElement.id") == "token-text"
    page.keys("not the token at all" + ENTER)
    page.until(
        "return document.querySelector('#token').open"
        " && document.querySelector('#token-note').textContent.includes('did not accept')"
    )
    page.keys(TOKEN + ENTER)
    page.procedures("39.95")
    assert page.run("return localStorage.length + document.cookie.length") == 0
    page.driver.refresh()
    page.procedures("39.95")
    assert not page.run("return document.querySelector('#token').open")


def test_titles_are_text_and_nothing_else(page: Any, hostile: str) -> None:
    page.open("dx=585.6,518.81,414.00&view=flow", hostile)
    page.procedures()
    page.run("document.querySelector('#procedures .disclosure').click()")
    typed(page, "585")
    page.until("return document.querySelector('#diagnosis-list .title')?.textContent.includes('<script>')")
    for view in ("heat", "table", "flow"):
        page.run("document.querySelector('input[value=' + arguments[0] + ']').click()", view)
    page.run("location.hash = 'tab=audit&adx=585.6&apx=79.35'")
    page.until("return document.querySelector('#findings .title')")
    assert "<img" in page.text("#findings .title")
    assert (
        page.run(
            "return document.querySelectorAll('main img, main script, dialog img, dialog script').length"
        )
        == 0
    )
    assert page.run("return window.hurt") is None
