"""Corrections that the user asks for: applied to judged codes, counted, reported, and refused if they make no sense."""

from __future__ import annotations

import bz2
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dx2px import Cohort, CohortError, SourceOptions, prepare
from dx2px.cohort import Prepared
from dx2px.cohort.corrections import check_corrections, correct, parse_corrections
from dx2px.cohort.verdicts import Written, judge

LOST_ZERO = {"icd9pcs:481": "icd9pcs:0481"}
BESIDE_KNEE = {"icd9pcs:481": "icd9pcs:0481 with icd9pcs:815* or icd9cm:4019"}
FUSION = "icd9pcs:8162 with icd9pcs:810* or icd9pcs:813*"

# Stay 1 has the damaged code alone, stay 2 has both forms, stay 3 has it twice, one entry has no stay.
TABLE = """stay_id,kind,code
1,dx,715.36
1,px,81.54
1,px,48.1
2,dx,715.36
2,px,04.81
2,px,481
3,dx,715.36
3,px,481
3,px,481
,px,481
4,dx,481
4,px,81.54
"""


def run(folder: Path, corrections: dict[str, str], **settings: Any) -> Prepared:
    path = folder / "stays.csv"
    path.write_text(TABLE)
    options = SourceOptions(icd="9", corrections=corrections)
    return prepare("table", path, folder / "C.parquet", options=options, **settings)


def procedures(prepared: Prepared) -> dict[str, list[str]]:
    return {row["stay_id"]: row["procedures"] for row in pq.read_table(prepared.path).to_pylist()}


def test_a_corrected_code_is_read_as_the_other_one(tmp_path: Path) -> None:
    prepared = run(tmp_path, LOST_ZERO)
    assert procedures(prepared) == {
        "1": ["icd9pcs:8154", "icd9pcs:0481"],
        "2": ["icd9pcs:0481"],
        "3": ["icd9pcs:0481"],
        "4": ["icd9pcs:8154"],
    }
    assert "icd9cm:481" in Cohort.load(prepared.path).diagnosis_vocabulary  # pneumonia is not a procedure
    assert prepared.warnings == ("1 of 12 entries (8.3%) are rejected: no stay id (1).",)


def test_every_entry_is_accounted_for(tmp_path: Path) -> None:
    plain, corrected = run(tmp_path, {}).counts, run(tmp_path, LOST_ZERO).counts
    assert (plain.corrected, corrected.corrected) == (
        0,
        4,
    )  # the entry without a stay is rejected, not corrected
    assert (plain.corrected_stays, corrected.corrected_stays) == (0, 3)
    assert (plain.repeated, corrected.repeated) == (1, 2)  # stay 2 now has 04.81 twice
    for counts in (plain, corrected):
        assert counts.entries_read == sum(counts.rejected.values()) + counts.entries_used == 12


def test_the_correction_is_reported_and_kept_with_the_cohort(tmp_path: Path) -> None:
    prepared = run(tmp_path, {"icd9pcs:48.1": " ICD9PCS:04.81 "})
    assert prepared.notes[-1] == (
        "Corrected: 4 entries in 3 stays were read as the ICD-9-CM procedure 04.81 (Injection of anesthetic into "
        "peripheral nerve for analgesia) instead of 48.1 (Proctostomy)."
    )
    provenance = Cohort.load(prepared.path).provenance
    assert provenance["settings"]["corrections"] == LOST_ZERO
    assert provenance["counts"]["corrected"] == 4


def test_a_correction_under_a_condition_holds_beside_the_codes_it_names(tmp_path: Path) -> None:
    prepared = run(tmp_path, BESIDE_KNEE)  # stay 1 alone has a code of 81.5; stay 4 has it beside a pneumonia
    found = procedures(prepared)
    assert found["1"] == ["icd9pcs:8154", "icd9pcs:0481"]
    assert found["2"] == ["icd9pcs:0481", "icd9pcs:481"]
    assert found["3"] == ["icd9pcs:481"]
    counts = prepared.counts
    assert (counts.corrected, counts.corrected_stays, counts.repeated) == (1, 1, 1)
    assert prepared.notes[-1].endswith("instead of 48.1 (Proctostomy), all beside 81.5* or 401.9.")
    assert prepared.notes[-1].startswith("Corrected: 1 entry in 1 stay was read as")
    assert Cohort.load(prepared.path).provenance["settings"]["corrections"] == BESIDE_KNEE
    itself = run(tmp_path, {"icd9pcs:481": "icd9pcs:0481 with icd9pcs:48*"})  # its own company does not count
    assert itself.warnings[0] == (
        "The correction icd9pcs:481=icd9pcs:0481 with icd9pcs:48* changed nothing: no stay has the ICD-9-CM procedure "
        "code 48.1 beside 48*."
    )


def test_a_cohort_without_corrections_does_not_mention_them(tmp_path: Path) -> None:
    assert "corrections" not in Cohort.load(run(tmp_path, {}).path).provenance["settings"]


def test_thresholds_count_the_corrected_codes(tmp_path: Path) -> None:
    assert set().union(*procedures(run(tmp_path, {}, min_count=3)).values()) == {"icd9pcs:481"}
    assert set().union(*procedures(run(tmp_path, LOST_ZERO, min_count=3)).values()) == {"icd9pcs:0481"}


def test_a_correction_that_finds_nothing_gives_a_warning(tmp_path: Path) -> None:
    prepared = run(tmp_path, {"icd9pcs:3995": "icd9pcs:3893"})
    assert prepared.warnings[0] == (
        "The correction icd9pcs:3995=icd9pcs:3893 changed nothing: no entry has the ICD-9-CM procedure code 39.95."
    )
    assert prepared.counts.corrected == 0


def test_no_code_is_corrected_twice() -> None:
    swap = {"icd9pcs:481": "icd9pcs:0481", "icd9pcs:0481": "icd9pcs:481"}
    judged = judge([Written("procedure", 9, "481", 2), Written("procedure", 9, "0481", 3)])
    verdicts = correct(judged, check_corrections(swap), {})
    assert [(v.code, v.corrected_from) for v in verdicts.items] == [*swap.items()][::-1]


def test_a_corrected_code_is_no_longer_counted_as_unlisted() -> None:
    verdicts = judge([Written("diagnosis", 9, "276.5", 7), Written("diagnosis", 9, "2765", 2)])
    assert verdicts.unlisted_entries == 9
    assert correct(verdicts, check_corrections({"icd9cm:2765": "icd9cm:27651"}), {}).unlisted_entries == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("icd9pcs:481=icd9cm:481", "one is an ICD-9-CM procedure code, the other an ICD-9-CM diagnosis code"),
        ("icd9pcs:481=icd10pcs:3E0T3BZ", "the other an ICD-10-PCS procedure code"),
        ("icd9pcs:48.1=icd9pcs:481", "both are the same code"),
        (
            "icd9pcs:81.52=icd9pcs:81.62 with icd9pcs:81.52",
            "its condition needs another code than the corrected one",
        ),
        ("icd9pcs:481=icd9pcs:048", "04.8 is not in the list of ICD-9-CM procedure codes"),
        ("icd9pcs:481=icd9pcs:knee", "is not an ICD-9-CM procedure code: expected 2 to 4 digits"),
        ("481=0481", "A correction is two codes, each with its system"),
        ("icd9pcs:481", "A correction is two codes, each with its system"),
        ("procedure:481=icd9pcs:0481", "A correction is two codes, each with its system"),
        ("icd9pcs:481=icd9pcs:0481 with", "The condition of a correction is a code with its system"),
        ("icd9pcs:481=icd9pcs:0481 with 81.5*", "'81.5\\*' does not begin with one of icd9cm, icd9pcs"),
        ("icd9pcs:481=icd9pcs:0481 with icd9pcs:8.15*", "'icd9pcs:8.15\\*' is not the beginning of codes"),
        (
            "icd9pcs:481=icd9pcs:0481 with icd9pcs:81.5",
            "81.5 is a heading; write icd9pcs:81.5\\* for all codes",
        ),
        ("icd9pcs:481=icd9pcs:0481 with icd9pcs:hip", "'icd9pcs:hip' is not an ICD-9-CM procedure code"),
        ("icd9pcs:481=icd9pcs:0481 with icd9pcs:81* with icd9cm:4019", "A correction has one condition"),
    ],
)
def test_a_correction_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    with pytest.raises(CohortError, match=message):
        check_corrections(parse_corrections([text]))


def test_one_code_cannot_be_corrected_to_two() -> None:
    texts = ["icd9pcs:48.1=icd9pcs:0481", "icd9pcs:481=icd9pcs:3893"]
    with pytest.raises(CohortError, match="is to be corrected to both icd9pcs:0481 and icd9pcs:3893"):
        parse_corrections(texts)
    assert parse_corrections(texts[:1] * 2) == LOST_ZERO
    typed = " ICD9PCS:81.52 = icd9pcs:81.62 WITH icd9pcs:81.0*  or icd9pcs:813* or icd9pcs:810*"
    assert parse_corrections([typed]) == {"icd9pcs:8152": FUSION}


def test_a_refused_correction_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="is not possible"):
        run(tmp_path, {"icd9pcs:481": "icd9cm:481"})
    assert [path.name for path in tmp_path.iterdir()] == ["stays.csv"]


def is_wanted(line: str) -> bool:
    """Whether one of a survey stay's procedures is 48.1, 04.81, a partial hip replacement or a spinal fusion."""
    codes = [line[start : start + 4].strip(" -") for start in range(102, 134, 4)]
    return any(code in ("481", "0481", "8152") or code[:3] in ("810", "813") for code in codes)


@pytest.mark.realdata
def test_the_damaged_codes_of_nhds_2010(tmp_path: Path, data: Path) -> None:
    """The figures in the comment of `experiments/nhds2010.toml`: all stays with these codes, some of the others."""
    file = tmp_path / "NHDS10.txt"
    with bz2.open(data / "nhds2010" / "NHDS10.sample.txt.bz2", "rt", encoding="ascii") as lines:
        file.write_text("".join(line for n, line in enumerate(lines) if n % 100 == 0 or is_wanted(line)))
    plain = prepare("nhds", file, tmp_path / "plain.parquet")
    options = SourceOptions(corrections=LOST_ZERO | {"icd9pcs:8152": FUSION})
    corrected = prepare("nhds", file, tmp_path / "corrected.parquet", options=options)
    before, after = procedures(plain), procedures(corrected)
    damaged = stays_with(before, "icd9pcs:481")
    written = stays_with(before, "icd9pcs:0481")
    assert (len(damaged), len(written)) == (43, 567)
    for stays, with_knee in ((damaged, 38), (written, 402)):
        assert sum("icd9pcs:8154" in before[stay] for stay in stays) == with_knee
    assert not damaged & written
    assert stays_with(after, "icd9pcs:0481") == damaged | written
    assert not stays_with(after, "icd9pcs:481")
    fused = stays_with(before, "icd9pcs:810", "icd9pcs:813")
    hip, levels = stays_with(before, "icd9pcs:8152"), stays_with(before, *(f"icd9pcs:816{n}" for n in "234"))
    assert (len(fused), len(fused & hip), len(fused & levels), len(fused & hip & levels)) == (
        1384,
        1091,
        188,
        0,
    )
    fractured = {
        row["stay_id"]
        for row in pq.read_table(plain.path).to_pylist()
        if any(code.startswith("icd9cm:820") for code in row["diagnoses"])
    }
    assert (len(hip - fused), len((hip - fused) & fractured), len(hip & fused & fractured)) == (330, 303, 0)
    assert stays_with(after, "icd9pcs:8152") == hip - fused
    assert stays_with(after, "icd9pcs:8162") == stays_with(before, "icd9pcs:8162") | (hip & fused)
    assert (corrected.counts.corrected, corrected.counts.corrected_stays) == (44 + 1106, 43 + 1091)


def stays_with(found: dict[str, list[str]], *starts: str) -> set[str]:
    """The stays with a procedure that begins so."""
    return {stay for stay, codes in found.items() if any(code.startswith(starts) for code in codes)}
