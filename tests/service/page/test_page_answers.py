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


def test_ranking_probabilities_and_significance_are_the_models(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    answer = model.recommend(STAY, 5)
    assert page.procedures() == [dotted(one.code) for one in answer.recommendations]
    assert page.texts("#procedures .disclosure .title") == [one.title for one in answer.recommendations]
    assert shares(page, "#procedures .procedure-line") == pytest.approx(
        [one.probability for one in answer.recommendations], abs=1e-4
    )
    assert page.texts("#diagnoses .title") == [one.title for one in answer.diagnoses]
    assert shares(page, "#diagnoses") == pytest.approx(
        [one.significance for one in answer.diagnoses], abs=1e-4
    )


def test_reasons_open_by_keyboard_and_are_the_models(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    page.procedures()
    button = page.find("#procedures .disclosure")
    assert not page.shown(".reasons")
    page.run("arguments[0].focus()", button)
    page.keys("\ue007")
    assert button.get_attribute("aria-expanded") == "true"
    assert page.shown(".reasons")
    because = model.recommend(STAY, 5).recommendations[0].because
    assert page.texts(".procedure:first-child .reason .code")[0] == dotted(because[0].code)
    assert shares(page, ".procedure:first-child .reason")[0] == pytest.approx(because[0].share, abs=1e-4)


def test_open_reasons_stay_open_when_the_answer_changes(page: Any) -> None:
    page.open("dx=585.6")
    page.procedures("39.95")
    page.run("document.querySelector('#procedures .disclosure').click()")
    page.run("location.hash = 'dx=585.6,428.0'")
    page.until("return document.querySelectorAll('#diagnoses .bar').length === 2")
    assert (
        page.run("return document.querySelector(\"[data-key='reasons icd9pcs:3995']\").ariaExpanded")
        == "true"
    )


def test_more_procedures_on_demand(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    assert len(page.procedures()) == 5
    page.run("const s = document.querySelector('#top'); s.value = '10'; s.dispatchEvent(new Event('change'))")
    page.until("return document.querySelectorAll('#procedures > li').length > 5")
    assert page.procedures() == [dotted(one.code) for one in model.recommend(STAY, 10).recommendations]
    assert "top=10" in page.driver.current_url


def test_a_set_of_a_stated_coverage(page: Any, model: Model) -> None:
    page.open("dx=585.6,518.81")
    page.procedures()
    page.until("return document.querySelectorAll('#top option').length === 4")
    page.run(
        "const s = document.querySelector('#top'); s.value = '90%'; s.dispatchEvent(new Event('change'))"
    )
    expected = [
        dotted(one.code) for one in model.recommend(["585.6", "518.81"], 50, coverage=0.9).recommendations
    ]
    page.until("return document.querySelectorAll('#procedures > li').length === arguments[0]", len(expected))
    assert page.procedures() == expected
    assert "top=90%25" in page.driver.current_url


def test_procedures_without_reasons_say_so(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service gives reasons for the first procedures alone."""
    monkeypatch.setattr("dx2px.service.answers.MOST_TOP", 1)
    page.open("dx=585.6,518.81")
    page.procedures()
    notes = page.run(
        "return [...document.querySelectorAll('#procedures .reasons')].map((one) => one.textContent)"
    )
    assert notes[0].startswith("Comes from")
    assert set(notes[1:]) == {"Reasons are given only for the first procedures of a long list."}


def test_ribbons_carry_the_transport_plan(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    page.procedures()
    page.find("#figure .ribbon")
    drawn = page.ribbons()
    plan = model.explain(STAY, top=5).to_dict()["plan"]
    assert page.text("#figure-trust") == f"{plan['reading']} {plan['faithfulness']}"
    mass = {
        (diagnosis, procedure): plan["mass"][i][j]
        for i, diagnosis in enumerate(plan["diagnoses"])
        for j, procedure in enumerate(plan["procedures"])
    }
    assert sum(drawn.values()) == pytest.approx(1, abs=0.01)
    for codes, value in drawn.items():
        assert value == pytest.approx(mass[codes], abs=1e-9)


def test_heat_map_and_table_show_the_same_plan(page: Any, model: Model) -> None:
    page.open(FRAGMENT + "&view=heat")
    page.procedures()
    page.find("#figure .cell")
    steps = page.run("return [...document.querySelectorAll('.cell')].map((one) => Number(one.dataset.step))")
    mass = [value for row in model.explain(STAY, top=5).to_dict()["plan"]["mass"] for value in row]
    assert len(steps) == len(mass) == 20
    assert steps[mass.index(max(mass))] == 5
    order = sorted(range(20), key=lambda cell: mass[cell])
    assert [steps[cell] for cell in order] == sorted(steps)
    page.run("document.querySelector('input[value=table]').click()")
    rows = page.texts("#figure tbody tr")
    assert len(rows) == 4
    assert page.texts("#figure thead th")[1:-1] == page.procedures()


@pytest.mark.parametrize("how", ["pointer", "keyboard"])
def test_pointing_at_a_diagnosis_lights_what_it_leads_to(page: Any, how: str) -> None:
    page.open(FRAGMENT)
    page.procedures()
    page.find("#figure .ribbon")
    spot = "#figure .place[data-diagnosis='icd9cm:5856']"
    if how == "pointer":
        page.run(
            f'document.querySelector("{spot}").dispatchEvent(new PointerEvent("pointerover", {{bubbles: true}}))'
        )
    else:
        page.run(f'document.querySelector("{spot}").focus()')
    lit = page.run("return [...document.querySelectorAll('.ribbon.lit')].map((one) => one.dataset.diagnosis)")
    assert set(lit) == {"icd9cm:5856"}
    assert page.run("return document.querySelector('.procedure.lit').dataset.procedure") == "icd9pcs:3995"
    assert page.run("return document.querySelectorAll('.ribbon:not(.lit):not(.dim)').length") == 0
    assert page.text("#figure-note").startswith("585.6 End stage renal disease leads to 39.95")


def test_codes_that_the_model_does_not_know_are_explained_and_near_ones_offered(page: Any) -> None:
    page.open("dx=585.6,414.00,V27.0,xyz")
    page.procedures("39.95")
    backed_off, unknown, unreadable = page.texts("#diagnoses .status span")
    assert backed_off.startswith("The model does not know this code. The one known code under 414.0 ")
    assert unknown.startswith("The model does not know this code, so it is left out")
    assert unreadable.startswith("Not a diagnosis code")
    assert len(page.texts("#diagnoses .bar")) == 2
    page.until("return document.querySelector('.chip-button')").click()
    page.until(
        "return [...document.querySelectorAll('#diagnoses .code')].some((one) => one.textContent === '414.01')"
    )
    assert page.procedures()


def test_unknown_codes_alone_get_a_clear_sentence(page: Any) -> None:
    page.open("dx=V27.0")
    page.until("return document.querySelector('#recommend-empty').textContent.includes('knows none')")
    assert page.texts("#procedures > li") == []
    assert not page.shown("#figure-card")


def test_accept_and_reject_exclude_each_other(page: Any) -> None:
    page.open("dx=585.6")
    page.procedures("39.95")
    accept, reject = (
        page.find("[data-key='accept icd9pcs:3995']"),
        page.find("[data-key='reject icd9pcs:3995']"),
    )
    accept.click()
    reject.click()
    assert (accept.get_attribute("aria-pressed"), reject.get_attribute("aria-pressed")) == ("false", "true")
    reject.click()
    assert reject.get_attribute("aria-pressed") == "false"


def test_json_is_the_explanation_alone(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    page.procedures()
    told = json.loads(page.saved("#save-json"))
    assert told == model.explain(STAY, top=5).to_dict()
    assert "not medical advice" in told["scope"].lower()


def test_csv_is_a_line_a_procedure_with_its_verdict(page: Any, model: Model) -> None:
    page.open(FRAGMENT)
    first, second = page.procedures()[:2]
    page.click(f"[data-key='accept icd9pcs:{first.replace('.', '')}']")
    page.click(f"[data-key='reject icd9pcs:{second.replace('.', '')}']")
    rows = list(csv.DictReader(io.StringIO(page.saved("#save-csv"))))
    answer = model.recommend(STAY, 5).recommendations
    assert [row["verdict"] for row in rows] == ["accepted", "rejected", "", "", ""]
    assert [row["code"] for row in rows] == [dotted(one.code) for one in answer]
    assert [row["title"] for row in rows] == [one.title for one in answer]
    assert [float(row["probability"]) for row in rows] == pytest.approx([one.probability for one in answer])


@pytest.mark.parametrize("view", ["flow", "heat"])
def test_figure_is_a_file_that_stands_alone(page: Any, view: str) -> None:
    page.wish("dark")
    page.open(f"{FRAGMENT}&view={view}")
    page.procedures()
    figure = ElementTree.fromstring(page.saved("#save-figure"))
    assert figure.tag == f"{SVG}svg"
    words = " ".join(text for text in figure.itertext())
    assert "585.6" in words
    labels = [one for one in figure.iter(f"{SVG}text") if "585.6" in "".join(one.itertext())]
    assert labels[0].get("fill") == "rgb(23, 33, 43)", "drawn in the light theme, whatever the page's"
    assert not [one for one in figure.iter() if one.get("class") or one.get("style")]
    assert figure.findtext(f"{SVG}desc") == page.text("#figure-trust"), "how far to trust it goes with it"
    assert page.run("return document.querySelectorAll('.for-file').length") == 0


def test_copied_text_names_codes_and_scope(page: Any) -> None:
    page.open("dx=585.6")
    page.procedures("39.95")
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click("#copy")
    copied = page.until("return window.copied")
    assert "585.6 End stage renal disease" in copied
    assert "1. 39.95 Hemodialysis" in copied
    assert "not medical advice" in copied.lower()


def test_the_page_says_what_the_model_is_and_is_not(page: Any) -> None:
    page.open()
    page.until("return document.querySelector('#model-name').textContent.startsWith('e+sa+ma')")
    assert "not medical advice" in page.text("#scope").lower()
    page.click("#about-open")
    assert page.shown("#about")
    assert "# Planted" in page.text("#about pre")
    assert page.texts("#about .metrics td") == ["1", "39.4", "57.5", "44.2"]
    page.keys("\ue00c")
    assert not page.shown("#about")


@pytest.mark.parametrize("fragment", [FRAGMENT, f"{FRAGMENT}&top=90%25", f"{FRAGMENT}&plan=transport"])
def test_one_question_is_asked_for_list_and_figure(page: Any, weather: Any, fragment: str) -> None:
    page.open(fragment)
    page.procedures()
    page.find("#figure .ribbon")
    asked = [path for path, _ in weather.bodies if path not in ("/api/model", "/api/codes")]
    assert asked == ["/api/explain"]
