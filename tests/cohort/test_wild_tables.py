"""Tables as hospitals send them: other encodings, separators and words, damaged codes. Read, or rejected and told."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from dx2px import Cohort, SourceOptions, prepare

DIAGNOSES = ["DIAGNOSTICO1", "DIAGNOSTICO2", "DIAGNOSTICO10"]
HEADER = ["ID_EPISODIO", "ID_PACIENTE", "EDAD", "SEXO", "TIPO_INGRESO", *DIAGNOSES, "PROCEDIMIENTO1"]
ROWS = [
    ["e1", "p1", "70,5", "MUJER", "Urgente", "428,0", "DESCONOCIDO", "585.6", "39.95"],
    ["e2", "DESCONOCIDO", "-", "HOMBRE", "nan", "nan", "038.9", "", "39,95"],
    ["e3", "DESCONOCIDO", "8", "?", "Programada", "V58.67", "Ñandú", "-", "96.71"],
    ["e4", "p4", "9", "MUJER"],
]


def test_a_wide_table_in_utf16_with_semicolons_and_words_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "GRD.csv"
    path.write_bytes("".join(";".join(row) + "\r\n" for row in [HEADER, *ROWS]).encode("utf-16"))
    prepared = prepare("table", path, tmp_path / "C.parquet", options=SourceOptions(icd="9"))
    cohort = Cohort.load(prepared.path)
    assert [cohort.diagnoses_of(row) for row in range(3)] == [
        ("icd9cm:4280", "icd9cm:5856"),
        ("icd9cm:0389",),
        ("icd9cm:V5867",),
    ]
    assert [cohort.procedures_of(row) for row in range(3)] == [
        ("icd9pcs:3995",),
        ("icd9pcs:3995",),
        ("icd9pcs:9671",),
    ]
    assert cohort.patient_ids is not None
    assert cohort.patient_ids.to_pylist() == ["p1", None, None]
    assert cohort.context is not None
    assert cohort.context.select(["age", "sex", "admission"]).to_pydict() == {
        "age": [70, None, 8],
        "sex": ["F", "M", None],
        "admission": ["urgente", None, "programada"],
    }
    rejects = pq.read_table(prepared.rejects_path).to_pylist()
    assert [(row["line"], row["column"], row["reason"], row["detail"]) for row in rejects] == [
        (5, None, "malformed_line", "the line has 4 fields, but the header has 9"),
        (4, "diagnostico2", "not_a_code", "Ñandú"),
    ]
    notes = " ".join(prepared.notes)
    assert "GRD.csv: read as UTF-16, fields separated by semicolons (guessed)." in notes
    assert "GRD.csv: 8 cells hold a word or sign for nothing and count as empty." in notes
    assert "2 codes have a comma in place of the dot." in notes
    assert "diagnosis = diagnostico1 … diagnostico10 (guessed)" in notes


def test_zeros_that_only_some_rows_lost(tmp_path: Path) -> None:
    """Three codes stand there with and without their zero: so 389 is 0389, and 1000 may be 1000 or 01000."""
    good = ["0389", "0380", "0088", "4280", "1000"]
    lost = ["389", "380", "88", "4280", "5856"]
    long = "stay;kind;code\n" + "".join(f"{n};dx;{code}\n{n};px;3995\n" for n, code in enumerate(good + lost))
    path = tmp_path / "own.csv"
    path.write_bytes(long.encode() + b"1;px;3995 \xf1\n")
    prepared = prepare("table", path, tmp_path / "C.parquet", options=SourceOptions(icd="9"))
    found = {row["stay_id"]: row["diagnoses"] for row in pq.read_table(prepared.path).to_pylist()}
    expected = ["icd9cm:0389", "icd9cm:0380", "icd9cm:0088", "icd9cm:4280"]
    assert found == {
        **{str(n): [code] for n, code in enumerate(expected)},
        **{str(n + 5): [code] for n, code in enumerate([*expected, "icd9cm:5856"])},
    }
    assert prepared.counts.repaired == 3
    assert prepared.counts.rejected == {"ambiguous_leading_zero": 1, "not_a_code": 1}
    assert any("1 line that is not UTF-8 as Windows-1252" in note for note in prepared.notes)
