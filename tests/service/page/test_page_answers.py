"""What the page shows of an answer: it is the model's answer, with its reasons, in all its forms."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from dx2px.answers import Model
from dx2px.codes import dotted

STAY = ["585.6", "518.81", "414.01", "995.92"]
FRAGMENT = "dx=" + ",".join(STAY)
SVG = "{http://www.w3.org/2000/svg}"


def shares(page: Any, selector: str) -> list[float]:
    """Widths of bars as shares of one."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map((one) => parseFloat(one.style.width) / 100)"
    )
    return list(page.run(script, f"{selector} .bar-fill"))


def show(page: Any, many: str) -> None:
    page.run(
        "const s = document.querySelector('#top'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))",
        many,
    )


def test_list_and_figures_are_the_models_answer_to_one_question(
    page: Any, model: Model, weather: Any
) -> None:
    page.open(FRAGMENT)
    answer = model.recommend(STAY, 5)
    plan = model.explain(STAY, top=5).to_dict()["plan"]
    assert page.procedures() == [dotted(one.code) for one in answer.recommendations]
    assert page.texts("#procedures .disclosure .title") == [one.title for one in answer.recommendations]
    assert shares(page, "#procedures .procedure-line") == pytest.approx(
        [one.probability for one in answer.recommendations], abs=1e-4
    )
    assert page.texts("#diagnoses .title") == [one.title for one in answer.diagnoses]
    assert shares(page, "#diagnoses") == pytest.approx(
        [one.significance for one in answer.diagnoses], abs=1e-4
    )
    page.find("#figure .ribbon")
    drawn = page.ribbons()
    mass = {
        (diagnosis, procedure): plan["mass"][i][j]
        for i, diagnosis in enumerate(plan["diagnoses"])
        for j, procedure in enumerate(plan["procedures"])
    }
    assert sum(drawn.values()) == pytest.approx(1, abs=0.01)
    assert drawn == pytest.approx({codes: mass[codes] for codes in drawn}, abs=1e-9)
    page.run("document.querySelector('input[value=heat]').click()")
    steps = page.run("return [...document.querySelectorAll('.cell')].map((one) => Number(one.dataset.step))")
    cells = [value for row in plan["mass"] for value in row]
    assert len(steps) == len(cells) == 20
    assert steps[cells.index(max(cells))] == 5
    order = sorted(range(20), key=lambda cell: cells[cell])
    assert [steps[cell] for cell in order] == sorted(steps)
    page.run("document.querySelector('input[value=table]').click()")
    assert len(page.texts("#figure tbody tr")) == 4
    assert page.texts("#figure thead th")[1:-1] == page.procedures()
    asked = [path for path, _ in weather.bodies if path not in ("/api/model", "/api/codes")]
    assert asked == ["/api/explain"]


def test_reasons_open_by_keyboard_and_stay_open(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    first = page.procedures()[0].replace(".", "")
    button = page.find("#procedures .disclosure")
    assert not page.shown(".reasons")
    page.run("arguments[0].focus()", button)
    page.keys("\ue007")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.shown(".reasons")
    because = model.recommend(STAY, 5).recommendations[0].because
    assert page.texts(".procedure:first-child .reason .code")[0] == dotted(because[0].code)
    assert shares(page, ".procedure:first-child .reason")[0] == pytest.approx(because[0].share, abs=1e-4)
    page.run("location.hash += ',428.0'")
    page.until("return document.querySelectorAll('#diagnoses .bar').length === 5")
    opened = f"return document.querySelector(\"[data-key='reasons icd9pcs:{first}']\").ariaExpanded"
    assert page.run(opened) == "true"


def test_how_to_read_it_is_behind_an_i(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    page.procedures()
    plan = model.explain(STAY, top=5).plan
    assert page.text("#figure-trust") == f"{plan.reading} {plan.faithfulness}"
    assert not page.shown("#figure-trust")
    button = "[popovertarget=figure-info]"
    page.run("document.querySelector(arguments[0]).focus()", button)
    page.keys("\ue007")
    page.until("return document.querySelector('#figure-trust').checkVisibility()")
    assert page.text("#figure-reading").startswith("The thicker a ribbon")
    inside = page.run(
        "const { left, right } = document.querySelector('#figure-info').getBoundingClientRect();"
        "return left >= 0 && right <= innerWidth"
    )
    assert inside
    page.keys("\ue00c")
    page.until("return !document.querySelector('#figure-trust').checkVisibility()")
    assert page.run("return document.activeElement.matches(arguments[0])", button)


def test_more_procedures_and_a_set_of_a_stated_coverage(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    assert len(page.procedures()) == 5
    show(page, "10")
    page.until("return document.querySelectorAll('#procedures > li').length > 5")
    assert page.procedures() == [dotted(one.code) for one in model.recommend(STAY, 10).recommendations]
    assert "top=10" in page.driver.current_url
    page.until("return document.querySelectorAll('#top option').length === 4")
    show(page, "90%")
    expected = [dotted(one.code) for one in model.recommend(STAY, 50, coverage=0.9).recommendations]
    page.until("return document.querySelectorAll('#procedures > li').length === arguments[0]", len(expected))
    assert page.procedures() == expected
    assert "top=90%25" in page.driver.current_url


def test_procedures_without_reasons_say_so(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service gives reasons for the first procedures alone."""
    monkeypatch.setattr("dx2px.service.answers.MOST_TOP", 1)
    page.open("dx=585.6,518.81")
    page.procedures()
    notes = page.texts("#procedures .reasons")
    assert notes[0].startswith("Comes from")
    assert set(notes[1:]) == {"Reasons are given only for the first procedures of a long list."}


def test_pointing_at_a_diagnosis_lights_what_it_leads_to(page: Any) -> None:
    page.open(FRAGMENT)
    page.procedures()
    page.find("#figure .ribbon")
    spot = "#figure .place[data-diagnosis='icd9cm:5856']"
    for act in ("focus()", 'dispatchEvent(new PointerEvent("pointerover", {bubbles: true}))'):
        page.run("document.activeElement.blur()")
        page.run(f'document.querySelector("{spot}").{act}')
        lit = page.run(
            "return [...document.querySelectorAll('.ribbon.lit')].map((one) => one.dataset.diagnosis)"
        )
        assert set(lit) == {"icd9cm:5856"}
        assert page.run("return document.querySelector('.procedure.lit').dataset.procedure") == "icd9pcs:3995"
        assert page.run("return document.querySelectorAll('.ribbon:not(.lit):not(.dim)').length") == 0
        assert page.text("#figure-note").startswith("585.6 End stage renal disease leads to 39.95")


def test_codes_that_the_model_does_not_know_are_explained_and_near_ones_offered(page: Any) -> None:
    page.open("dx=585.6,414.00,V27.0,xyz,39.95")
    page.procedures("39.95")
    backed_off, unknown, unreadable, procedure = page.texts("#diagnoses .status span")
    assert backed_off.startswith("The model does not know this code. The one known code under 414.0 ")
    assert unknown.startswith("The model does not know this code, so it is left out")
    assert unreadable.startswith("Not a diagnosis code")
    assert procedure.endswith("39.95 is a procedure (Hemodialysis), not a diagnosis.")
    assert len(page.texts("#diagnoses .bar")) == 2
    page.until("return document.querySelector('.chip-button')").click()
    page.until(
        "return [...document.querySelectorAll('#diagnoses .code')].some((one) => one.textContent === '414.01')"
    )
    assert page.procedures()
    page.run("location.hash = 'dx=V27.0'")
    page.until("return document.querySelector('#recommend-empty').checkVisibility()")
    assert "knows none" in page.text("#recommend-empty")
    assert page.texts("#procedures > li") == []
    assert not page.shown("#figure-card")


def test_json_is_the_explanation_and_csv_a_line_a_procedure_with_its_verdict(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    first, second = page.procedures()[:2]
    told = json.loads(page.saved("#save-json"))
    assert told == model.explain(STAY, top=5).to_dict()
    assert "not medical advice" in told["scope"].lower()
    for verdict in ("reject", "accept"):  # they exclude each other
        page.click(f"[data-key='{verdict} icd9pcs:{first.replace('.', '')}']")
    page.click(f"[data-key='reject icd9pcs:{second.replace('.', '')}']")
    page.run("window.file = null")
    rows = list(csv.DictReader(io.StringIO(page.saved("#save-csv"))))
    answer = model.recommend(STAY, 5).recommendations
    assert [row["verdict"] for row in rows] == ["accepted", "rejected", "", "", ""]
    assert [row["code"] for row in rows] == [dotted(one.code) for one in answer]
    assert [row["title"] for row in rows] == [one.title for one in answer]
    assert [float(row["probability"]) for row in rows] == pytest.approx([one.probability for one in answer])


def test_figure_is_a_file_that_stands_alone(page: Any) -> None:
    page.wish("dark")
    page.open(FRAGMENT)
    page.procedures()
    for view in ("flow", "heat"):
        page.run("document.querySelector(`input[value=${arguments[0]}]`).click(); window.file = null", view)
        figure = ElementTree.fromstring(page.saved("#save-figure"))
        assert figure.tag == f"{SVG}svg"
        labels = [one for one in figure.iter(f"{SVG}text") if "585.6" in "".join(one.itertext())]
        assert labels[0].get("fill") == "rgb(23, 33, 43)", "drawn in the light theme, whatever the page's"
        assert not [one for one in figure.iter() if one.get("class") or one.get("style")]
        assert figure.findtext(f"{SVG}desc") == page.text("#figure-trust"), "how far to trust it goes with it"
        assert page.run("return document.querySelectorAll('.for-file').length") == 0


def test_the_page_says_what_the_model_is_and_is_not(page: Any) -> None:
    page.open()
    page.until("return document.querySelector('#about .card-text')")
    assert "not medical advice" in page.text("#scope").lower()
    page.click("#about-open")
    assert page.shown("#about")
    blocks = page.run(
        "return [...document.querySelector('#about .card-text').children].map((one) =>"
        " [one.tagName, one.textContent, [...one.querySelectorAll('code, strong, li, th, td')]"
        ".map((part) => part.textContent)])"
    )
    assert blocks == [
        ["H3", "Planted", []],
        [
            "P",
            "Learned from nothing by plant, on one (https://two.example) bed:",
            ["nothing", "plant"],
        ],
        ["PRE", "dx2px plant <b>", []],
        ["UL", "roses and thornstulips", ["roses and thorns", "tulips"]],
        ["DIV", "topF1 %144.2", ["top", "F1 %", "1", "44.2"]],
    ]
    page.keys("\ue00c")
    assert not page.shown("#about")
