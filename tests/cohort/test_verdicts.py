"""What each code text means, and when a number is turned back into a code."""

from __future__ import annotations

import pytest

from dx2px.codes import Kind
from dx2px.cohort.verdicts import (
    MISSING_CODE,
    NOT_ICD_VOCABULARY,
    Verdict,
    Written,
    guess_versions,
    judge,
    sentence,
)
from dx2px.errors import CohortError


def judged(kind: Kind, *texts: str, version: int | None = 9, numeric: bool = False) -> dict[str, Verdict]:
    verdicts = judge([Written(kind, version, text, 10) for text in texts], [kind] if numeric else [])
    return {verdict.written.text: verdict for verdict in verdicts.items}


def test_text_is_kept_as_it_stands_when_the_column_is_healthy() -> None:
    found = judged("diagnosis", "0389", "389", "428.0", " v58.67", "2765")
    assert found["0389"].code == "icd9cm:0389"
    assert found["389"].code == "icd9cm:389"
    assert found["428.0"].code == "icd9cm:4280"
    assert found[" v58.67"].code == "icd9cm:V5867"
    assert not any(verdict.repaired for verdict in found.values())


def test_a_procedure_of_two_digits_lost_its_zeros() -> None:
    found = judged("procedure", "17", "3893", "0066")
    assert found["17"].code == "icd9pcs:0017"
    assert found["17"].repaired
    assert found["3893"].code == "icd9pcs:3893"
    assert not found["3893"].repaired


def test_in_a_column_of_numbers_only_what_fits_one_code_is_kept() -> None:
    found = judged("diagnosis", "1120", "389", "4280", "42", numeric=True)
    assert found["1120"].code is None  # 112.0 and 011.20 are both listed
    assert found["1120"].reason == "ambiguous_leading_zero"
    assert found["389"].code == "icd9cm:0389"  # 389 alone is a heading, no code
    assert found["4280"].code == "icd9cm:4280"
    assert found["42"].code is None  # 042 and 004.2


def test_powers_of_ten_are_not_guessed() -> None:
    found = judged("procedure", "2.7E+09", "02700E6", "16070", version=10)
    assert found["2.7E+09"].code is None
    assert found["2.7E+09"].reason == "scientific_notation"
    assert found["16070"].code == "icd10pcs:0016070"


def test_a_pcs_code_with_an_e_is_text() -> None:
    assert judged("procedure", "02700E6", "0016070", version=10)["02700E6"].code == "icd10pcs:02700E6"


def test_counts_and_notes() -> None:
    verdicts = judge(
        [
            Written("procedure", 9, "17", 7),
            Written("procedure", 9, "0066", 2),
            Written("diagnosis", 9, "389", 3),
        ]
    )
    assert (verdicts.repaired_entries, verdicts.unlisted_entries) == (7, 3)
    spoilt = judge([Written("diagnosis", 9, "42", 1)])
    assert "look like numbers" in spoilt.notes[0]


def test_other_vocabularies_and_empty_codes_are_rejected() -> None:
    assert judged("diagnosis", "44054006", version=-1)["44054006"].reason == NOT_ICD_VOCABULARY
    assert judged("diagnosis", "-")["-"].reason == MISSING_CODE
    assert judged("diagnosis", "OTHER", "0389")["OTHER"].reason == "not_a_code"
    assert sentence("not_a_code")
    assert sentence(MISSING_CODE) == "no code"


def test_the_version_is_guessed_only_when_clear() -> None:
    nine = [Written("diagnosis", None, code, 5) for code in ("4280", "5856", "V5867", "0389")]
    ten = [Written("diagnosis", None, code, 5) for code in ("I509", "N186", "E119")]
    assert guess_versions(nine) == {"diagnosis": 9}
    assert guess_versions(ten) == {"diagnosis": 10}
    with pytest.raises(CohortError, match="20 are listed in ICD-9 and 15 in ICD-10"):
        guess_versions(nine + ten)


def test_each_kind_has_a_version_of_its_own() -> None:
    ten = [Written("diagnosis", None, code, 5) for code in ("I509", "N186", "E119")]
    nine = [Written("procedure", None, code, 5) for code in ("3995", "9604")]
    assert guess_versions(ten + nine) == {"diagnosis": 10, "procedure": 9}
    both = [Written("diagnosis", None, "E8351", 5), Written("diagnosis", None, "E8350", 5)]  # listed in both
    assert guess_versions(both + nine) == {"diagnosis": 9, "procedure": 9}
