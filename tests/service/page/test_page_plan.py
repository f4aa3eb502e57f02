"""Whose plan the figure draws: the model's own, or the paper's transport, each with what was measured of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.request import Request, urlopen

import jsonschema_rs
import numpy as np
import pytest

from dx2px.answers import Model, PlanChoice, explanation_schema
from dx2px.codes import dotted
from dx2px.scoring.folder import ModelFiles
from synthetic_models import SIGMOID, random_files

Serve = Callable[[ModelFiles], tuple[str, Model]]
STAY = ["icd9cm:4000", "icd9cm:4040", "icd9cm:4080"]
FRAGMENT = "dx=" + ",".join(STAY)
RIGHT, LEFT = "\ue014", "\ue012"


def coupling(procedures: int = 8, bias: float = 0.0) -> ModelFiles:
    """A model of the default method, whose own plan is not the paper's; a large bias makes every procedure probable."""
    files = random_files("coupling", 40, procedures, dim=4, heads=1, calibration=SIGMOID)
    return replace(files, arrays={**files.arrays, "b": files.arrays["b"] + np.float32(bias)})


def trust(model: Model, plan: PlanChoice) -> str:
    made = model.explain(STAY, top=5, plan=plan).plan
    return f"{made.reading} {made.faithfulness}"


def mass(model: Model, plan: PlanChoice, top: int = 5) -> dict[tuple[str, str], float]:
    made = model.explain(STAY, top=top, plan=plan).to_dict()["plan"]
    return {
        (diagnosis, procedure): made["mass"][i][j]
        for i, diagnosis in enumerate(made["diagnoses"])
        for j, procedure in enumerate(made["procedures"])
    }


def reasons(page: Any) -> dict[str, float]:
    """The diagnoses behind the first procedure, with the widths of their bars as shares of one."""
    first = ".procedure:first-child .reason"
    script = (
        "return [...document.querySelectorAll(arguments[0])].map((one) => parseFloat(one.style.width) / 100)"
    )
    return dict(zip(page.texts(f"{first} .code"), page.run(script, f"{first} .bar-fill"), strict=True))


def expected_reasons(model: Model, plan: PlanChoice) -> Any:
    because = model.explain(STAY, top=5, plan=plan).procedures[0].because
    shown = {dotted(one.code): one.share for i, one in enumerate(because) if i == 0 or one.share >= 0.005}
    return pytest.approx(shown, abs=1e-4)


def wait_for_trust(page: Any, text: str) -> None:
    page.until("return document.querySelector('#figure-trust').textContent === arguments[0]", text)


def is_drawn(page: Any, expected: dict[tuple[str, str], float]) -> None:
    """Every ribbon has the plan's mass; those that are too thin to be seen may be missing."""
    drawn = page.ribbons()
    assert drawn
    assert drawn == pytest.approx({codes: expected[codes] for codes in drawn}, abs=1e-9)
    assert sum(drawn.values()) == pytest.approx(sum(expected.values()), rel=0.02)


def test_the_switch_goes_by_keyboard_from_the_models_plan_to_the_papers_and_back(
    page: Any, serve: Serve
) -> None:
    address, model = serve(coupling())
    page.width(320)
    page.open(FRAGMENT, address)
    before = page.procedures()
    page.until("return document.querySelector('#plans').checkVisibility()")
    is_drawn(page, mass(model, "own"))
    assert page.run("return document.documentElement.scrollWidth") <= 320, "both switches fit on a phone"
    tall = page.run(
        "return [...document.querySelectorAll('#figure-card .switch span')].map((one) => one.clientHeight)"
    )
    assert len(set(tall)) == 1, "no label breaks into two lines"
    group = page.find("#plans")
    assert group.accessible_name == "Plan"
    assert group.get_attribute("aria-describedby") == "figure-trust"
    assert page.text("#figure-trust") == trust(model, "own")
    page.run("document.querySelector('#plans input:checked').focus()")
    page.keys(RIGHT)
    wait_for_trust(page, trust(model, "transport"))
    is_drawn(page, mass(model, "transport"))
    assert page.procedures() == before, "the ranking is the model's, whatever the plan"
    assert page.text(".reasons .note") == "Comes from (transport plan)"
    assert reasons(page) == expected_reasons(model, "transport"), "the reasons are shares of the plan shown"
    assert "plan=transport" in page.driver.current_url
    assert page.run("return document.activeElement.value") == "transport", "the focus stays on the switch"
    assert page.text("#live") == trust(model, "transport"), "what was measured is read out"
    for view in ("heat", "table", "flow"):
        page.run("document.querySelector(`input[value=${arguments[0]}]`).click()", view)
        page.find("#figure .cell, #figure tbody tr, #figure .ribbon")
    page.run("document.querySelector('#plans input:checked').focus()")
    page.keys(LEFT)
    wait_for_trust(page, trust(model, "own"))
    is_drawn(page, mass(model, "own"))
    assert page.text(".reasons .note") == "Comes from"
    assert reasons(page) == expected_reasons(model, "own")
    assert "plan=" not in page.driver.current_url


def test_no_choice_where_the_models_plan_is_the_papers(page: Any, model: Model) -> None:
    page.open("dx=585.6,518.81&plan=transport")
    page.procedures()
    page.until("return document.querySelector('#about .card-text')")
    assert not page.shown("#plans")
    assert page.text("#figure-trust").startswith("The paper's transport plan")


def test_a_model_without_vectors_gives_its_own_plan_whatever_the_link_says(page: Any, serve: Serve) -> None:
    address, model = serve(random_files("linear", 40, 8, dim=4, heads=1, calibration=SIGMOID))
    page.open(f"{FRAGMENT}&plan=transport", address)
    page.procedures()
    wait_for_trust(page, trust(model, "own"))
    is_drawn(page, mass(model, "own"))
    assert not page.shown("#plans")


def test_json_is_the_very_document_of_the_api(page: Any, serve: Serve) -> None:
    address, model = serve(coupling())
    page.open(f"{FRAGMENT}&plan=transport&yes=icd9pcs:3000", address)
    page.procedures()
    told = json.loads(page.saved("#save-json"))
    assert list(jsonschema_rs.validator_for(explanation_schema()).iter_errors(told)) == []
    asked = {"diagnoses": STAY, "top": 5, "plan": "transport"}
    headers = {"content-type": "application/json"}
    with urlopen(Request(f"{address}/api/explain", json.dumps(asked).encode(), headers)) as answer:
        assert told == json.load(answer)
    assert told == model.explain(STAY, top=5, plan="transport").to_dict()


def test_a_long_list_is_drawn_in_part_and_kept_whole(page: Any, serve: Serve) -> None:
    address, model = serve(coupling(30, bias=30))
    page.open(f"{FRAGMENT}&top=90%25&plan=transport", address)
    listed = page.procedures()
    assert len(listed) == 30
    told = json.loads(page.saved("#save-json"))
    assert [dotted(one["code"]) for one in told["procedures"]] == listed
    assert told == model.explain(STAY, coverage=0.9, plan="transport").to_dict()
    assert len(page.texts("#figure .place[data-procedure]")) == 20
    assert "Only the first 20 of 30 procedures are drawn." in page.text("#figure-note")
    whole = mass(model, "transport", 30)
    assert all(value == pytest.approx(whole[codes]) for codes, value in page.ribbons().items())
