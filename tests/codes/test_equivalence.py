"""The public maps between ICD versions, read the way their documentation says."""

from __future__ import annotations

import pytest

from dx2px.codes import System, dictionary, equivalence
from dx2px.codes.equivalence import Equivalence
from dx2px.errors import CodeError


def test_an_exact_counterpart() -> None:
    assert equivalence("icd10cm:N186") == Equivalence("icd10cm:N186", ((("icd9cm:5856",),),), exact=True)
    assert equivalence("icd9cm:5856") == Equivalence("icd9cm:5856", ((("icd10cm:N186",),),), exact=True)


def test_alternatives_are_one_list() -> None:
    found = equivalence("icd10cm:I509")
    assert found == Equivalence("icd10cm:I509", ((("icd9cm:4280", "icd9cm:4289"),),), exact=False)
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
    only = Equivalence(found.code, found.scenarios[1:], found.exact)
    known = {"icd9cm:01500": 5.0, "icd9cm:73088": 2.0}
    assert only.choose(lambda code: known.get(code, 0.0)) == ("icd9cm:01500", "icd9cm:73088")


def test_no_map_and_not_in_the_map_differ() -> None:
    nothing = equivalence("icd10cm:R402130")
    assert nothing == Equivalence("icd10cm:R402130", (), exact=False)
    assert nothing.choose(lambda code: 1) == ()
    assert equivalence("icd10cm:I50") is None  # a heading
    assert equivalence("icd10cm:U099") is None  # newer than the map


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
