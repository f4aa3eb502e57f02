from importlib.resources import files

import pytest

from dx2px.codes import System
from dx2px.codes.tables import rows

# The columns of each table, and those that name a row: no two rows have the same.
TABLES = {
    "chapters": (("system", "range", "title"), 2),
    "headings": (("system", "code", "title"), 2),
    "heading_words": (("role", "word"), 2),
    "everyday_words": (("phrases", "codes"), 1),
    "family_titles": (("family", "title"), 1),
    "nearest": (("category", "nearest"), 1),
    "pcs_axes": (("sections", "fourth", "fifth", "sixth", "seventh"), 1),
    "pcs_sections": (("section", "title"), 1),
    "pcs_body_systems": (("sections", "character", "title"), 2),
    "pcs_root_operations": (("sections", "character", "title"), 2),
}


def test_every_data_file_is_a_known_table() -> None:
    folder = files("dx2px.codes").joinpath("data")
    assert {file.name for file in folder.iterdir()} == {f"{table}.tsv" for table in TABLES}


@pytest.mark.parametrize("table", TABLES)
def test_a_file_states_its_source_and_its_columns(table: str) -> None:
    lines = files("dx2px.codes").joinpath("data", f"{table}.tsv").read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments
    assert any(line.startswith("# Source: ") for line in comments)
    assert tuple(lines[len(comments)].split("\t")) == TABLES[table][0]
    assert len(rows(table)) == len(lines) - len(comments) - 1


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_complete_clean_and_distinct(table: str) -> None:
    columns, key = TABLES[table]
    for row in rows(table):
        assert len(row) == len(columns)
        assert all(field and field == " ".join(field.split()) for field in row)
    assert len({row[:key] for row in rows(table)}) == len(rows(table))


@pytest.mark.parametrize("table", ["chapters", "headings"])
def test_systems_are_ours_and_their_rows_in_text_order(table: str) -> None:
    names = [System(system) for system, *_ in rows(table)]
    for system in set(names):
        own = [row[1] for row in rows(table) if row[0] == system]
        assert own == sorted(own)


@pytest.mark.parametrize("table", ["pcs_body_systems", "pcs_root_operations"])
def test_a_character_means_one_thing_in_a_section(table: str) -> None:
    pairs = [(section, character) for sections, character, _ in rows(table) for section in sections]
    assert len(pairs) == len(set(pairs))
    assert {section for section, _ in pairs} <= {section for section, _ in rows("pcs_sections")}


def test_a_word_has_one_role() -> None:
    assert {role for role, _ in rows("heading_words")} == {"connector", "vague"}
    words = [word for _, word in rows("heading_words")]
    assert len(words) == len(set(words))
