"""Families of ICD-10-PCS codes: how they are written, what belongs to them, what they are called."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dx2px import Model
from dx2px.codes import (
    System,
    ancestors,
    category,
    counts_as,
    dictionary,
    dotted,
    family,
    holds,
    hull,
    is_family,
    joined,
    members,
    narrowed,
    open_axes,
    read_family,
    split,
    title,
)
from dx2px.codes.catalogue import in_order
from dx2px.codes.tables import rows
from dx2px.errors import CodeError

KNEE = "icd10pcs:0SR[CD]"


def test_a_family_is_written_as_its_codes_begin() -> None:
    assert family(["0SRC", "0SRD"]) == KNEE
    assert family(["5A1D70Z", "5A1D80Z", "5A1D90Z"]) == "icd10pcs:5A1D"  # there are no others
    assert family(["0SRC", "0SRC07Z"]) == "icd10pcs:0SRC"  # the second is among the first
    assert family(["0FT44ZZ"]) == "icd10pcs:0FT44ZZ"  # one code is that code
    assert family(["0FT44"]) == "icd10pcs:0FT44ZZ"
    assert hull(["0HB0XZZ", "0HB1XZX", "0JB1XZZ"]) == "icd10pcs:0[HJ]B[01]X"
    assert joined(["icd10pcs:0SRD", "icd10pcs:0SRC"]) == "icd10pcs:0SRC+0SRD"


@pytest.mark.parametrize("typed", ["0SR[CD]", "0sr[dc]", " icd10pcs:0SR[CD] ", "ICD10PCS:0SR[DCC]"])
def test_typed_families_have_one_form(typed: str) -> None:
    assert read_family(typed) == KNEE


@pytest.mark.parametrize("typed", ["0S", "0SR[", "0SR[]", "0SR C", "icd9pcs:0SR", "0SRI", "9ZZZ", "knee", ""])
def test_other_texts_are_no_families(typed: str) -> None:
    with pytest.raises(CodeError):
        read_family(typed)


def test_codes_and_families_are_told_apart() -> None:
    assert is_family(KNEE)
    assert is_family("icd10pcs:5A1D")
    assert not is_family("icd10pcs:0SRC0J9")
    assert not is_family("icd10pcs:0SR[DC]")  # not as it is written
    assert not is_family("icd9pcs:8154")


def test_the_members_are_the_listed_codes() -> None:
    listed = [f"icd10pcs:{code}" for code in dictionary(System.ICD10PCS)]
    assert list(members(KNEE)) == sorted(c for c in listed if c[9:13] in ("0SRC", "0SRD"))
    anywhere = members("icd10pcs:0HB-XZZ")
    assert list(anywhere) == sorted(c for c in listed if c[9:12] == "0HB" and c.endswith("XZZ"))
    assert members("icd10pcs:0SRC0J9") == ("icd10pcs:0SRC0J9",)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(in_order(System.ICD10PCS)[::37]), min_size=1, max_size=6), st.integers(4, 7))
def test_a_family_holds_what_it_was_made_of_and_survives_reading(codes: list[str], length: int) -> None:
    for made in (family(code[:length] for code in codes), hull(codes)):
        assert all(holds(f"icd10pcs:{code}", made) for code in codes)
        assert {f"icd10pcs:{code}" for code in codes} <= set(members(made))
        assert read_family(made) == made
        assert not set(made) & set(" ,/\\|")
    naive = {c for c in in_order(System.ICD10PCS) if any(c.startswith(one[:length]) for one in codes)}
    assert {c[9:] for c in members(family(code[:length] for code in codes))} == naive


def test_a_family_belongs_to_a_wider_one() -> None:
    assert holds("icd10pcs:0SRC", KNEE)
    assert not holds("icd10pcs:0SR9", KNEE)
    assert counts_as("icd10pcs:0SRC0J9", KNEE)
    assert counts_as("icd9pcs:8154", "icd9pcs:8154")
    assert not counts_as("icd9pcs:8154", KNEE)
    assert not holds("icd10pcs:0SR", KNEE)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("icd10pcs:0SR[CDTUVW]", "Replacement of knee joint"),
        ("icd10pcs:5A1D", "Performance of urinary filtration"),
        (
            "icd10pcs:10D00",
            "Extraction of products of conception, extraperitoneal, high or low, open approach",
        ),
        (
            "icd10pcs:0DTG[078]",
            "Resection of left large intestine, open approach or via natural or artificial opening",
        ),
        ("icd10pcs:0DT[EJ]", "Resection of appendix or large intestine"),
        ("icd10pcs:3E0[3456]36", "Introduction of nutritional substance into vein or artery"),
        (
            "icd10pcs:0QS[6789BC][03]4",
            "Reposition of femoral shaft, lower femur or upper femur, open or percutaneous approach",
        ),
        ("icd10pcs:0P9-0ZX+0PB-0ZX", "Drainage or excision of upper bones, open approach, diagnostic"),
        ("icd10pcs:F07[0123]", "Motor treatment"),
        ("icd10pcs:02PAX+02PA[034]M", "Removal of device from heart"),
        (
            "icd10pcs:027[FGHJ][34]",
            "Dilation of aortic, mitral, pulmonary or tricuspid valve, percutaneous approach",
        ),
        ("icd10pcs:0FBG[034]ZZ", "Excision of pancreas"),
        ("icd10pcs:GZ5[023]+GZC", "Biofeedback or individual psychotherapy"),
    ],
)
def test_the_title_says_what_the_codes_share(code: str, text: str) -> None:
    assert title(code).text == text


def test_every_family_of_the_packages_model_has_a_readable_title() -> None:
    codes = [code for code in Model.load(answer_in="icd10pcs").files.procedures if is_family(code)]
    titles = {code: title(code).text for code in codes}
    assert not [text for text in titles.values() if "…" in text or len(text) < 10 or "  " in text]
    assert max(map(len, titles.values())) <= 90
    assert len(set(titles.values())) == len(codes)
    assert {split(code)[1] for code in codes} > {family for family, _ in rows("family_titles")}


def test_a_family_has_a_side_and_axes_to_complete() -> None:
    assert narrowed(KNEE, "right") == "icd10pcs:0SRC"
    assert narrowed(KNEE, "left") == "icd10pcs:0SRD"
    assert narrowed("icd10pcs:5A1D", "left") is None
    assert open_axes(KNEE) == ("side", "device", "qualifier")
    assert open_axes("icd10pcs:0SRC") == ("device", "qualifier")
    assert open_axes("icd10pcs:5A1D") == ("duration",)
    assert open_axes("icd10pcs:0DTJ4ZZ") == ()


def test_a_family_goes_where_codes_go() -> None:
    assert dotted(KNEE) == "0SR[CD]"
    assert category(KNEE) == "icd10pcs:0SR"
    assert ancestors(KNEE) == ("icd10pcs:0SR", "icd10pcs:0S", "icd10pcs:0")
