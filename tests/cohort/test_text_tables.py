"""Reading text tables: every line accounted for, whatever is wrong with some of them."""

from __future__ import annotations

import bz2
import gzip
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dx2px.cohort import text_lines, text_tables
from dx2px.cohort.text_tables import read_header, stage_delimited, stage_fixed_width
from dx2px.errors import CohortError


def staged(path: Path, **options: object) -> tuple[text_tables.Staged, dict[str, list[object]]]:
    target = path.with_suffix(".staged")
    result = stage_delimited(path, target, **options)  # type: ignore[arg-type]
    return result, pq.read_table(target).to_pydict()


def test_each_defect_is_set_aside_with_its_line_and_harms_no_neighbour(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b,c\n1,2,3\n\n4,5,6\r\n7,8\n9,"10,11\n12,13,14\n15,16,17,18\n"x","y ","z""q"\n')
    result, table = staged(path)
    assert table == {
        "line": [2, 4, 7, 9],
        "a": ["1", "4", "12", "x"],
        "b": ["2", "5", "13", "y "],
        "c": ["3", "6", "14", 'z"q'],
    }
    assert [(bad.line, bad.reason) for bad in result.malformed] == [
        (5, "the line has 2 fields, but the header has 3"),
        (6, "a quotation mark on this line is not closed or stands in the wrong place"),
        (8, "the line has 4 fields, but the header has 3"),
    ]
    assert (result.header, result.records, result.blank, result.lines) == (1, 4, 1, 9)


def test_codes_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("code,other\n0389,1\n02700E6,NA\n1e5,null\n007,\n")
    _, table = staged(path)
    assert table["code"] == ["0389", "02700E6", "1e5", "007"]
    assert table["other"] == ["1", "NA", "null", ""]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(delimiter.join(["Stay", " Code "]) + "\n" + delimiter.join(["1", "4280"]) + "\n")
    assert read_header(path).columns == ("stay", "code")
    assert staged(path)[1]["code"] == ["4280"]


def test_mark_latin1_and_missing_last_line_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfname,code\nM\xe9ni\xe8re,38600\nplain,4280")
    _, table = staged(path)
    assert table["name"] == ["Ménière", "plain"]
    assert table["code"] == ["38600", "4280"]


def test_a_line_that_is_not_utf8_does_not_change_its_neighbours(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("name,code\né,1\n".encode() + b"\xe9,2\n")
    assert staged(path)[1]["name"] == ["é", "é"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_with_or_without_its_mark_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(text_lines, "FIRST_BYTES", 31)  # an odd number cuts letters in two
    monkeypatch.setattr(text_lines, "BLOCK_BYTES", 7)
    path = tmp_path / "t.csv"
    path.write_bytes("código;nombre\r\n0389;Ménière\r\n4280;\U0001f3e5\r\n5;a;b\r\n".encode(encoding))
    result, table = staged(path)
    assert table == {"line": [2, 3], "código": ["0389", "4280"], "nombre": ["Ménière", "\U0001f3e5"]}
    assert (result.encoding, result.delimiter, result.western) == ("UTF-16", ";", 0)
    assert [bad.line for bad in result.malformed] == [4]


def test_utf16_that_was_cut_inside_a_letter_loses_no_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n3,4".encode("utf-16")[:-1])
    result, table = staged(path)
    assert table["b"] == ["2", "\ufffd"]
    assert not result.ended


def test_windows_1252_is_counted_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"code;name\n4280;plain\n0389;\x93M\xe9ni\xe8re\x94 \x80\n0017;\x81\n")
    result, table = staged(path)
    assert table["name"] == ["plain", "“Ménière” €", "\x81"]
    assert (result.encoding, result.western) == ("UTF-8", 2)


def test_a_delimiter_inside_quoted_names_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"age, in years, at admission";code\n"70,5";4280\n')
    assert read_header(path).delimiter == ";"
    assert staged(path)[1]["age, in years, at admission"] == ["70,5"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_any_line_end_is_read(tmp_path: Path, end: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(["a,b", "1,2", '"3",""', "5,6"]).encode())
    result, table = staged(path)
    assert table == {"line": [2, 3, 4], "a": ["1", "3", "5"], "b": ["2", "", "6"]}
    assert (result.lines, result.malformed, result.ended) == (4, [], False)


def test_a_stray_line_end_cuts_no_record(tmp_path: Path) -> None:
    """The code 4280 must not become 42, and each part of the line is accounted for."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,42\r80\n2,3\n4,5\r\r6,7\n8,9\n")
    result, table = staged(path)
    assert table == {"line": [4, 8], "a": ["2", "8"], "b": ["3", "9"]}
    assert [(bad.line, bad.reason) for bad in result.malformed] == [
        (line, text_tables.STRAY_LINE_END) for line in (2, 3, 5, 7)
    ]
    assert (result.lines, result.blank) == (8, 1)


@pytest.mark.parametrize("ending", ['3,"428', '3,"4280', '3,"4280",'])
def test_a_file_cut_inside_a_quoted_field_gives_no_code(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f'"a","b"\n"1","2"\n{ending}')
    result, table = staged(path)
    assert table["b"] == (["2"] if ending != '3,"4280",' else ["2", "4280"])
    assert len(result.malformed) == (ending != '3,"4280",')


def test_no_record_swallows_another_while_the_counts_agree(tmp_path: Path) -> None:
    """A quoted field over two lines makes one row of them, a lone carriage return two rows of another line."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,"x\n2,y"\n3,z\r4,w\n5,v\n6"6,"u\n7,"t"\n')
    result, table = staged(path)
    assert table == {"line": [6, 8], "a": ["5", "7"], "b": ["v", "t"]}
    assert [bad.line for bad in result.malformed] == [2, 3, 4, 5, 7]


def test_a_hundred_thousand_columns_are_read_in_no_time(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(100_000)]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n" + "," * 99_999 + "\n")
    started = time.process_time()
    assert len(read_header(path).columns) == 100_000
    assert staged(path, columns=["c7", "c99999"])[0].records == 1
    assert time.process_time() - started < 20  # a quadratic check takes minutes


def test_a_file_of_one_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x" * 300_000)
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 1000)
    with pytest.raises(CohortError, match="not a text table"):
        staged(path)


def test_compressed_files_read_like_plain_ones(tmp_path: Path) -> None:
    text = b"a,b\n1,2\n3,4\n"
    plain, zipped, bzipped = tmp_path / "p.csv", tmp_path / "z.csv.gz", tmp_path / "b.csv.bz2"
    plain.write_bytes(text)
    zipped.write_bytes(gzip.compress(text[:5]) + gzip.compress(text[5:]))
    bzipped.write_bytes(bz2.compress(text))
    assert staged(zipped)[1] == staged(bzipped)[1] == staged(plain)[1]


def test_blocks_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{n},{'x' if n % 7 else chr(34)}\n" for n in range(200)))
    whole, table = staged(path)
    monkeypatch.setattr(text_lines, "BLOCK_BYTES", 37)
    monkeypatch.setattr(text_lines, "FIRST_BYTES", 37)
    cut, same = staged(path)
    assert same == table
    assert (cut.lines, cut.malformed) == (whole.lines, whole.malformed)
    assert len(whole.malformed) == 29


def test_trailing_commas_of_a_spreadsheet_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,,\n1,2,,\n3,4,,,\n")
    result, table = staged(path, columns=["a", "b"])
    assert table == {"line": [2, 3], "a": ["1", "3"], "b": ["2", "4"]}
    assert not result.malformed


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b"", "t.csv", "t.csv is empty"),
        (b"a,b,a\n", "t.csv", "but 1 name is used more than once"),
        (b"a,b\rc\n1,2\n", "t.csv", "stray line end"),
        (b"PK\x03\x04\x00\x00a,b\n", "t.csv", "may be UTF-16 or a spreadsheet"),
        (gzip.compress(b"a,b\n1,2\n" * 1000, mtime=0)[:30], "t.csv.gz", "incomplete or damaged"),
        (b"not gzip at all", "t.csv.gz", "incomplete or damaged"),
        (b"not bzip2 at all", "t.csv.bz2", "cannot be read"),
    ],
)
def test_unreadable_files_give_one_sentence(tmp_path: Path, content: bytes, name: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CohortError, match=sentence):
        staged(path)


def test_fixed_width_lines_of_another_width_are_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"12ab\r\n\r\n34cd\r\n5e\r\n")
    target = tmp_path / "t.parquet"
    result = stage_fixed_width(path, target, 4, {"number": slice(0, 2), "text": slice(2, 4)})
    assert pq.read_table(target).to_pydict() == {"line": [1, 3], "number": ["12", "34"], "text": ["ab", "cd"]}
    assert [bad.line for bad in result.malformed] == [4]
    assert result.blank == 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet='a0",\n \r', max_size=8), max_size=12))
def test_no_line_is_ever_lost(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(("a,b\n" + "\n".join(lines)).encode())
    result, table = staged(path)
    known = result.header + result.records + len(result.malformed) + result.blank
    assert known == result.lines
    assert len(table["line"]) == result.records
