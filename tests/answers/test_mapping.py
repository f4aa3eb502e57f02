"""ICD-10 diagnoses put to an ICD-9 model, and the reverse, each mapping shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dx2px.answers import Model
from dx2px.answers.coded_as import CodedAs
from dx2px.answers.mapping import Translation
from dx2px.errors import InputError, OtherVersionError
from dx2px.scoring.folder import ModelFiles
from synthetic_models import random_files

COUNTS = (5, 30, 10, 20, 7, 9, 0)


def drawn(method: str) -> ModelFiles:
    """Random weights; no training stay had the last diagnosis."""
    files = random_files(method, len(COUNTS), 3, dim=4, heads=4, settings={}, diagnosis_counts=COUNTS)
    seen = np.array(COUNTS, np.float32).clip(max=1)
    return replace(files, arrays={**files.arrays, "seen": seen} if "seen" in files.arrays else files.arrays)


NINE = replace(
    drawn("linear"),
    diagnoses=(
        "icd9cm:0031",
        "icd9cm:25000",
        "icd9cm:25001",
        "icd9cm:4280",
        "icd9cm:4289",
        "icd9cm:5856",
        "icd9cm:99591",
    ),
)
SEPSIS = ("icd9cm:99591", "icd9cm:99592")
TEN = replace(NINE, diagnoses=("icd10cm:E119", *(f"icd10cm:I50{n}" for n in range(5)), "icd10cm:N186"))


def told(model: Model, *codes: str) -> list[tuple[str, list[str], str]]:
    mapping = model.recommend(codes).to_dict()["mapping"]
    return [(one["from"], one["to"], one["kind"]) for one in mapping]


def test_exact_and_approximate_maps_are_told_apart() -> None:
    assert told(Model(NINE), "N18.6", "E11.9") == [
        ("icd10cm:N186", ["icd9cm:5856"], "exact"),
        ("icd10cm:E119", ["icd9cm:25000"], "approximate"),
    ]


def test_the_answer_is_that_of_the_mapped_codes() -> None:
    model = Model(NINE)
    mapped, typed = model.recommend(["N18.6", "E11.9"]), model.recommend(["585.6", "250.00"])
    assert mapped.recommendations == typed.recommendations
    assert tuple(replace(one, mapped_from=()) for one in mapped.diagnoses) == typed.diagnoses
    assert [one.mapped_from for one in mapped.diagnoses] == [("icd10cm:N186",), ("icd10cm:E119",)]


def test_of_alternatives_the_most_frequent_in_training() -> None:
    assert told(Model(NINE), "I50.9")[0][1] == ["icd9cm:4280"]
    often = replace(NINE, diagnosis_counts=(*COUNTS[:4], 999, *COUNTS[5:]))
    assert told(Model(often), "I50.9")[0][1] == ["icd9cm:4289"]


def test_a_combination_gives_several_codes() -> None:
    assert told(Model(NINE), "A02.1") == [("icd10cm:A021", ["icd9cm:0031", "icd9cm:99591"], "approximate")]


def test_an_implied_fifth_digit_gives_way_to_another_that_is_meant() -> None:
    """Sepsis implies 995.91, which nobody codes beside the 995.92 of septic shock; one stay or many are read alike."""
    model = Model(replace(NINE, diagnoses=("icd9cm:0389", *NINE.diagnoses[1:4], "icd9cm:78552", *SEPSIS)))
    stays = [["A41.9", "R65.21"], ["R65.21", "A41.9"], ["A41.9"], ["A41.9", "995.91", "R65.21"]]
    shock, sepsis = ["icd9cm:0389", "icd9cm:78552", SEPSIS[1]], ["icd9cm:0389", SEPSIS[0]]
    for stay, read in zip(stays, (shock, shock, sepsis, [*shock, SEPSIS[0]]), strict=True):
        answer = model.recommend(stay)
        assert sorted(one.code for one in answer.diagnoses) == sorted(read)
        scores = model.recommend_many([stay], 3)["score"]
        assert list(scores) == pytest.approx([one.score for one in answer.recommendations])
        coded = CodedAs(model.diagnoses, Translation(model.diagnoses, COUNTS))
        assert sorted(coded.used(stay)) == sorted(read)
    assert told(model, *stays[0])[0] == ("icd10cm:A419", ["icd9cm:0389"], "approximate")


def test_codes_without_a_map_are_told_and_left_unknown() -> None:
    answer = Model(NINE).recommend(["Z3A.39", "Z58.6", "N18.6"])
    kinds = {one["from"]: one["kind"] for one in answer.to_dict()["mapping"]}
    assert kinds == {"icd10cm:Z3A39": "no-map", "icd10cm:Z586": "not-listed", "icd10cm:N186": "exact"}
    assert [d.status for d in answer.diagnoses] == ["unknown", "unknown", "known"]
    with pytest.raises(InputError, match=r"knows none of these diagnoses: Z3A\.39"):
        Model(NINE).recommend(["Z3A.39"])


def test_codes_younger_than_the_map_go_by_their_heading() -> None:
    answer = Model(NINE).recommend(["I50.810", "E11.10"]).to_dict()
    assert answer["mapping"] == [
        {
            "from": "icd10cm:I50810",
            "title": "Right heart failure, unspecified",
            "to": ["icd9cm:4280"],
            "kind": "parent",
            "via": "icd10cm:I50",
        },
        {
            "from": "icd10cm:E1110",
            "title": "Type 2 diabetes mellitus with ketoacidosis without coma",
            "to": ["icd9cm:25000"],
            "kind": "parent",
            "via": "icd10cm:E11",
        },
    ]


def test_the_reverse_way() -> None:
    assert told(Model(TEN), "585.6", "428.0", "250.00") == [
        ("icd9cm:5856", ["icd10cm:N186"], "exact"),
        ("icd9cm:4280", ["icd10cm:I509"], "approximate"),
        ("icd9cm:25000", ["icd10cm:E119"], "approximate"),
    ]
    backed = Model(TEN).recommend(["428.0"]).diagnoses[0]  # I50.9 is not in the model, I50.0 to I50.4 are
    assert (backed.code, backed.status) == ("icd10cm:I509", "backed-off")


def test_codes_of_the_models_own_version_are_left_alone() -> None:
    answer = Model(NINE).recommend(["585.6", "hello", "N18.6", "icd10cm:N186"])
    assert [one.code for one in answer.mapping] == ["icd10cm:N186"]
    assert [d.code for d in answer.diagnoses] == ["icd9cm:5856", "hello"]


def test_mapping_can_be_refused() -> None:
    with pytest.raises(OtherVersionError, match=r"^N18\.6: the model knows ICD-9-CM diagnoses"):
        Model(NINE).recommend(["N18.6", "585.6"], map=False)
    assert "mapping" not in Model(NINE).recommend(["585.6"], map=False).to_dict()


def test_explanations_are_mapped_too() -> None:
    files = replace(drawn("e+sa+ma"), diagnoses=NINE.diagnoses)
    explained = Model(files).explain(["N18.6", "E11.9"]).to_dict()
    assert explained["plan"]["diagnoses"] == ["icd9cm:5856", "icd9cm:25000"]
    assert [one["from"] for one in explained["mapping"]] == ["icd10cm:N186", "icd10cm:E119"]
