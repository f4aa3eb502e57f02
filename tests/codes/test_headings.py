import pytest

from dx2px.codes import System, category, dictionary, title
from dx2px.codes.headings import (
    _derived_title,
    heading_title,
    pcs_body_systems,
    pcs_root_operations,
    pcs_sections,
)
from dx2px.codes.tables import rows


@pytest.mark.parametrize("system", [System.ICD9CM, System.ICD9PCS, System.ICD10CM])
def test_every_category_has_a_title_that_reads_like_one(system: System) -> None:
    for heading in sorted({category(f"{system}:{bare}") for bare in dictionary(system)}):
        text = title(heading).text
        assert text[0] == text[0].upper()
        assert len(text) > 3
        assert not text.endswith((",", " of", " and", " with", " in", " to", "unspecified site"))


def test_derived_headings_say_what_all_their_codes_share() -> None:
    """A heading taken from the opening words is the beginning of the title of every code under it."""
    text = heading_title("icd10cm:E11")
    assert text == "Type 2 diabetes mellitus"
    under = [words for bare, words in dictionary(System.ICD10CM).items() if bare.startswith("E11")]
    assert all(words.startswith(text) for words in under)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("icd9cm:410", "Acute myocardial infarction"),  # the words that all its codes open with
        ("icd9cm:428", "Heart failure"),  # 428.9 without "unspecified"
        ("icd9cm:565", "Anal fissure and fistula"),  # from the table
        ("icd9cm:000", None),  # no codes under it
    ],
)
def test_each_way_to_a_title(heading: str, text: str | None) -> None:
    assert heading_title(heading) == text


def test_the_table_holds_only_headings_that_need_it() -> None:
    """Each has codes under it, is not a code itself, and gets another title, or none, by derivation."""
    for system, bare, text in rows("headings"):
        codes = dictionary(System(system))
        assert bare not in codes
        assert any(code.startswith(bare) for code in codes)
        assert _derived_title(bare, System(system)) != text, bare


def test_surgical_titles_open_with_the_root_operation_of_our_table() -> None:
    operations = pcs_root_operations("0")
    for bare, text in dictionary(System.ICD10PCS).items():
        if bare.startswith("0"):
            assert text.startswith(operations[bare[2]])


def test_every_pcs_heading_is_named() -> None:
    for bare in dictionary(System.ICD10PCS):
        assert bare[0] in pcs_sections()
        assert bare[0] in "GH" or bare[1] in pcs_body_systems(bare[0])
        assert heading_title(f"icd10pcs:{bare[:3]}")


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("0", "Medical and surgical"),
        ("02", "Medical and surgical: heart and great vessels"),
        ("02H", "Insertion: heart and great vessels"),
        ("XW0", "Introduction: anatomical regions"),  # section X has its own meaning for 0
        ("GZB", "Electroconvulsive therapy (mental health)"),
        ("GZ", None),  # sections G and H have no body systems
        ("A", None),
    ],
)
def test_pcs_headings_are_put_together_from_their_characters(heading: str, text: str | None) -> None:
    assert heading_title(f"icd10pcs:{heading}") == text
