import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.codes import System, clean, dictionary, dotted, has_shape, normalize, resolve, split
from dx2px.errors import CodeError

ALL_CODES = [(system, bare) for system in System for bare in dictionary(system)]
codes = st.sampled_from(ALL_CODES)
blanks = st.text(alphabet=" \t\r\n\u00a0\u200b\ufeff\u2009", max_size=3)


def test_every_listed_code_has_the_shape_and_survives_the_dotted_form() -> None:
    for system, bare in ALL_CODES:
        canonical = f"{system}:{bare}"
        assert has_shape(bare, system)
        assert normalize(dotted(canonical), system) == canonical
        assert split(canonical) == (system, bare)


@given(codes, blanks, blanks, st.sampled_from(["", '"', "'", "“"]), st.sampled_from(["", "-", "--", "- "]))
def test_blanks_case_quotes_padding_and_dots_do_not_matter(
    code: tuple[System, str], before: str, after: str, quote: str, padding: str
) -> None:
    system, bare = code
    canonical = f"{system}:{bare}"
    for text in (bare, dotted(canonical), canonical, bare.lower()):
        assert normalize(f"{before}{quote}{text}{padding}{quote}{after}", system) == canonical


@given(codes)
def test_normalizing_twice_is_normalizing_once(code: tuple[System, str]) -> None:
    system, bare = code
    once = normalize(bare, system)
    assert normalize(once, system) == once


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(max_size=12), st.sampled_from(System))
def test_any_text_gives_a_code_of_the_right_shape_or_one_sentence(text: str, system: System) -> None:
    try:
        code = normalize(text, system)
    except CodeError as refused:
        sentence = str(refused)
    else:
        assert has_shape(split(code)[1], system)
        return
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "text",
    [
        "0389",
        "038.9",
        " 0389 ",
        "0389\u00a0",
        "038.9 ",
        '"0389"',
        "'0389",
        "0389-",
        '="0389"',
        "icd9cm: 0389",
    ],
)
def test_one_code_however_it_is_written(text: str) -> None:
    assert normalize(text, System.ICD9CM) == "icd9cm:0389"


@pytest.mark.parametrize(
    ("text", "system", "canonical"),
    [
        ("v30.00", System.ICD9CM, "icd9cm:V3000"),
        ("e849.0", System.ICD9CM, "icd9cm:E8490"),
        ("585.", System.ICD9CM, "icd9cm:585"),
        ("00.17", System.ICD9PCS, "icd9pcs:0017"),
        ("022-", System.ICD9PCS, "icd9pcs:022"),
        ("c4a.10", System.ICD10CM, "icd10cm:C4A10"),
        ("02hv33z", System.ICD10PCS, "icd10pcs:02HV33Z"),
    ],
)
def test_each_system_has_its_form(text: str, system: System, canonical: str) -> None:
    assert normalize(text, system) == canonical


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("42.80", System.ICD9CM),  # the dot stands after three characters
        ("E84.90", System.ICD9CM),  # after four in an E code
        ("4.2.80", System.ICD9CM),
        ("42", System.ICD9CM),
        ("428000", System.ICD9CM),
        ("V00", System.ICD9CM),
        ("V92", System.ICD9CM),
        ("E11.9", System.ICD9CM),
        ("389.3", System.ICD9PCS),
        ("4280", System.ICD10CM),
        ("I5", System.ICD10CM),
        ("02HV33", System.ICD10PCS),
        ("02HI33Z", System.ICD10PCS),  # no I and no O
        ("02H.V33Z", System.ICD10PCS),
        ("٤٢٨٠", System.ICD9CM),  # digits, but not ours
        ("", System.ICD9CM),
        ("-", System.ICD9PCS),
        ("-4280", System.ICD9CM),  # a negative number
        ("42\x000", System.ICD9CM),  # a character that was lost
        ("428\x00", System.ICD9CM),
        ("\x01428", System.ICD9CM),
        ("42 80", System.ICD9CM),
        ("42\u200b80", System.ICD9CM),
        ("42\t80", System.ICD9CM),
        ("ı50.9", System.ICD10CM),  # a dotless i, whose capital is I
        ("icd9pcs:4280", System.ICD9CM),
        ("snomed:4280", System.ICD9CM),
    ],
)
def test_what_is_not_a_code_is_refused(text: str, system: System) -> None:
    with pytest.raises(CodeError, match=system.label):
        normalize(text, system)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(CodeError) as caught:
        normalize("x" * 5000, System.ICD9CM)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("icd9cm:4280", "428.0"),
        ("icd9cm:486", "486"),
        ("icd9cm:E8490", "E849.0"),
        ("icd9cm:E849", "E849"),
        ("icd9cm:V3000", "V30.00"),
        ("icd9pcs:0017", "00.17"),
        ("icd10cm:E119", "E11.9"),
        ("icd10pcs:02HV33Z", "02HV33Z"),
        ("icd9cm:@390-459", "390-459"),
    ],
)
def test_dotted_form(code: str, shown: str) -> None:
    assert dotted(code) == shown


@pytest.mark.parametrize("code", ["4280", "icd11:4280", "icd9cm:", ":4280"])
def test_split_needs_a_canonical_code(code: str) -> None:
    with pytest.raises(CodeError, match=re.escape("icd9cm:4280")):
        split(code)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("428.0", "icd9cm:4280"),
        ("4280", "icd9cm:4280"),
        ("icd9cm:4280", "icd9cm:4280"),
        ("ICD9CM:428.0", "icd9cm:4280"),
        ("00.17", "icd9pcs:0017"),
        ("i50.9", "icd10cm:I509"),
        ("02hv33z", "icd10pcs:02HV33Z"),
        ("2765", "icd9cm:2765"),  # in no list, but a heading of ICD-9 diagnoses only
        ("39.95", "icd9pcs:3995"),
    ],
)
def test_resolve_finds_the_system(text: str, canonical: str) -> None:
    assert resolve(text) == canonical


def test_an_ambiguous_text_is_refused_with_its_candidates() -> None:
    with pytest.raises(CodeError, match=r"icd9cm:E030 or icd10cm:E030.*as in icd9cm:E030"):
        resolve("E030")


def test_preference_and_kind_decide_between_systems() -> None:
    assert resolve("E030", prefer=[System.ICD10CM, System.ICD9CM]) == "icd10cm:E030"
    assert resolve("0042", kind="procedure") == "icd9pcs:0042"
    assert resolve("0042", kind="diagnosis") == "icd9cm:0042"


def test_a_listed_code_wins_over_a_preferred_shape() -> None:
    assert resolve("4280", prefer=[System.ICD9PCS]) == "icd9cm:4280"


def test_a_named_system_must_be_of_the_requested_kind() -> None:
    with pytest.raises(CodeError, match="icd9pcs, icd10pcs"):
        resolve("icd9cm:4280", kind="procedure")


@pytest.mark.parametrize("text", ["", "heart failure", "1.2.3", "icd11:4280", "icd9cm:hello"])
def test_resolve_refuses_what_no_system_has(text: str) -> None:
    with pytest.raises(CodeError):
        resolve(text)
