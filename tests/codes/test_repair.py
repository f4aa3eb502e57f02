import bz2
import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.codes import System, clean, dictionary, dotted, explain, looks_dotted, looks_numeric, repair
from dx2px.codes.repair import _SENTENCES

DATA = Path(__file__).parents[2].parent / "shared" / "data"
ICD9 = [System.ICD9CM, System.ICD9PCS]


@pytest.mark.parametrize(
    ("text", "system", "code", "reason"),
    [
        ("0389", System.ICD9CM, "icd9cm:0389", "unchanged"),
        ("038.9", System.ICD9CM, "icd9cm:0389", "unchanged"),
        ("38.9", System.ICD9CM, "icd9cm:0389", "decimal_restored"),
        ("38.1", System.ICD9CM, "icd9cm:03810", "decimal_restored"),
        ("250", System.ICD9CM, "icd9cm:25000", "decimal_restored"),
        ("250.0", System.ICD9CM, "icd9cm:25000", "decimal_restored"),
        ("428", System.ICD9CM, "icd9cm:4280", "decimal_restored"),
        ("428.0", System.ICD9CM, "icd9cm:4280", "unchanged"),
        ("4280.0", System.ICD9CM, "icd9cm:4280", "float_tail_removed"),
        ("V3000", System.ICD9CM, "icd9cm:V3000", "unchanged"),
        ("17", System.ICD9PCS, "icd9pcs:0017", "leading_zero_restored"),
        ("17.0", System.ICD9PCS, "icd9pcs:0017", "leading_zero_restored"),
        ("0.17", System.ICD9PCS, "icd9pcs:0017", "decimal_restored"),
        ("3893", System.ICD9PCS, "icd9pcs:3893", "unchanged"),
        ("3893.0", System.ICD9PCS, "icd9pcs:3893", "float_tail_removed"),
        ("16070", System.ICD10PCS, "icd10pcs:0016070", "leading_zero_restored"),
        ("02700E6", System.ICD10PCS, "icd10pcs:02700E6", "unchanged"),
        ("I50.9", System.ICD10CM, "icd10cm:I509", "unchanged"),
    ],
)
def test_one_code_fits(text: str, system: System, code: str, reason: str) -> None:
    found = repair(text, system)
    assert (found.code, found.reason, found.candidates) == (code, reason, (code,))


@pytest.mark.parametrize(
    ("text", "system", "reason"),
    [
        ("42", System.ICD9CM, "ambiguous_leading_zero"),
        ("16", System.ICD9PCS, "ambiguous_leading_zero"),
        ("3893", System.ICD9CM, "no_such_code"),
        ("9.99", System.ICD9CM, "no_such_code"),
        ("2.7E+09", System.ICD10PCS, "scientific_notation"),
        ("2.70E+09", System.ICD10PCS, "scientific_notation"),
        ("2.7e9", System.ICD10PCS, "scientific_notation"),
        ("2700000000", System.ICD10PCS, "scientific_notation"),
        ("2700000000.0", System.ICD10PCS, "scientific_notation"),
        ("123", System.ICD10PCS, "no_such_code"),
        ("4280", System.ICD10CM, "not_a_code"),
        ("", System.ICD9CM, "not_a_code"),
        ("unknown", System.ICD9PCS, "not_a_code"),
        ("9" * 5000, System.ICD9CM, "not_a_code"),  # more digits than Python turns into a number
        ("42\x000", System.ICD9CM, "not_a_code"),
        ("-4280", System.ICD9CM, "not_a_code"),
    ],
)
def test_what_cannot_be_decided_is_refused(text: str, system: System, reason: str) -> None:
    found = repair(text, system)
    assert (found.code, found.reason) == (None, reason)


def test_389_depends_on_whether_the_column_had_dots() -> None:
    """Septicemia without its zero, or hearing loss without its .00."""
    unknown = repair("389", System.ICD9CM)
    assert (unknown.code, unknown.reason) == (None, "ambiguous_dot")
    assert unknown.candidates == ("icd9cm:0389", "icd9cm:38900")
    assert repair("389.0", System.ICD9CM) == unknown
    assert repair("389", System.ICD9CM, dotted=False).code == "icd9cm:0389"
    assert repair("389", System.ICD9CM, dotted=True).code == "icd9cm:38900"


@pytest.mark.parametrize(("system", "count"), [(System.ICD9CM, 347), (System.ICD9PCS, 73)])
def test_integers_that_can_be_two_codes(system: System, count: int) -> None:
    integers = {str(int(bare)) for bare in dictionary(system) if bare.isdigit()}
    found = [repair(integer, system, dotted=False) for integer in integers]
    refused = [result for result in found if result.code is None]
    assert len(refused) == count
    assert {(result.reason, len(result.candidates)) for result in refused} == {("ambiguous_leading_zero", 2)}


@pytest.mark.parametrize("system", [*ICD9, System.ICD10PCS])
def test_no_repair_is_wrong_when_zeros_were_lost(system: System) -> None:
    """Each listed code comes back from its integer, or is among the candidates of a refusal."""
    for bare in filter(str.isdigit, dictionary(system)):
        for text in (str(int(bare)), f"{int(bare)}.0"):
            found = repair(text, system, dotted=False)
            assert found.code in (None, f"{system}:{bare}")
            assert f"{system}:{bare}" in found.candidates


@pytest.mark.parametrize("system", ICD9)
def test_every_dotted_code_comes_back_from_its_decimal(system: System) -> None:
    for bare in filter(str.isdigit, dictionary(system)):
        value = float(dotted(f"{system}:{bare}"))
        assert repair(str(value), system, dotted=True).code == f"{system}:{bare}"
        assert repair(f"{value:g}", system, dotted=True).code == f"{system}:{bare}"


def test_retired_codes_and_headings_are_kept_if_nothing_else_fits() -> None:
    assert repair("2765", System.ICD9CM).code == "icd9cm:2765"
    assert repair("585", System.ICD9CM).code == "icd9cm:585"
    assert repair("3601", System.ICD9PCS).code == "icd9pcs:3601"
    assert repair("41.4", System.ICD9CM).code == "icd9cm:0414"
    # 041.4 is retired and 414 is a heading: neither is listed, either may be meant.
    assert repair("414", System.ICD9CM, dotted=False).candidates == ("icd9cm:414", "icd9cm:0414")


@given(st.text(max_size=10), st.sampled_from(System), st.sampled_from([None, False, True]))
def test_a_repair_names_its_code_only_when_it_is_the_one_candidate(
    text: str, system: System, dotted: bool | None
) -> None:
    found = repair(text, system, dotted)
    assert (found.code is not None) == (len(found.candidates) == 1)
    assert explain(found.reason).endswith(".")


@given(st.from_regex(r"[0-9]{1,6}(\.[0-9]{0,3})?", fullmatch=True), st.sampled_from(ICD9))
def test_any_number_is_judged(text: str, system: System) -> None:
    found = repair(text, system)
    assert found.reason in _SENTENCES
    assert found.code in (*found.candidates, None)


def test_columns_that_went_through_a_spreadsheet() -> None:
    assert looks_numeric(["42", "4280", "25000"], System.ICD9CM)
    assert looks_numeric(["4280.0", "V3000"], System.ICD9CM)
    assert looks_numeric(["38.9", "428"], System.ICD9CM)
    assert looks_numeric(["17", "3893", "9671", "3995"], System.ICD9PCS)
    assert looks_numeric(["02HV33Z", "16070"], System.ICD10PCS)
    assert looks_numeric(["02HV33Z", "2.70E+09"], System.ICD10PCS)


def test_healthy_columns() -> None:
    assert not looks_numeric([], System.ICD9CM)
    assert not looks_numeric(["", "n/a"], System.ICD9CM)
    assert not looks_numeric(["0389", "389"], System.ICD9CM)  # no spreadsheet leaves a leading zero
    assert not looks_numeric(["428.0", "414.01", "486"], System.ICD9CM)
    assert not looks_numeric(["41401", "4280", "4241", "V4581"], System.ICD9CM)  # no zeros, nothing strange
    assert not looks_numeric(["250", "389", "428", "410"], System.ICD9CM)  # cut to categories
    assert not looks_numeric(["02HV33Z", "02700E6", "0016070"], System.ICD10PCS)
    assert not looks_numeric(["I509", "E119"], System.ICD10CM)


def test_a_fraction_means_the_codes_had_dots() -> None:
    assert looks_dotted(["428", "38.9"], System.ICD9CM)
    assert not looks_dotted(["428.0", "389.0"], System.ICD9CM)
    assert not looks_dotted(["V30.00", "E11.9"], System.ICD10CM)


def columns() -> dict[str, tuple[System, set[str]]]:
    """Every trusted ICD-9 column of the open data."""
    if not DATA.exists():
        pytest.skip(f"the open data are not at {DATA}")
    found: dict[str, tuple[System, set[str]]] = {}
    with bz2.open(DATA / "nhds2010" / "NHDS10.sample.txt.bz2", "rt", encoding="latin-1") as lines:
        records = list(lines)
    for name, system, start, width, count in [
        ("nhds diagnoses", System.ICD9CM, 27, 5, 15),
        ("nhds procedures", System.ICD9PCS, 102, 4, 8),
    ]:
        places = [start + width * place for place in range(count)]
        found[name] = (system, {line[at : at + width] for line in records for at in places})
    for path in (DATA / "desynpuf").glob("*.csv.gz"):
        for row in rows(path):
            for column, value in row.items():
                if "DGNS_CD" in column or column == "ICD9_PRCDR_CD_1":
                    system = System.ICD9CM if "DGNS" in column else System.ICD9PCS
                    found.setdefault(f"{path.stem} {column}", (system, set()))[1].add(value)
    for name, system in [("DIAGNOSES", System.ICD9CM), ("PROCEDURES", System.ICD9PCS)]:
        third = rows(DATA / "mimic3demo" / f"{name}_ICD.csv.gz")
        fourth = rows(DATA / "mimic4demo" / "hosp" / f"{name.lower()}_icd.csv.gz")
        found[f"mimic3 {name}"] = (system, {row["icd9_code"] for row in third})
        found[f"mimic4 {name}"] = (system, {row["icd_code"] for row in fourth if row["icd_version"] == "9"})
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.realdata
def test_healthy_and_damaged_columns_of_the_open_data_are_told_apart() -> None:
    for name, (system, texts) in columns().items():
        codes = {clean(text) for text in texts} - {""}
        digits = {code for code in codes if code.isdigit()}
        with_dots = {dotted(f"{system}:{code}") for code in codes}
        as_decimals = {f"{float(dotted(f'{system}:{code}')):g}" for code in digits}
        assert not looks_numeric(texts, system), name
        assert not looks_numeric(with_dots, system), name
        assert not looks_numeric({code for code in codes if code[0] != "0"}, system), name
        assert not looks_numeric({code[:3] for code in codes}, system) or system is System.ICD9PCS, name
        assert looks_numeric({str(int(code)) for code in digits}, system), name
        assert looks_numeric({f"{int(code)}.0" for code in digits}, system), name
        assert looks_numeric(as_decimals, system), name
