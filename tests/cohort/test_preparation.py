"""From tables to cohorts: worked examples for each source, the defects of real files, every entry accounted for."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dx2px import Cohort, CohortError, InputError, prepare
from dx2px.cohort import Prepared
from dx2px.cohort.sources import SourceOptions

MIMIC3_DX = """\
ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE
1,10,100,2,"0389"
2,10,100,1,"4280"
3,10,100,3,"4280"
4,11,101,1,"V5867"
5,11,101,2,"5856"
6,12,102,1,"4275"
7,12,103,1,
8,13,,1,"4280"
"""
MIMIC3_PX = """\
ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE
1,10,100,1,"0017"
2,11,101,2,"3995"
3,11,101,1,"3893"
"""


def write(folder: Path, **tables: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def stays(prepared: Prepared) -> dict[str, tuple[list[str], list[str]]]:
    rows = pq.read_table(prepared.path).to_pylist()
    return {row["stay_id"]: (bare(row["diagnoses"]), bare(row["procedures"])) for row in rows}


def bare(codes: list[str]) -> list[str]:
    return [code.partition(":")[2] for code in codes]


def rejects(prepared: Prepared) -> list[tuple[Any, ...]]:
    rows = pq.read_table(prepared.rejects_path).to_pylist()
    return [(row["file"], row["line"], row["column"], row["reason"]) for row in rows]


def run(
    source: str,
    path: Path,
    out: Path,
    min_count: int = 1,
    repeat_min_count: bool = False,
    strict: bool = False,
    max_rejected: float = 0.25,
    **options: Any,
) -> Prepared:
    prepared = prepare(
        source,
        path,
        out / "C.parquet",
        min_count=min_count,
        repeat_min_count=repeat_min_count,
        strict=strict,
        max_rejected=max_rejected,
        options=SourceOptions(**options),
    )
    counts = prepared.counts
    assert counts.entries_read == sum(counts.rejected.values()) + counts.entries_used
    assert counts.stays == len(Cohort.load(prepared.path))
    return prepared


def test_mimic3(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX)
    prepared = run("mimic3", folder, tmp_path)
    assert stays(prepared) == {
        "100": (["4280", "0389"], ["0017"]),
        "101": (["V5867", "5856"], ["3893", "3995"]),
    }
    assert rejects(prepared) == [
        ("DIAGNOSES_ICD.csv", 8, "icd9_code", "missing_code"),
        ("DIAGNOSES_ICD.csv", 9, "icd9_code", "missing_stay"),
    ]
    counts = prepared.counts
    assert (counts.entries_read, counts.entries_used, counts.repeated, counts.without_both_kinds) == (
        11,
        9,
        1,
        1,
    )
    assert (counts.stays_read, counts.stays_with_both_kinds, counts.kept) == (4, 2, 7)
    assert Cohort.load(prepared.path).patient_ids.to_pylist() == ["10", "11"]  # type: ignore[union-attr]
    assert "2 of 11 entries (18.2%)" in prepared.warnings[0]


def test_lower_case_names_gzip_and_context(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in (("diagnoses_icd", MIMIC3_DX), ("procedures_icd", MIMIC3_PX)):
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.lower().encode()))
    write(
        folder,
        ADMISSIONS="HADM_ID,SUBJECT_ID,ADMISSION_TYPE\n100,10,EMERGENCY\n101,11,\n",
        PATIENTS="SUBJECT_ID,GENDER\n10,F\n11,M\n",
    )
    prepared = run("mimic3", folder, tmp_path)
    context = Cohort.load(prepared.path).context
    assert context is not None
    assert context.to_pydict() == {
        "principal": ["icd9cm:4280", "icd9cm:V5867"],
        "age": [None, None],
        "sex": ["F", "M"],
        "admission": ["emergency", None],
    }


def test_crlf_mark_blank_lines_and_broken_lines(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", PROCEDURES_ICD=MIMIC3_PX)
    broken = MIMIC3_DX.replace("\n", "\r\n") + '\r\n9,10,100,4,"5849\r\n10,10,100,5\r\n11,10,100,6,5990\r\n'
    (folder / "DIAGNOSES_ICD.csv").write_bytes(b"\xef\xbb\xbf" + broken.encode())
    prepared = run("mimic3", folder, tmp_path, max_rejected=0.3)
    assert stays(prepared)["100"] == (["4280", "0389", "5990"], ["0017"])
    assert rejects(prepared)[:2] == [
        ("DIAGNOSES_ICD.csv", 11, None, "malformed_line"),
        ("DIAGNOSES_ICD.csv", 12, None, "malformed_line"),
    ]


def test_thresholds_count_stays_with_both_kinds_once_and_drop_emptied_stays(tmp_path: Path) -> None:
    head = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n"
    dx = [(1, "4280"), (1, "4280"), (2, "4280"), (2, "0389"), (3, "0389"), (4, "5856"), (5, "0389")]
    px = [(1, "3995"), (2, "3995"), (3, "3995"), (4, "3995")]
    folder = write(
        tmp_path / "in",
        DIAGNOSES_ICD=head + "".join(f"1,1,{stay},1,{code}\n" for stay, code in dx),
        PROCEDURES_ICD=head + "".join(f"1,1,{stay},1,{code}\n" for stay, code in px),
    )
    prepared = run("mimic3", folder, tmp_path, min_count=2)
    assert stays(prepared) == {
        "1": (["4280"], ["3995"]),
        "2": (["4280", "0389"], ["3995"]),
        "3": (["0389"], ["3995"]),
    }
    counts = prepared.counts
    assert (counts.repeated, counts.without_both_kinds, counts.rare, counts.emptied, counts.kept) == (
        1,
        1,
        1,
        1,
        7,
    )


Stays = dict[str, tuple[list[str], list[str]]]


def coded(folder: Path, stays_: Stays) -> Path:
    """Stays as the tables of MIMIC-III."""
    head = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n"
    texts = [
        head
        + "".join(
            f"1,1,{stay},{n},{code}\n" for stay, kinds in stays_.items() for n, code in enumerate(kinds[kind])
        )
        for kind in (0, 1)
    ]
    return write(folder, DIAGNOSES_ICD=texts[0], PROCEDURES_ICD=texts[1])


def test_a_repeated_threshold_follows_a_chain_of_emptied_stays(tmp_path: Path) -> None:
    """39.61 is rare, so stay 1 goes; so 428.0 is rare, so stay 2 goes; so 39.95 is rare, and stay 3 keeps 38.93."""
    chain: Stays = {
        "1": (["4280"], ["3961"]),
        "2": (["4280"], ["3995"]),
        "3": (["0389"], ["3995", "3893"]),
        "4": (["0389"], ["3893"]),
    }
    folder = coded(tmp_path / "in", chain)
    once = run("mimic3", folder, tmp_path, min_count=2)
    assert stays(once) == {stay: chain[stay] for stay in "234"}
    assert Cohort.load(once.path).provenance["settings"] == {"min_count": 2}
    repeated = run("mimic3", folder, tmp_path, min_count=2, repeat_min_count=True)
    assert stays(repeated) == {"3": (["0389"], ["3893"]), "4": (["0389"], ["3893"])}
    assert (repeated.counts.rare, repeated.counts.emptied, repeated.counts.kept) == (5, 0, 4)
    settings = Cohort.load(repeated.path).provenance["settings"]
    assert settings == {"min_count": 2, "repeat_min_count": True}
    with pytest.raises(CohortError, match="none keeps both"):
        run("mimic3", folder, tmp_path, min_count=3, repeat_min_count=True)


def test_a_repeated_threshold_gives_what_a_naive_loop_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    dx, px = [f"{n}" for n in range(410, 440)], [f"{n}" for n in range(3601, 3631)]
    drawn: Stays = {
        str(stay): tuple(
            [kind[n] for n in dict.fromkeys(rng.zipf(1.3, size) % 30)] for kind, size in ((dx, 2), (px, 1))
        )
        for stay in range(1, 301)
    }
    naive, rounds = drawn, 0
    while True:
        counts = Counter(code for kinds in naive.values() for code in kinds[0] + kinds[1])
        left = {
            stay: tuple([code for code in kind if counts[code] >= 16] for kind in kinds)
            for stay, kinds in naive.items()
        }
        left = {stay: kinds for stay, kinds in left.items() if all(kinds)}
        if left == naive:
            break
        naive, rounds = left, rounds + 1
    assert rounds >= 3  # or one pass would do
    folder = coded(tmp_path / "in", drawn)
    assert stays(run("mimic3", folder, tmp_path, min_count=16, repeat_min_count=True)) == naive
    assert len(stays(run("mimic3", folder, tmp_path, min_count=16))) > len(naive)


def test_mimic4_versions(tmp_path: Path) -> None:
    head = "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
    folder = write(
        tmp_path / "in",
    )
    write(
        folder / "hosp",
        diagnoses_icd=head + "1,1,1,4280 ,9\n1,2,1,I509,10\n1,3,1,E030,10\n1,4,1,E0300,9\n1,5,1,4280,11\n",
        procedures_icd="subject_id,hadm_id,seq_num,chartdate,icd_code,icd_version\n"
        "1,1,1,2180-01-01,3995,9\n1,2,1,2180-01-01,02700E6,10\n1,3,1,2180-01-01,0016070,10\n",
    )
    both = run("mimic4", folder, tmp_path)
    assert {stay: pair[0] for stay, pair in stays(both).items()} == {
        "1": ["4280"],
        "2": ["I509"],
        "3": ["E030"],
    }
    assert stays(both)["2"][1] == ["02700E6"]
    assert both.counts.rejected == {"not_icd": 1}
    ten = run("mimic4", folder, tmp_path, icd="10")
    assert set(stays(ten)) == {"2", "3"}
    assert ten.counts.other_version == 3


def test_nhds(tmp_path: Path) -> None:
    def line(dx: str, px: str, age: str = "145", sex: str = "2") -> str:
        text = (
            f"10{2}{age}{sex}"
            + " " * 10
            + "3"
            + " " * 9
            + dx.ljust(75)
            + px.ljust(32)
            + " " * 7
            + "1"
            + " " * 7
        )
        assert len(text) == 149
        return text

    path = tmp_path / "NHDS10.txt"
    path.write_text(
        "\n".join(
            [
                line("0389-V586742731", "0017640-"),
                line("4280-", "3995", "307", "1"),
                line("4019-", ""),
                "short",
            ]
        )
    )
    prepared = run("nhds", path, tmp_path)
    assert stays(prepared) == {"1": (["0389", "V5867", "42731"], ["0017", "640"]), "2": (["4280"], ["3995"])}
    assert rejects(prepared) == [("NHDS10.txt", 4, None, "malformed_line")]
    cohort = Cohort.load(prepared.path)
    assert cohort.patient_ids is None
    assert cohort.context is not None
    assert cohort.context.to_pydict() == {
        "principal": ["icd9cm:0389", "icd9cm:4280"],
        "age": [45, 0],
        "sex": ["F", "M"],
        "region": ["South", "South"],
        "admission": ["emergency", "emergency"],
    }


def test_synpuf_trusts_only_the_first_procedure_column(tmp_path: Path) -> None:
    dx = ",".join(f"ICD9_DGNS_CD_{n}" for n in range(1, 11))
    px = ",".join(f"ICD9_PRCDR_CD_{n}" for n in range(1, 7))
    rows = ["P1,7,4280,0389,,,,,,,,,3995,4019,V5866,,,", "P1,8,4280,OTHER,,,,,,,,,9904,,,,,"]
    path = tmp_path / "DE1_Inpatient_Claims_Sample_1.csv"
    path.write_text("\n".join([f'"DESYNPUF_ID","CLM_ID",{dx},{px}', *rows]))
    prepared = run("synpuf", path, tmp_path)
    assert stays(prepared) == {"7": (["4280", "0389"], ["3995"]), "8": (["4280"], ["9904"])}
    assert "2 values left out" in prepared.notes[0]
    assert rejects(prepared) == [(path.name, 3, "icd9_dgns_cd_2", "not_a_code")]


OMOP_CONDITIONS = """\
condition_occurrence_id,person_id,visit_occurrence_id,condition_source_value,condition_source_concept_id
1,5,50,428.0,1
2,5,50,044054006,2
3,5,50,038.9,3
4,6,60,428.0,1
5,6,60,xx,0
"""
OMOP_PROCEDURES = """\
procedure_occurrence_id,person_id,visit_occurrence_id,procedure_source_value,procedure_source_concept_id
1,5,50,39.95,4
2,6,60,V58.67,5
3,6,60,39.95,4
"""
OMOP_CONCEPTS = """\
concept_id,concept_code,vocabulary_id
1,428.0,ICD9CM
2,44054006,SNOMED
3,038.9,ICD9CM
4,39.95,ICD9Proc
5,V58.67,ICD9CM
5,V58.67,ICD9CM
"""


def test_omop_with_concepts_takes_code_version_and_kind_from_them(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        condition_occurrence=OMOP_CONDITIONS,
        procedure_occurrence=OMOP_PROCEDURES,
        concept=OMOP_CONCEPTS,
    )
    prepared = run("omop", folder, tmp_path)
    found = {stay: (sorted(dx), px) for stay, (dx, px) in stays(prepared).items()}
    assert found == {"50": (["0389", "4280"], ["3995"]), "60": (["4280", "V5867"], ["3995"])}
    assert prepared.counts.rejected == {"missing_code": 1, "not_icd": 1}


def test_omop_without_concepts_takes_the_source_values(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in", condition_occurrence=OMOP_CONDITIONS, procedure_occurrence=OMOP_PROCEDURES
    )
    with pytest.raises(CohortError, match=r"3 of 8 entries \(37.5%\) are rejected: .*too much"):
        run("omop", folder, tmp_path, icd="9")
    prepared = run("omop", folder, tmp_path, icd="9", max_rejected=0.5)
    assert stays(prepared) == {"50": (["4280", "0389"], ["3995"]), "60": (["4280"], ["3995"])}
    assert prepared.counts.rejected == {"not_a_code": 3}


EXPECTED = {"a": (["4280", "0389"], ["3995"]), "b": (["5856"], ["3893", "3995"])}


def test_table_long_with_a_kind_column(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "Encounter_ID;Type;Code;Seq\na;DX;428.0;1\na;DX;038.9;2\na;PX;39.95;1\nb;PX;39.95;2\nb;px;38.93;1\nb;Dx;585.6;1\n"
        "b;lab;1;1\n"
    )
    prepared = run("table", path, tmp_path)
    assert stays(prepared) == EXPECTED
    assert prepared.counts.rejected == {"missing_kind": 1}
    assert "stay = encounter_id (guessed)" in prepared.notes[0]
    assert prepared.notes[1] == "own.csv: the diagnosis whose seq is 1 is the stay's principal diagnosis."
    assert prepared.notes[2] == "own.csv: read as UTF-8, fields separated by semicolons (guessed)."
    assert "ICD-9 (guessed" in prepared.notes[3]


MIXED = {"a": (["icd10cm:I509"], ["icd9pcs:3995"]), "b": (["icd10cm:N186"], ["icd9pcs:3893"])}


@pytest.mark.parametrize(
    "text",
    [
        "stay_id,kind,code\na,dx,I50.9\na,px,39.95\nb,dx,N18.6\nb,px,38.93\n",
        "stay_id,dx1,dx2,px1\na,I509,,3995\nb,N186,,3893\n",
        "stay_id,diagnoses,procedures\na,I509,3995\nb,N186,3893\n",
    ],
)
@pytest.mark.parametrize("told", [{}, {"icd_diagnoses": "10", "icd_procedures": "9"}, {"icd": "9"}])
def test_icd_10_diagnoses_with_icd_9_procedures(tmp_path: Path, text: str, told: dict[str, Any]) -> None:
    (tmp_path / "own.csv").write_text(text)
    if told == {"icd": "9"}:  # one version for both is wrong here, as N18.6 shows
        with pytest.raises(CohortError, match=r"rejected|No stay is left"):
            run("table", tmp_path / "own.csv", tmp_path, **told)
        return
    prepared = run("table", tmp_path / "own.csv", tmp_path, **told)
    rows = pq.read_table(prepared.path).to_pylist()
    assert {row["stay_id"]: (row["diagnoses"], row["procedures"]) for row in rows} == MIXED
    guess = "The codes are read: diagnoses as ICD-10 and procedures as ICD-9 (guessed"
    assert any(note.startswith(guess) for note in prepared.notes) == (not told)


def test_a_version_of_one_kind_keeps_the_other_kind_as_it_is(tmp_path: Path) -> None:
    head = "subject_id,hadm_id,seq_num,icd_code,icd_version\n"
    folder = write(
        tmp_path / "in",
        diagnoses_icd=head + "1,1,1,4280,9\n1,1,2,I509,10\n2,2,1,N186,10\n",
        procedures_icd=head + "1,1,1,5A1D70Z,10\n2,2,1,3995,9\n",
    )
    prepared = run("mimic4", folder, tmp_path, icd_diagnoses="10")
    assert stays(prepared) == {"1": (["I509"], ["5A1D70Z"]), "2": (["N186"], ["3995"])}
    assert prepared.counts.other_version == 1


def test_table_long_in_two_files_with_named_columns(tmp_path: Path) -> None:
    first, second = tmp_path / "one.csv", tmp_path / "two.tsv"
    first.write_text("nr,was\na,4280\na,0389\nb,5856\n")
    second.write_text("nr\twas\na\t3995\nb\t3893\nb\t3995\n")
    prepared = run(
        "table", first, tmp_path, procedures_file=str(second), stay_column="Nr", code_column="was", icd="9"
    )
    assert stays(prepared) == EXPECTED
    assert "guessed" not in prepared.notes[0]


def test_table_folder_and_system_column(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        diagnoses="stay_id,code,system\na,4280,ICD-9-CM\na,0389,icd9cm\nb,5856,9\n",
        procedures="stay_id,code,system\na,3995,ICD9Proc\nb,3893,9\nb,3995,09\n",
    )
    assert stays(run("table", folder, tmp_path)) == EXPECTED


@pytest.mark.parametrize(
    "written", ["1\x000", "1 0", "1-0", "1\u200b0", "(9)", "-9", "icd\x009", "9?", "icd1-0"]
)
def test_a_version_that_is_not_plainly_written_is_not_guessed(tmp_path: Path, written: str) -> None:
    rows = "a,4280,ICD 9 CM\na,0389,icd_9\nb,5856,9.0\n"
    folder = write(
        tmp_path / "in",
        diagnoses=f"stay_id,code,system\n{rows}b,25000,{written}\n",
        procedures="stay_id,code,system\na,3995,ICD-9-PCS\nb,3893,9\nb,3995,09\n",
    )
    prepared = run("table", folder, tmp_path)
    assert stays(prepared) == EXPECTED
    assert rejects(prepared) == [("diagnoses.csv", 5, "code", "not_icd")]


def test_table_wide(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("stay_id,dx10,dx2,dx1,px1,px2\na,,0389,4280,3995,\nb,5856,,,3893,3995\n")
    assert stays(run("table", path, tmp_path, icd="9")) == EXPECTED
    named = run(
        "table", path, tmp_path, icd="9", diagnosis_columns=("dx*",), procedure_columns=("px2", "px1")
    )
    assert stays(named)["b"] == (["5856"], ["3995", "3893"])


def test_table_wide_without_a_stay_column_numbers_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("dx1,px1\n4280,3995\n0389,3893\n")
    prepared = run("table", path, tmp_path, icd="9")
    assert set(stays(prepared)) == {"2", "3"}
    assert "stay = the line number" in prepared.notes[0]


def test_table_lists(tmp_path: Path) -> None:
    text = tmp_path / "own.csv"
    text.write_text('stay_id,diagnoses,procedures\na,4280;0389,3995\nb," 5856 ","3893, 3995"\n')
    parquet = tmp_path / "own.parquet"
    pq.write_table(
        pa.table(
            {
                "Stay_ID": ["a", "b"],
                "diagnoses": [["4280", "0389"], ["5856"]],
                "procedures": [["3995"], ["3893", "3995"]],
            }
        ),
        parquet,
    )
    assert stays(run("table", text, tmp_path)) == EXPECTED
    assert stays(run("table", parquet, tmp_path)) == EXPECTED


def test_a_parquet_file_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({f"dx{n}": ["4280"] for n in range(10_001)}), path)
    with pytest.raises(CohortError, match=r"own.parquet has 10,001 columns, more than the 10,000"):
        run("table", path, tmp_path, icd="9")


def test_table_parquet_with_numbers_repairs_what_is_unique(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    codes = [4280, 1120, 5856, 17, 3995]
    kinds = ["dx", "dx", "dx", "px", "px"]
    pq.write_table(pa.table({"stay": [1.0, 1.0, 2.0, 1.0, 2.0], "code": codes, "kind": kinds}), path)
    prepared = run("table", path, tmp_path, icd="9")
    assert stays(prepared) == {"1": (["4280"], ["0017"]), "2": (["5856"], ["3995"])}
    assert prepared.counts.rejected == {"ambiguous_leading_zero": 1}
    assert prepared.counts.repaired == 1
    assert any("look like numbers" in note for note in prepared.notes)


def test_a_mixed_table_without_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("stay_id,kind,code\n1,dx,4280\n1,dx,I509\n1,px,3995\n2,px,02700E6\n")
    with pytest.raises(
        CohortError, match="not clear from the codes: of 4 entries, 2 are listed in ICD-9 and 2 in ICD-10"
    ):
        run("table", path, tmp_path)
    assert not list(tmp_path.glob("C.*"))


@pytest.mark.parametrize(
    ("source", "tables", "sentence"),
    [
        ("mimic3", {"DIAGNOSES_ICD": MIMIC3_DX}, "has no procedures_icd table"),
        ("mimic3", {}, "has no diagnoses_icd and no procedures_icd"),
        (
            "mimic3",
            {"DIAGNOSES_ICD": MIMIC3_DX.replace("HADM_ID", "STAY"), "PROCEDURES_ICD": MIMIC3_PX},
            "has no column hadm_id; its first line, which should name the columns, has 5 fields",
        ),
        (
            "mimic3",
            {"DIAGNOSES_ICD": MIMIC3_DX, "PROCEDURES_ICD": MIMIC3_PX.splitlines()[0]},
            "No stay is left: of 4 read, none has a diagnosis and a procedure",
        ),
        ("mimic3", {"DIAGNOSES_ICD": "", "PROCEDURES_ICD": MIMIC3_PX}, "DIAGNOSES_ICD.csv is empty"),
        ("nhds", {}, "has no file whose name matches"),
        ("omop", {"concept": OMOP_CONCEPTS}, "no condition_occurrence and no procedure_occurrence"),
    ],
)
def test_an_unreadable_source_gives_one_sentence_and_no_file(
    tmp_path: Path, source: str, tables: dict[str, str], sentence: str
) -> None:
    folder = write(tmp_path / "in", **tables)
    with pytest.raises(CohortError, match=sentence):
        run(source, folder, tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["in"]


def long(*codes: tuple[str, str], head: str = "stay_id,kind,code\n") -> str:
    """A table with one stay per pair of diagnosis and procedure."""
    rows = [f"S{n},dx,{dx}\nS{n},px,{px}\n" for n, (dx, px) in enumerate(codes)]
    return head + "".join(rows)


GOOD = (("428.0", "39.95"), ("038.9", "38.93"), ("585.6", "96.04"), ("V58.67", "00.17"), ("401.9", "88.72"))


@pytest.mark.parametrize("options", [{}, {"stay_column": "Encounter"}, {"diagnosis_columns": ("dx*",)}])
def test_a_table_without_header_shows_no_record(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "own.csv"
    path.write_text("MRN-17,Doe Jane,V5867,428.0\nMRN-18,Roe Rick,V5867,428.0\n")
    with pytest.raises(
        CohortError, match="first line, which should name the columns, has 4 fields"
    ) as caught:
        run("table", path, tmp_path, **options)
    assert not any(cell in str(caught.value).lower() for cell in ("mrn", "doe", "jane", "v5867", "428"))


def test_columns_that_a_pattern_matched_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("doe jane,4280,3995\nroe rick,0389,3893\n")
    prepared = run("table", path, tmp_path, icd="9", diagnosis_columns=("4*",), procedure_columns=("3*",))
    assert "diagnosis = 4* (1 column), procedure = 3* (1 column)" in prepared.notes[0]


@pytest.mark.parametrize(
    "damage", ["42\x000", "428\x00", "42 80", "42\u200b80", "\x014280", "-4280", "428\x1b0"]
)
def test_a_code_with_something_in_it_is_rejected(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*GOOD) + f"S0,dx,{damage}\n", encoding="utf-8")
    prepared = run("table", path, tmp_path, icd="9")
    assert prepared.counts.rejected == {"not_a_code": 1}
    assert stays(prepared)["S0"] == (["4280"], ["3995"])


def test_a_file_cut_off_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*GOOD)[:-2])
    assert "does not end with a line end" in run("table", path, tmp_path, icd="9").notes[-1]
    path.write_text(long(*GOOD))
    assert not any("line end" in note for note in run("table", path, tmp_path, icd="9").notes)


def test_two_files_of_one_name_are_both_accounted_for(tmp_path: Path) -> None:
    dx = write(tmp_path / "dx", codes="stay_id,code\nbroken\n" + "".join(f"{n},4280\n" for n in range(9)))
    px = write(tmp_path / "px", codes="stay_id,code\n" + "".join(f"{n},3995\n" for n in range(9)))
    prepared = run("table", dx / "codes.csv", tmp_path, icd="9", procedures_file=str(px / "codes.csv"))
    assert prepared.counts.rejected == {"malformed_line": 1}
    assert rejects(prepared) == [("codes.csv", 2, None, "malformed_line")]


@pytest.mark.parametrize("icd", [None, "9"])
def test_swapped_kinds_are_refused(tmp_path: Path, icd: str | None) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*((px, dx) for dx, px in GOOD)))
    with pytest.raises(CohortError, match="look swapped"):
        run("table", path, tmp_path, icd=icd, max_rejected=1)
    assert not list(tmp_path.glob("C.*"))


def test_codes_of_one_kind_twice_are_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*((dx, dx) for dx, _ in GOOD), ("428.0", "39.95")))
    prepared = run("table", path, tmp_path, icd="9", max_rejected=1)
    assert "Most procedures look like diagnoses; check the columns." in prepared.warnings


def test_too_many_rejects_are_refused_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*GOOD) + "S0,dx,Doe\n" * 4)
    with pytest.raises(CohortError, match=r"4 of 14 entries \(28.6%\) are rejected.*--max-rejected 1"):
        run("table", path, tmp_path, icd="9")
    assert not list(tmp_path.glob("C.*"))
    assert run("table", path, tmp_path, icd="9", max_rejected=0.5).counts.rejected == {"not_a_code": 4}
    path.write_text(long(*GOOD) + "S0,lab,1\n" * 40)  # the table says itself that these are something else
    assert run("table", path, tmp_path, icd="9").counts.rejected == {"missing_kind": 40}


def test_when_all_lines_are_malformed_the_reason_is_given(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(long(*GOOD, head="stay_id,ward,kind,code\n"))
    with pytest.raises(
        CohortError,
        match=r"10 of 10 lines cannot .* \(10\): the line has 3 fields, but the header has 4\.",
    ):
        run("table", path, tmp_path)
    path.write_text("stay_id,kind,code\n")
    with pytest.raises(CohortError, match="the tables have no entries"):
        run("table", path, tmp_path)


def parquet(path: Path, **columns: Any) -> Path:
    """GOOD as Parquet, with some columns replaced."""
    n = len(GOOD)
    table = {
        "stay_id": [*range(n), *range(n)],
        "kind": ["dx"] * n + ["px"] * n,
        "code": [*(dx for dx, _ in GOOD), *(px for _, px in GOOD)],
        "seq": [1] * 2 * n,
    }
    pq.write_table(pa.table({**table, **columns}), path)
    return path


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 1e300, 2.0**60])
def test_numbers_that_are_no_ids_count_as_missing(tmp_path: Path, number: float) -> None:
    ids = [number, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    prepared = run("table", parquet(tmp_path / "own.parquet", stay_id=ids, seq=ids), tmp_path, icd="9")
    assert prepared.counts.rejected == {"missing_stay": 1}
    assert set(stays(prepared)) == {"1", "2", "3", "4"}
    halves = parquet(tmp_path / "own.parquet", seq=[number, 0.5] * 5, patient_id=[number] * 10)
    assert run("table", halves, tmp_path, icd="9").counts.stays == 5


@pytest.mark.parametrize(
    ("first", "kind"), [(2**64 - 9, pa.uint64()), (10**30, pa.decimal128(38, 0)), (7, pa.decimal128(20, 4))]
)
def test_large_ids_keep_every_digit(tmp_path: Path, first: int, kind: pa.DataType) -> None:
    numbers = [Decimal(first + n) if pa.types.is_decimal(kind) else first + n for n in range(5)]
    ids = pa.array(numbers * 2, kind)
    prepared = run("table", parquet(tmp_path / "own.parquet", stay_id=ids, seq=ids), tmp_path, icd="9")
    assert set(stays(prepared)) == {str(first + n) for n in range(5)}


def test_damaged_pages_and_text_give_one_sentence_without_a_cell(tmp_path: Path) -> None:
    texts = pa.array([b"203\xb00"] * 10, pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 10, texts.buffers())
    with pytest.raises(CohortError, match=r"^A Parquet file holds text that is not UTF-8") as caught:
        run("table", parquet(tmp_path / "own.parquet", code=broken), tmp_path, icd="9")
    assert "203" not in str(caught.value)
    path = parquet(tmp_path / "own.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(200) + content[204:])
    with pytest.raises(CohortError, match=r"^DuckDB could not read the tables"):
        run("table", path, tmp_path, icd="9")


CTRL_C = """
import os, signal, threading
from pathlib import Path
from dx2px.cohort.engines import open_engine

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell starts its jobs deaf to Ctrl-C
engine = open_engine("duckdb", Path("."))
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    with engine.plain_errors():
        engine.connection.raw_sql("SELECT count(*) FROM range(10_000_000_000) WHERE range % 7 = 3").fetchall()
except KeyboardInterrupt:
    engine.close()
    print("interrupted")
"""


def test_ctrl_c_inside_duckdb_is_an_interrupt(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CTRL_C]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_two_files_of_one_table_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX)
    (folder / "diagnoses_icd.csv.gz").write_bytes(gzip.compress(MIMIC3_DX.encode()))
    with pytest.raises(CohortError, match="keep one of them"):
        run("mimic3", folder, tmp_path)


def test_strict_turns_many_rejects_into_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX)
    with pytest.raises(CohortError, match=r"2 of 11 entries .* no stay id \(1\)"):
        run("mimic3", folder, tmp_path, strict=True)
    assert not list(tmp_path.glob("C.*"))


@pytest.mark.parametrize(
    ("read", "written"),
    [("t.csv", "t.csv"), ("t.parquet", "t.parquet"), ("C.rejects.parquet", "C.parquet")],
)
def test_a_table_being_read_is_never_overwritten(tmp_path: Path, read: str, written: str) -> None:
    table = pa.table({"stay_id": ["1", "1"], "kind": ["dx", "px"], "code": ["428.0", "39.95"]})
    path = tmp_path / read
    pyarrow.csv.write_csv(table, path) if path.suffix == ".csv" else pq.write_table(table, path)
    before = path.read_bytes()
    with pytest.raises(CohortError, match="is one of the tables being read"):
        prepare("table", path, tmp_path / written, options=SourceOptions(icd="9"))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [read]


def test_an_old_cohort_survives_a_failed_preparation(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX)
    run("mimic3", folder, tmp_path)
    before = (tmp_path / "C.parquet").read_bytes()
    with pytest.raises(
        CohortError, match=r"2 of 4 stays had a diagnosis and a procedure.* fewer than 99 stays"
    ):
        run("mimic3", folder, tmp_path, min_count=99)
    assert (tmp_path / "C.parquet").read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"in", "C.parquet", "C.rejects.parquet"}


def test_csv_gzip_and_parquet_give_the_same_cohort(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX)
    zipped, parquet = tmp_path / "zipped", tmp_path / "parquet"
    zipped.mkdir()
    parquet.mkdir()
    for name, text in (("DIAGNOSES_ICD", MIMIC3_DX), ("PROCEDURES_ICD", MIMIC3_PX)):
        (zipped / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
        head, *rows = [line.replace('"', "").split(",") for line in text.splitlines()]
        table = pa.table({n: [row[i] or None for row in rows] for i, n in enumerate(head)})
        pq.write_table(table, parquet / f"{name}.parquet")
    results = [pq.read_table(run("mimic3", folder, tmp_path).path) for folder in (plain, zipped, parquet)]
    assert results[0].equals(results[1])
    assert results[0].equals(results[2])


def test_a_stay_with_two_patients_is_reported(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in", DIAGNOSES_ICD=MIMIC3_DX, PROCEDURES_ICD=MIMIC3_PX.replace("1,10,100", "1,99,100")
    )
    assert any(
        "1 stay has more than one patient id" in warning
        for warning in run("mimic3", folder, tmp_path).warnings
    )


def test_unknown_sources_and_thresholds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of mimic3, mimic4"):
        prepare("mimic5", tmp_path, tmp_path / "C.parquet")
    with pytest.raises(CohortError, match="at least 1, not 0"):
        prepare("mimic3", tmp_path, tmp_path / "C.parquet", min_count=0)
    with pytest.raises(CohortError, match="There is no file or folder"):
        prepare("mimic3", tmp_path / "absent", tmp_path / "C.parquet")


@pytest.mark.realdata
def test_the_mimic_demos_have_the_known_sizes(tmp_path: Path, data: Path) -> None:
    three = run("mimic3", data / "mimic3demo", tmp_path).counts
    assert (three.stays_read, three.stays) == (129, 113)
    four = {
        icd: run("mimic4", data / "mimic4demo", tmp_path, icd=icd).counts.stays for icd in ("9", "10", "both")
    }
    assert four == {"9": 111, "10": 76, "both": 187}


@pytest.mark.realdata
def test_synpuf_claims_can_be_read(tmp_path: Path, data: Path) -> None:
    counts = run("synpuf", data / "desynpuf", tmp_path).counts
    assert counts.stays_read == 11_652
    assert counts.stays == counts.stays_with_both_kinds == 6_633
