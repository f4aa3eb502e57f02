"""What the page does with a model that takes more than diagnoses: fields, the principal mark, ticked procedures."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from dx2px.answers import Model
from dx2px.codes import dotted
from evidence_model import CLOSED, ECHO, HEART, HIP, HYPERTENSION, OPEN, TRANSFUSION

STAY = [HIP, HEART, HYPERTENSION]
FRAGMENT = "dx=820.21,428.0,401.9"
TELLING = FRAGMENT + "&pdx=820.21&age=80&sex=F&adm=elective&yes=79.35"


@pytest.fixture(scope="module")
def model(evidence_folder: Path) -> Model:
    return Model.load(evidence_folder)


@pytest.fixture
def knowing(page: Any, serve: Any, model: Model) -> Any:
    """The page of a service whose model takes evidence."""
    page.address, _ = serve(model.files)
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
    choose(knowing, "#age", "")
    knowing.until("return document.querySelector('#evidence .title').textContent === 'male'")


def test_an_age_that_cannot_be_is_left_out(knowing: Any, model: Model) -> None:
    knowing.open(FRAGMENT)
    knowing.procedures()
    choose(knowing, "#age", "131")
    knowing.until("return document.querySelector('#age-note').checkVisibility()")
    assert knowing.find("#age").get_attribute("aria-invalid") == "true"
    assert knowing.texts("#evidence .title") == ["any stay"]
    choose(knowing, "#age", "80")
    knowing.until("return !document.querySelector('#age-note').checkVisibility()")
    knowing.procedures(*ranked(model, age=80))


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


def test_a_rejected_procedure_is_no_evidence(knowing: Any) -> None:
    knowing.open(FRAGMENT)
    before = knowing.procedures()
    knowing.run("document.querySelector(`[data-key='reject ${arguments[0]}']`).click()", CLOSED)
    knowing.pause(0.1)
    assert knowing.procedures() == before
    assert knowing.texts("#evidence .title") == ["any stay"]


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
    document = json.loads(knowing.saved("#save-json"))
    assert document == model.explain(STAY, top=5, **facts).to_dict()


def test_evidence_is_drawn_apart_with_its_titles(knowing: Any, model: Model) -> None:
    knowing.open(TELLING)
    knowing.until("return document.querySelector('#coded li') && document.querySelector('.label-group')")
    facts: dict[str, Any] = {
        "principal": HIP,
        "age": 80,
        "sex": "F",
        "admission": "elective",
        "coded": [OPEN],
    }
    answer = model.explain(STAY, top=5, **facts)
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
    knowing.until("return document.querySelectorAll('#figure .cell').length === arguments[0]", 3 * len(rows))
    assert knowing.text(".label-group") == "Besides the diagnoses"
    knowing.run("document.querySelector('input[value=table]').click()")
    knowing.until("return document.querySelectorAll('#figure tbody').length === 2")
    assert "age 75–84, female" in knowing.texts("#figure tbody:last-of-type th .title")


def test_saved_lists_have_what_is_coded(knowing: Any) -> None:
    knowing.open(TELLING)
    knowing.until("return document.querySelector('#coded li')")
    lines = list(csv.DictReader(io.StringIO(knowing.saved("#save-csv"))))
    assert (lines[0]["code"], lines[0]["rank"], lines[0]["verdict"]) == ("79.35", "", "accepted")
    assert any("any stay" in line["because"] for line in lines[1:])


def test_an_example_begins_a_new_stay(knowing: Any) -> None:
    knowing.open(TELLING)
    knowing.until("return document.querySelector('#coded li')")
    knowing.run("document.querySelectorAll('.example')[2].click()")
    knowing.until("return !document.querySelector('#coded-part').checkVisibility()")
    knowing.until("return document.querySelector('#age').value === ''")
    assert knowing.run("return document.querySelector('.principal[aria-pressed=true]')") is None


def test_an_audit_names_reasons_that_are_no_diagnoses(knowing: Any) -> None:
    knowing.open(f"tab=audit&adx=820.21,428.0&apx={dotted(ECHO)}")
    knowing.until("return document.querySelector('#findings .facts, #findings .nothing-found')")
    assert "background" not in knowing.text("#findings")


@pytest.mark.parametrize("width", [320, 600, 1280])
@pytest.mark.parametrize("view", ["flow", "heat", "table"])
def test_nothing_overflows(knowing: Any, width: int, view: str) -> None:
    knowing.width(width)
    knowing.open(f"{TELLING}&view={view}")
    knowing.until(
        "return document.querySelector('#coded li') && document.querySelector('#figure svg, #figure table')"
    )
    knowing.run("document.querySelectorAll('.disclosure').forEach((one) => one.click())")
    assert knowing.run("return document.documentElement.scrollWidth") <= width
    outside = knowing.run(
        "return [...document.querySelectorAll('#panel-recommend .card *')].filter((one) => one.checkVisibility()"
        " && !one.closest('.scroller, .unseen, .catch') && one.getBoundingClientRect().right > innerWidth + 1)"
        ".map((one) => one.outerHTML.slice(0, 80))"
    )
    assert outside == []
