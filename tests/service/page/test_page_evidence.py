"""What the page does with a model that takes more than diagnoses: fields, the principal mark, ticked procedures."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dx2px.answers import Explanation, Model
from dx2px.codes import dotted
from evidence_model import CLOSED, ECHO, HEART, HIP, HYPERTENSION, OPEN, TRANSFUSION

STAY = [HIP, HEART, HYPERTENSION]
FRAGMENT = "dx=820.21,428.0,401.9"
OUTSIDE = (
    "return [...document.querySelectorAll('#panel-recommend .card *')].filter((one) => one.checkVisibility()"
    " && !one.closest('.scroller, .unseen, .catch') && one.getBoundingClientRect().right > innerWidth + 1)"
    ".map((one) => one.outerHTML.slice(0, 80))"
)
TELLING = FRAGMENT + "&pdx=820.21&age=80&sex=F&adm=elective&yes=79.35"


@pytest.fixture(scope="module")
def model(evidence_folder: Path) -> Model:
    return Model.load(evidence_folder)


@pytest.fixture(scope="module")
def address(serve: Any, model: Model) -> str:
    return str(serve(model.files)[0])


@pytest.fixture
def knowing(page: Any, address: str) -> Any:
    """The page of a service whose model takes evidence."""
    page.address = address
    return page


def ranked(model: Model, **facts: Any) -> list[str]:
    return [dotted(one.code) for one in model.recommend(STAY, 5, **facts).recommendations]


def choose(page: Any, field: str, value: str) -> None:
    page.run(
        "const field = document.querySelector(arguments[0]);"
        "field.value = arguments[1]; field.dispatchEvent(new Event('input'))",
        field,
        value,
    )


def test_fields_are_shown_only_if_the_model_takes_them(page: Any) -> None:
    page.open("dx=585.6&age=80&sex=F")
    page.procedures()
    assert not page.shown("#facts")
    assert not page.shown("#evidence-part")
    assert page.run("return document.querySelector('.principal')") is None


def test_each_field_moves_the_answer(knowing: Any, model: Model) -> None:
    knowing.open(FRAGMENT)
    knowing.until("return document.querySelector('#facts').checkVisibility()")
    assert knowing.texts("#admission option") == ["not known", "elective", "emergency"]
    choose(knowing, "#age", "81")
    knowing.procedures(*ranked(model, age=81))
    choose(knowing, "#age", "33")
    knowing.procedures(*ranked(model, age=33))
    choose(knowing, "#sex", "M")
    choose(knowing, "#admission", "emergency")
    knowing.until("return document.querySelectorAll('#evidence li').length === 3")
    assert knowing.texts("#evidence .title") == ["age 25–34, male", "emergency admission", "any stay"]
    knowing.procedures(*ranked(model, age=33, sex="M", admission="emergency"))
    assert {"age=33", "sex=M", "adm=emergency"} <= set(
        knowing.driver.current_url.partition("#")[2].split("&")
    )
    choose(knowing, "#age", "131")
    knowing.until("return document.querySelector('#age-note').checkVisibility()")
    assert knowing.find("#age").get_attribute("aria-invalid") == "true"
    knowing.until(
        "return document.querySelector('#evidence .title').textContent === 'male'"
    )  # no age is told
    choose(knowing, "#age", "80")
    knowing.until("return !document.querySelector('#age-note').checkVisibility()")
    knowing.procedures(*ranked(model, age=80, sex="M", admission="emergency"))


def test_the_principal_diagnosis_is_marked_by_keyboard(knowing: Any, model: Model) -> None:
    knowing.open(FRAGMENT)
    knowing.procedures()
    key = f"principal {HEART}"
    knowing.until("return document.querySelector(`[data-key='${arguments[0]}']`)", key)
    knowing.run("document.querySelector(`[data-key='${arguments[0]}']`).focus()", key)
    knowing.keys("\ue007")
    knowing.procedures(*ranked(model, principal=HEART))
    pressed = (
        "return [...document.querySelectorAll('.principal[aria-pressed=true]')].map((one) => one.dataset.key)"
    )
    assert knowing.run(pressed) == [key]
    assert knowing.run("return document.activeElement.dataset.key") == key
    knowing.run("document.querySelector(`[data-key='principal ${arguments[0]}']`).click()", HIP)
    knowing.until(f"return ({pressed.replace('return ', '')}).join() === arguments[0]", f"principal {HIP}")
    knowing.procedures(*ranked(model, principal=HIP))
    # With the diagnosis goes its mark; undo brings both back.
    knowing.run("document.querySelector(`[data-key='remove ${arguments[0]}']`).click()", HIP)
    knowing.until("return document.querySelectorAll('#diagnoses li').length === 2")
    assert knowing.run(pressed) == []
    knowing.run("document.querySelector('#diagnosis-undo .link').click()")
    knowing.until(f"return ({pressed.replace('return ', '')}).length === 1")


def test_ticking_a_procedure_moves_the_rest_and_unticking_undoes(knowing: Any, model: Model) -> None:
    knowing.open(FRAGMENT)
    before = knowing.procedures(*ranked(model))
    knowing.until("return document.querySelector('#facts').checkVisibility()")
    knowing.run("document.querySelector(`[data-key='accept ${arguments[0]}']`).focus()", OPEN)
    knowing.keys("\ue00d")  # space
    after = knowing.procedures(*ranked(model, coded=[OPEN]))
    assert after != before
    assert after[0] == dotted(TRANSFUSION)
    assert dotted(OPEN) not in after
    assert knowing.texts("#coded .code") == [dotted(OPEN)]
    assert knowing.run("return document.activeElement.closest('#coded') !== null"), "the focus moves with it"
    assert knowing.run("return document.activeElement.ariaPressed") == "true"
    knowing.keys("\ue00d")
    assert knowing.procedures(*before) == before
    assert not knowing.shown("#coded-part")
    assert "yes=" not in knowing.driver.current_url
    knowing.run("document.querySelector(`[data-key='reject ${arguments[0]}']`).click()", CLOSED)
    knowing.pause(0.1)
    assert knowing.procedures() == before, "a rejected procedure is no evidence"


def test_a_link_tells_everything(knowing: Any, model: Model) -> None:
    knowing.open(TELLING)
    facts: dict[str, Any] = {
        "principal": HIP,
        "age": 80,
        "sex": "F",
        "admission": "elective",
        "coded": [OPEN],
    }
    knowing.until("return document.querySelector('#coded li')")
    assert knowing.procedures() == ranked(model, **facts)
    values = knowing.run("return ['age', 'sex', 'admission'].map((id) => document.getElementById(id).value)")
    assert values == ["80", "F", "elective"]
    answer = model.explain(STAY, top=5, **facts)
    assert json.loads(knowing.saved("#save-json")) == answer.to_dict()
    knowing.run("window.file = null")
    lines = list(csv.DictReader(io.StringIO(knowing.saved("#save-csv"))))
    assert (lines[0]["code"], lines[0]["rank"], lines[0]["verdict"]) == ("79.35", "", "accepted")
    assert any("any stay" in line["because"] for line in lines[1:])
    drawn_apart(knowing, answer)
    knowing.run("document.querySelectorAll('.example')[2].click()")  # an example begins a new stay
    knowing.until("return !document.querySelector('#coded-part').checkVisibility()")
    knowing.until("return document.querySelector('#age').value === ''")
    assert knowing.run("return document.querySelector('.principal[aria-pressed=true]')") is None


def drawn_apart(knowing: Any, answer: Explanation) -> None:
    """Evidence stands below the diagnoses, with its titles, in the figures and in the reasons."""
    knowing.until("return document.querySelector('.label-group')")
    rows = [*answer.plan.diagnoses, *answer.plan.evidence]
    assert answer.plan.mass is not None
    drawn = knowing.ribbons()
    for (row, column), mass in drawn.items():
        expected = answer.plan.mass[rows.index(row), answer.plan.procedures.index(column)]
        assert mass == pytest.approx(expected, abs=1e-6)
    assert {row for row, _ in drawn} >= {OPEN, "age:75–84,sex:F"}
    assert knowing.text(".label-group") == "Besides the diagnoses"
    named = "return document.querySelector(`#figure [data-key='diagnosis ${arguments[0]}']`).ariaLabel"
    assert knowing.run(named, "background").startswith("any stay leads to ")
    assert knowing.run(named, OPEN).startswith("79.35 ")
    reasons = knowing.texts(".procedure:first-child .reasons ul:last-of-type .title")
    titles = {one.code: one.title for one in answer.evidence}
    first = [
        one.code for one in answer.procedures[0].because[:6] if one.code in titles and one.share >= 0.005
    ]
    assert reasons == [titles[code] for code in first]
    knowing.run("document.querySelector('input[value=heat]').click()")
    carried = answer.plan.mass.sum(axis=1) / answer.plan.mass.sum()
    few = len(answer.plan.diagnoses)
    worth = few + int(
        (carried[few:] >= 0.005).sum()
    )  # other evidence that carries next to nothing is not drawn
    knowing.until("return document.querySelectorAll('#figure .cell').length === arguments[0]", 3 * worth)
    assert knowing.text(".label-group") == "Besides the diagnoses"
    knowing.run("document.querySelector('input[value=table]').click()")
    knowing.until("return document.querySelectorAll('#figure tbody').length === 2")
    assert "age 75–84, female" in knowing.texts("#figure tbody:last-of-type th .title")


def test_an_audit_names_reasons_that_are_no_diagnoses(knowing: Any) -> None:
    knowing.open(f"tab=audit&adx=820.21,428.0&apx={dotted(ECHO)}")
    knowing.until("return document.querySelector('#findings .facts, #findings .nothing-found')")
    assert "background" not in knowing.text("#findings")


def test_nothing_overflows(knowing: Any) -> None:
    knowing.width(1280)
    knowing.open(TELLING)
    knowing.until("return document.querySelector('#coded li') && document.querySelector('#figure svg')")
    knowing.run("document.querySelectorAll('.disclosure').forEach((one) => one.click())")
    for width in (1280, 600, 320):
        knowing.width(width)
        knowing.until("return innerWidth === arguments[0]", width)
        for view in ("flow", "heat", "table"):
            knowing.run("document.querySelector(`input[value=${arguments[0]}]`).click()", view)
            knowing.run("return new Promise((go) => requestAnimationFrame(() => setTimeout(go, 30)))")
            assert knowing.run("return document.documentElement.scrollWidth") <= width
            assert knowing.run(OUTSIDE) == [], (width, view)
