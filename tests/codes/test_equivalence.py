"""The public maps between ICD versions, read the way their documentation says."""

from __future__ import annotations

import pytest

from dx2px.codes import System, dictionary, equivalence, nearest
from dx2px.codes.equivalence import Equivalence
from dx2px.errors import CodeError


def test_an_exact_counterpart() -> None:
    assert equivalence("icd10cm:N186") == Equivalence(
        "icd10cm:N186", ((("icd9cm:5856",),),), exact=True, of="icd10cm:N186"
    )
    assert equivalence("icd9cm:5856") == Equivalence(
        "icd9cm:5856", ((("icd10cm:N186",),),), exact=True, of="icd9cm:5856"
    )


def test_alternatives_are_one_list() -> None:
    found = equivalence("icd10cm:I509")
    assert found == Equivalence(
        "icd10cm:I509", ((("icd9cm:4280", "icd9cm:4289"),),), exact=False, of="icd10cm:I509"
    )
    assert found.choose(lambda code: 0) == ("icd9cm:4280",)
    assert found.choose({"icd9cm:4280": 1, "icd9cm:4289": 2}.__getitem__) == ("icd9cm:4289",)


def test_a_combination_takes_one_of_each_list() -> None:
    found = equivalence("icd10cm:A021")
    assert found is not None
    assert found.scenarios == ((("icd9cm:0031",), ("icd9cm:99591",)),)
    assert found.choose(lambda code: 1) == ("icd9cm:0031", "icd9cm:99591")


def test_a_scenario_without_unknown_codes_is_chosen() -> None:
    # Tuberculosis of spine: one code, or the same code with one of four others.
    found = equivalence("icd10cm:A1801")
    assert found is not None
    assert found.scenarios[0] == (("icd9cm:01500",),)
    assert len(found.scenarios) == 5
    only = Equivalence(found.code, found.scenarios[1:], found.exact, found.of)
    known = {"icd9cm:01500": 5.0, "icd9cm:73088": 2.0}
    assert only.choose(lambda code: known.get(code, 0.0)) == ("icd9cm:01500", "icd9cm:73088")


def test_no_map_and_not_in_the_map_differ() -> None:
    nothing = equivalence("icd10cm:R402130")
    assert nothing == Equivalence("icd10cm:R402130", (), exact=False, of="icd10cm:R402130")
    assert nothing.choose(lambda code: 1) == ()
    assert equivalence("icd10cm:I50") is None  # a heading
    assert equivalence("icd10cm:U099") is None  # newer than the map


@pytest.mark.parametrize(
    ("code", "heading", "target"),
    [
        ("icd10cm:O34211", "icd10cm:O3421", "icd9cm:65421"),  # younger than the map, which has its parent
        ("icd10cm:A0472", "icd10cm:A047", "icd9cm:00845"),
        ("icd10cm:E7800", "icd10cm:E780", "icd9cm:2720"),
        ("icd10cm:I50810", "icd10cm:I50", "icd9cm:4280"),  # I50.8 is younger, too: any code of the category
        ("icd10cm:I50", "icd10cm:I50", "icd9cm:4280"),  # a heading
        ("icd10cm:U071", "icd10cm:U07", "icd9cm:4809"),  # a category of which the map knows nothing
        ("icd10cm:M9701XA", "icd10cm:M97", "icd9cm:99644"),
        ("icd9cm:428", "icd9cm:428", "icd10cm:I509"),
    ],
)
def test_a_code_that_the_map_lacks_takes_the_entry_of_its_nearest_heading(
    code: str, heading: str, target: str
) -> None:
    found = nearest(code)
    assert found is not None
    assert (found.code, found.of, found.exact) == (code, heading, False)
    assert found.choose(lambda one: one == target) == (target,)


def test_a_stand_in_is_of_the_same_encounter() -> None:
    # Underdosing of insulin has no equivalent. Of its siblings, those for later encounters all go to V58.89, aftercare.
    first, later = nearest("icd10cm:T383X6A"), nearest("icd10cm:T383X6D")
    assert first is not None
    assert later is not None
    known = {"icd9cm:99523": 2.0, "icd9cm:E9323": 3.0, "icd9cm:V5889": 99.0}
    assert first.choose(lambda code: known.get(code, 0.0)) == ("icd9cm:99523", "icd9cm:E9323")
    assert later.choose(lambda code: known.get(code, 0.0)) == ("icd9cm:V5889",)


def test_the_nearest_entry_of_a_code_in_the_map_is_its_own() -> None:
    assert nearest("icd10cm:N186") == equivalence("icd10cm:N186")
    assert nearest("icd10cm:A021") == equivalence("icd10cm:A021")  # a combination


def test_the_codes_that_lead_to_an_approximate_one_are_alternatives() -> None:
    own, found = equivalence("icd10cm:Z23"), nearest("icd10cm:Z23")
    assert own is not None
    assert found is not None
    assert own.scenarios == ((("icd9cm:V059",),),)
    assert found.choose(lambda code: 0) == ("icd9cm:V059",)
    assert found.choose(lambda code: code == "icd9cm:V053") == ("icd9cm:V053",)


def test_what_has_no_equivalent_in_its_whole_category_has_none() -> None:
    weeks = nearest("icd10cm:Z3A39")
    assert weeks is not None
    assert weeks.scenarios == ()
    assert nearest("icd10cm:Z586") is None  # younger than the map, and in no table of ours


def test_few_listed_codes_have_no_way_to_the_other_version() -> None:
    listed = [f"icd10cm:{bare}" for bare in dictionary(System.ICD10CM)]
    lost = [code for code in listed if not ((found := nearest(code)) and found.scenarios)]
    assert {code[8:11] for code in lost} == {"Y95", "Z19", "Z3A", "Z58", "Z67"}


def test_procedures_have_no_map() -> None:
    with pytest.raises(CodeError, match="Only diagnoses can be mapped"):
        equivalence("icd9pcs:3995")


@pytest.mark.parametrize(("system", "least"), [(System.ICD9CM, 14_500), (System.ICD10CM, 69_000)])
def test_every_target_is_a_listed_code(system: System, least: int) -> None:
    found = [equivalence(f"{system}:{bare}") for bare in dictionary(system)]
    entries = [one for one in found if one is not None]
    targets = {
        code for one in entries for scenario in one.scenarios for choices in scenario for code in choices
    }
    (other,) = {code.partition(":")[0] for code in targets}
    listed = dictionary(System(other))
    assert len(entries) >= least * 0.95
    assert sum(code.partition(":")[2] in listed for code in targets) / len(targets) > 0.98
    assert 0.02 < sum(one.exact for one in entries) / len(entries) < 0.3
