"""Tables on a terminal of 80 columns: labels are kept, numbers and codes are never cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import on_terminal
from dx2px.cli.tables import BETWEEN, EDGES, Strong, blocks, columns_of, print_table, widths

WIDE = [["96.71", "Continuous invasive mechanical ventilation", *["12.5 ± 0.25"] * 12]]
HEAD = ["code", "title", *(f"number {k}" for k in range(12))]


def test_explain_keeps_codes_and_titles_beside_eight_procedures() -> None:
    lines = on_terminal("explain", "585.6", "427.5", "250.00", "--top", "8")
    assert max(map(len, lines)) <= 80
    plan = lines[: lines.index("Procedures")]
    assert sum(line.strip().startswith("ICD-9-CM") for line in plan) == 2  # two tables, each with its labels
    for code, word in (("585.6", "End stage renal"), ("427.5", "Cardiac arrest"), ("250.00", "Diabetes")):
        assert sum(line.startswith(f" {code} ") and word in line for line in plan) == 2
    assert not any("0.3…" in line or "…." in line for line in lines)
    procedures = lines[lines.index("Procedures") :]
    assert any("39.95" in line and "Hemodialysis" in line and "%" in line for line in procedures)
    assert any("because of" in line for line in procedures)


def test_what_fits_is_one_table() -> None:
    columns = columns_of(HEAD[:4], [row[:4] for row in WIDE], codes=(0,))
    assert len(blocks(columns, 80)) == 1
    assert sum(widths(columns, 80)) + BETWEEN * 3 + EDGES <= 80
    assert widths(columns, 200) == [one.natural for one in columns]


def test_what_does_not_fit_is_several_tables_with_the_same_labels(capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks(columns_of(HEAD, WIDE, codes=(0,)), 80)
    assert len(found) > 1
    assert all([one.name for one in some[:2]] == ["code", "title"] for some in found)
    assert [one.name for some in found for one in some[2:]] == HEAD[2:]
    print_table("Title", HEAD, WIDE, codes=(0,))
    printed = capsys.readouterr().out
    assert printed.count("96.71") == printed.count("ventilation") > 1
    assert printed.count("12.5 ± 0.25") == 12


def test_a_rank_before_the_labels_belongs_to_them() -> None:
    head = ["rank", "code", "title", "probability", "because of"]
    row = ["1", "39.95", "Hemodialysis", "55.4%", "585.6 100%, 427.5 2%"]
    columns = columns_of(head, [row], codes=(1,))
    assert [one.number for one in columns] == [True, False, False, True, False]
    assert [one.name for one in blocks(columns, 40)[1][:3]] == head[:3]


@given(
    st.lists(st.lists(st.text("ab 1.", max_size=30), min_size=4, max_size=4), max_size=4),
    st.integers(20, 120),
)
def test_no_column_is_narrower_than_its_longest_number_or_code(rows: list[list[str]], room: int) -> None:
    for block in blocks(columns_of(["code", "a title", "number", "more"], rows, codes=(0,)), room):
        for one, width in zip(block, widths(block, room), strict=True):
            assert width >= one.least
            if one.number or one.code:
                assert all(len(cell) <= width for cell in one.cells)


def test_a_cell_can_stand_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["method", "F1"], [["best", Strong("12.5")], ["other", "11.0"]])
    assert "12.5" in capsys.readouterr().out
