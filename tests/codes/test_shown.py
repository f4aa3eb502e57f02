"""Codes as people read them."""

from __future__ import annotations

import pytest

from dx2px.codes import Notation, System, shown_code


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("icd9cm:5856", "585.6"),
        ("icd9cm:E8859", "E885.9"),
        ("icd9pcs:3995", "39.95"),
        ("icd10cm:N186", "N18.6"),
        ("icd10pcs:5A1D70Z", "5A1D70Z"),
        ("icd9cm:@390-459", "390-459"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_code_is_dotted_and_other_text_is_left_alone(code: str, text: str) -> None:
    assert shown_code(code) == text


def test_one_system_is_named_by_the_heading() -> None:
    notation = Notation.of(["icd9cm:5856", "icd9cm:4275", "nonsense"])
    assert notation.heading == "ICD-9-CM"
    assert notation.write("icd9cm:5856") == "585.6"


def test_in_a_mixed_table_each_code_carries_its_system() -> None:
    notation = Notation.of(["icd9cm:5856", "icd10cm:E119", "icd9pcs:3995"])
    assert notation.heading == "code"
    assert notation.write("icd10cm:E119") == "E11.9 (ICD-10-CM)"
    assert notation.write("icd9cm:5856") == "585.6 (ICD-9-CM)"
    assert notation.write("icd9pcs:3995") == "39.95"  # the only system of its kind
    assert notation.write("nonsense") == "nonsense"


def test_diagnoses_and_procedures_may_be_of_different_versions() -> None:
    notation = Notation.of(["icd10cm:N186", "icd9pcs:3995"])
    assert notation.name == "ICD-9-CM, ICD-10-CM"
    assert [notation.write(code) for code in ("icd10cm:N186", "icd9pcs:3995")] == ["N18.6", "39.95"]


def test_no_codes_have_no_system() -> None:
    assert (Notation.of([]).name, Notation.of([]).heading) == ("", "code")


@pytest.mark.parametrize("system", System)
def test_a_label_is_edition_and_kind(system: System) -> None:
    assert system.label == f"{system.edition} {system.kind}"
