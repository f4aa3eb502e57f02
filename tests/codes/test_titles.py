import bz2
import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from dx2px.codes import System, Title, clean, dotted, normalize, split, title

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def test_a_listed_code_has_its_own_title() -> None:
    assert title("icd9cm:4280") == Title("Congestive heart failure, unspecified", True, "icd9cm:4280")


@pytest.mark.parametrize(
    ("code", "text", "of"),
    [
        ("icd9cm:428", "Heart failure", "icd9cm:428"),
        ("icd9cm:2765", "Volume depletion", "icd9cm:2765"),
        ("icd9cm:410", "Acute myocardial infarction", "icd9cm:410"),
        ("icd9cm:038", "Septicemia", "icd9cm:038"),
        ("icd9cm:4289X", "Heart failure, unspecified", "icd9cm:4289"),
        ("icd9pcs:3601", "Removal of coronary artery obstruction and insertion of stent", "icd9pcs:360"),
        ("icd9pcs:36", "Operations on vessels of heart", "icd9pcs:36"),
        ("icd10cm:I50", "Heart failure", "icd10cm:I50"),
        ("icd10cm:I482", "Chronic atrial fibrillation", "icd10cm:I482"),
        ("icd10cm:S030XXA", "Dislocation of jaw", "icd10cm:S030"),
        ("icd10pcs:5A1D00Z", "Performance of Urinary Filtration", "icd10pcs:5A1D"),
        ("icd10pcs:02H", "Insertion: heart and great vessels", "icd10pcs:02H"),
        ("icd10pcs:02", "Medical and surgical: heart and great vessels", "icd10pcs:02"),
        ("icd10pcs:GZB", "Electroconvulsive therapy (mental health)", "icd10pcs:GZB"),
    ],
)
def test_an_unlisted_code_has_the_nearest_heading(code: str, text: str, of: str) -> None:
    assert title(code) == Title(text, False, of)


def test_chapters_have_titles() -> None:
    assert title("icd9cm:@390-459") == Title("Diseases of the circulatory system", True, "icd9cm:@390-459")


def test_a_code_outside_every_chapter_is_shown_as_it_is() -> None:
    assert title("icd9cm:0001") == Title("000.1", False, "icd9cm:0001")


def nhds(start: int, width: int, count: int) -> Iterator[str]:
    path = DATA / "nhds2010" / "NHDS10.sample.txt.bz2"
    if not path.exists():
        pytest.skip(f"the open data are not at {DATA}")
    with bz2.open(path, "rt", encoding="latin-1") as lines:
        for line in lines:
            fields = line[start : start + width * count]
            yield from (fields[at : at + width] for at in range(0, width * count, width))


def mimic(name: str, column: str, version: str | None = None) -> Iterator[str]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the open data are not at {DATA}")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if version is None or row["icd_version"] == version:
                yield row[column]


def titled(texts: Iterator[str], system: System) -> float:
    codes = {normalize(text, system) for text in set(texts) if clean(text)}
    assert len(codes) > 100
    return sum(title(code).text not in (split(code)[1], dotted(code)) for code in codes) / len(codes)


@pytest.mark.realdata
def test_nhds_codes_have_titles() -> None:
    assert titled(nhds(27, 5, 15), System.ICD9CM) >= 0.99
    assert titled(nhds(102, 4, 8), System.ICD9PCS) >= 0.99


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "column", "version", "system"),
    [
        ("mimic3demo/DIAGNOSES_ICD.csv.gz", "icd9_code", None, System.ICD9CM),
        ("mimic3demo/PROCEDURES_ICD.csv.gz", "icd9_code", None, System.ICD9PCS),
        ("mimic4demo/hosp/diagnoses_icd.csv.gz", "icd_code", "9", System.ICD9CM),
        ("mimic4demo/hosp/procedures_icd.csv.gz", "icd_code", "9", System.ICD9PCS),
        ("mimic4demo/hosp/diagnoses_icd.csv.gz", "icd_code", "10", System.ICD10CM),
        ("mimic4demo/hosp/procedures_icd.csv.gz", "icd_code", "10", System.ICD10PCS),
    ],
)
def test_mimic_codes_have_titles(name: str, column: str, version: str | None, system: System) -> None:
    assert titled(mimic(name, column, version), system) >= 0.95
