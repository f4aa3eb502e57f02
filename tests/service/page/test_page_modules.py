"""The page's pure functions, run in the browser and held against Python or against what must be true."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from dx2px.answers.results import FEW
from dx2px.codes import System, dictionary, dotted


def test_codes_are_written_as_python_writes_them(library: Any) -> None:
    codes = [f"{system}:{bare}" for system in System for bare in list(dictionary(system))[::50]]
    assert len(codes) > 1000
    assert library.module("codes", "return given[0].map(m.dotted)", codes) == [dotted(code) for code in codes]


@pytest.mark.parametrize(
    ("text", "codes", "skipped"),
    [
        ("585.6 427.5", ["585.6", "427.5"], 0),
        ("585.6, 427.5;V27.0", ["585.6", "427.5", "V27.0"], 0),
        ("585.6 End stage renal disease\r\nE885.9 Fall on level 3", ["585.6", "E885.9"], 0),
        ("icd9cm:5856 | icd10pcs:0FT44ZZ", ["icd9cm:5856", "icd10pcs:0FT44ZZ"], 0),
        ("code\n038.9\n\n", ["038.9"], 1),
        ("", [], 0),
        ("no code at all", [], 1),
    ],
)
def test_lists_are_read(library: Any, text: str, codes: list[str], skipped: int) -> None:
    assert library.module("codes", "return m.readList(given[0])", text) == {
        "codes": codes,
        "skipped": skipped,
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("585.6", "icd9cm:5856", True),
        ("e885.9", "icd9cm:E8859", True),
        ("icd9cm:E030", "icd10cm:E030", False),
        ("585.6", "585.5", False),
    ],
)
def test_one_code_is_known_in_all_its_forms(library: Any, one: str, other: str, same: bool) -> None:
    assert library.module("codes", "return m.sameCode(given[0], given[1])", one, other) is same


@pytest.mark.parametrize(
    "state",
    [
        {"diagnoses": ["icd9cm:5856", "585.6", "a&b=c,d", "100%", "ü+ü"], "tab": "audit"},
        {"accepted": ["icd9pcs:3995"], "rejected": ["icd9pcs:9604"], "top": "90%", "view": "table"},
        {"plan": "transport"},
        {"auditDiagnoses": ["585.6"], "auditProcedures": ["#?/"]},
        {"principal": "585.6", "age": "80", "sex": "F", "admission": "trauma & emergency"},
        {},
    ],
)
def test_the_fragment_gives_back_the_state(library: Any, state: dict[str, Any]) -> None:
    script = "const full = {...m.decode(''), ...given[0]}; return [full, m.decode(m.encode(full))]"
    before, after = library.module("state", script, state)
    # A comma inside a text is the one thing that a fragment cannot keep: no code has one.
    before["diagnoses"] = [one for code in before["diagnoses"] for one in code.split(",")]
    assert after == before


@pytest.mark.parametrize(
    "fragment",
    ["tab=evil&top=1e9&view=%3Cb%3E&plan=penalised", "age=-1&sex=x&adm=&pdx=", "dx", "&&&==", "%E0%A4%A"],
)
def test_nonsense_in_the_fragment_is_as_nothing(library: Any, fragment: str) -> None:
    start, read = library.module("state", "return [m.decode(''), m.decode(given[0])]", fragment)
    assert read == start


def test_flow_conserves_mass_and_keeps_labels_apart(library: Any) -> None:
    mass = [[0.3, 0.0, 0.1], [0.05, 0.25, 0.0], [0.0, 0.0, 0.001], [0.1, 0.1, 0.099]]
    drawn = library.module("flow", "return m.layout(given[0], 200)", mass)
    for i, row in enumerate(mass):
        thickness = sum(one["thickness"] for one in drawn["ribbons"] if one["i"] == i)
        assert thickness == pytest.approx(drawn["left"][i]["height"]) == pytest.approx(200 * sum(row))
    for j in range(3):
        arriving = [one for one in drawn["ribbons"] if one["j"] == j]
        assert sum(one["thickness"] for one in arriving) == pytest.approx(drawn["right"][j]["height"])
        assert min(one["y1"] for one in arriving) == pytest.approx(drawn["right"][j]["y"])
    for side in ("left", "right"):
        centres = [one["y"] + one["height"] / 2 for one in drawn[side]]
        assert all(later - earlier >= 24 - 1e-9 for earlier, later in pairwise(centres))
        assert centres[-1] < drawn["height"]


def test_a_plan_without_mass_is_drawn_flat(library: Any) -> None:
    drawn = library.module("flow", "return m.layout(given[0], 100)", [[0.0], [0.0]])
    assert [one["thickness"] for one in drawn["ribbons"]] == [0, 0]


def test_spreadsheets_run_nothing(library: Any) -> None:
    answer = {"procedures": [{"rank": 1, "code": "x", "title": '=1+"a"', "probability": None, "because": []}]}
    text = library.module("download", "return m.asCsv({answer: given[0]})", answer)
    assert text.splitlines()[1] == '1,x,"\'=1+""a""",,,,,'


def test_stays_are_read_line_by_line(library: Any) -> None:
    read = library.module(
        "stay_list",
        "const r = m.readStays(given[0]); return [r.stays, [...r.names], r.flaws]",
        "A|585.6|39.95\n\n|428.0|\nB|x|y\nC|428.0 Heart failure; 585.6|\nD|428.0 x 585.6|39.95\nE||39.95\nF|1|2|3",
    )
    assert read[0] == [
        {"id": "1", "diagnoses": ["585.6"], "procedures": ["39.95"]},
        {"id": "3", "diagnoses": ["428.0"], "procedures": []},
        {"id": "5", "diagnoses": ["428.0", "585.6"], "procedures": []},
    ]
    assert read[1][:3] == [["1", "A"], ["3", "line 3"], ["4", "B"]]
    assert {one["id"]: one["reason"] for one in read[2]} == {
        "4": "x, y: not a code",
        "6": "x: not a code",
        "7": "it has no diagnosis",
        "8": "two bars are needed, it has 3: write name | diagnoses | procedures (the name may be empty)",
    }


VENTILATED = [
    "Continuous invasive mechanical ventilation for less than 96 consecutive hours",
    "Continuous invasive mechanical ventilation for 96 consecutive hours or more",
    "Non-invasive mechanical ventilation",
]


@pytest.mark.parametrize(
    ("title", "length", "shown"),
    [
        (VENTILATED[2], 40, VENTILATED[2]),
        (VENTILATED[0], 45, "Continuous…less than 96 consecutive hours"),
        (VENTILATED[1], 45, "Continuous…96 consecutive hours or more"),
        (VENTILATED[0], 30, "Continuous…less than 96…"),
        (
            "Cardiopulmonary resuscitation, not otherwise specified",
            45,
            "Cardiopulmonary resuscitation, not…specified",
        ),
        ("Pseudohypoparathyroidism", 10, "Pseudo…ism"),
    ],
)
def test_long_titles_keep_what_tells_them_apart(library: Any, title: str, length: int, shown: str) -> None:
    script = "return m.shortened(given[0], (text) => text.length <= given[1], given[2])"
    assert library.module("shorten", script, title, length, VENTILATED) == shown


def test_alternatives_and_weak_support_are_marked(library: Any) -> None:
    codes = [f"icd9pcs:{code}" for code in (7935, 7915, 8152, 9904)]
    answer = {"alternatives": [codes[:3]]}
    because = [{"code": "icd9cm:82021", "share": 1.0}]
    asked = [
        {"code": code, "rests_on": stays, "because": because}
        for code, stays in zip(codes, (FEW, FEW - 1, 11, None), strict=True)
    ]
    script = "return given[1].map((one) => [m.remarksOn(given[0], one), m.support(one)])"
    assert library.module("remarks", script, answer, asked) == [
        [["or 79.15, 81.52"], "Rests on 30 training stays with 820.21."],
        [["or 79.35, 81.52", "few stays"], "Rests on 29 training stays with 820.21."],
        [["or 79.35, 79.15", "few stays"], "Rests on at most 11 training stays with 820.21."],
        [[], ""],
    ]
