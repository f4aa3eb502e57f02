"""ICD-9-CM procedures as families of ICD-10-PCS codes, by small maps of our own in the published forms."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dx2px.cohort import prepare
from dx2px.cohort.sources import SourceOptions
from dx2px.cohort.translation import PcsMap
from dx2px.errors import CohortError

# As in CMS's gem_i9pcs.txt: a code, its target, flags (approximate, no map, combination), scenario, choice list.
FORWARD = """\
8154  0SRC07Z 10000
8154  0SRC0JZ 10000
8154  0SRD07Z 10000
8154  0SRD0JZ 10000
3995  5A1D00Z 10000
3995  5A1D60Z 10000
740   10D00Z0 10000
741   10D00Z1 10000
7499  10D00Z0 10000
7499  10D00Z1 10000
7499  10D00Z2 10000
720   10D07Z3 10000
7271  0W8NXZZ 10111
7271  10D07Z6 10112
5122  0FT40ZZ 10000
5123  0FT44ZZ 10000
9671  5A1935Z 10000
9671  5A1945Z 10000
9672  5A1955Z 10000
3607  NoPCS   11000
"""


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    folder = tmp_path / "maps"
    folder.mkdir()
    (folder / "gem_i9pcs.txt").write_text(FORWARD)
    (folder / "readme.txt").write_text("General Equivalence Mappings")
    return folder


def families(maps: Path, code: str) -> tuple[str, ...] | None:
    found = PcsMap.read(maps).families(f"icd9pcs:{code}")
    return None if found is None else tuple(one.partition(":")[2] for one in found)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("8154", ("0SR[CD]",)),  # the knee, not every joint
        ("3995", ("5A1D",)),  # the map's codes are retired; those under their beginning are not
        ("741", ("10D00",)),  # 74.99 holds it, with the same first five characters
        ("7499", ("10D00",)),
        ("7271", ("0W8NXZZ", "10D07Z6")),  # a combination
        ("5122", ("0FT40ZZ",)),  # what ICD-9 tells apart stays apart
        ("5123", ("0FT44ZZ",)),
        ("9671", ("5A19[34]",)),
        ("9672", ("5A1955Z",)),
        ("3607", ()),  # no equivalent
        ("9999", None),  # not in the map
    ],
)
def test_what_the_alternatives_share(maps: Path, code: str, expected: tuple[str, ...] | None) -> None:
    assert families(maps, code) == expected


def test_the_reverse_map_knows_what_the_other_does_not(maps: Path) -> None:
    (maps / "gem_pcsi9.txt").write_text(
        "02703ZZ 0066    10000\n027034Z 0066    10111\n027034Z 3607    10112\n5A1D70Z 3995    10000\n"
    )
    assert families(maps, "3607") == ("027034",)
    assert families(maps, "3995") == ("5A1D",)


def test_a_csv_is_read_too(tmp_path: Path) -> None:
    rows = "".join(f'"{a}","{b}","{c}"\n' for a, b, c in map(str.split, FORWARD.splitlines()))
    path = tmp_path / "icd9pcs_to_icd10pcs.csv.gz"
    path.write_bytes(gzip.compress(f'"icd9pcs","icd10pcs","flags"\n{rows}'.encode()))
    assert families(path, "8154") == ("0SR[CD]",)


def test_too_many_patterns_become_one_for_each_operation(tmp_path: Path) -> None:
    codes = ["0D958ZX", "0D9630Z", "0DB58ZX", "0DB63ZX", "0DJ08ZZ", "0DT50ZZ", "0DTJ4ZZ"]
    (tmp_path / "gem_i9pcs.txt").write_text(
        "".join(f"4516 {code} 10000\n9999 {code[:6]}X 10000\n" for code in codes)
    )
    (found,) = families(tmp_path, "4516") or ()
    assert found.count("+") <= 2
    assert len(found) < 48


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"answer_in": "icd10pcs"}, "name the folder with CMS's maps"),
        ({"answer_in": "icd10pcs", "maps": "nowhere"}, "There are no maps of procedures at nowhere"),
        ({"maps": "."}, "read only to answer in icd10pcs"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CohortError, match=sentence):
        prepare("table", tmp_path, tmp_path / "C.parquet", options=SourceOptions(**told))


@pytest.mark.parametrize("text", ["", "8154 0SRC07Z\n", "8154 0SRC07Z 1000\n"])
def test_a_broken_map_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "gem_i9pcs.txt").write_text(text)
    with pytest.raises(CohortError, match=r"has no map of procedures|gem_i9pcs\.txt, line 1"):
        PcsMap.read(tmp_path)


def test_a_cohort_is_translated_and_every_entry_accounted_for(tmp_path: Path, maps: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text(
        "stay,dx1,px1,px2,px3\na,7153,8154,,\nb,6701,7271,741,7499\nc,41401,3607,9999,3995\nd,41401,3607,,\n"
    )
    told = SourceOptions(icd="9", answer_in="icd10pcs", maps=maps)
    prepared = prepare("table", table, tmp_path / "C.parquet", options=told, max_rejected=0.5)
    rows = pq.read_table(prepared.path).to_pylist()
    assert {row["stay_id"]: (row["diagnoses"], row["procedures"]) for row in rows} == {
        "a": (["icd9cm:7153"], ["icd10pcs:0SR[CD]"]),
        "b": (["icd9cm:6701"], ["icd10pcs:0W8NXZZ", "icd10pcs:10D07Z6", "icd10pcs:10D00"]),
        "c": (["icd9cm:41401"], ["icd10pcs:5A1D"]),
    }
    counts = prepared.counts
    assert counts.rejected == {"no_icd10pcs": 2, "not_in_maps": 1}
    assert (counts.combined, counts.repeated, counts.kept) == (1, 1, 8)
    assert "Translated: 5 entries of 5 ICD-9-CM procedures became 5 families" in prepared.notes[-1]
