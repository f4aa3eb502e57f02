import re
from importlib.resources import files

import pytest

from dx2px.codes import System, dictionary, persons_of
from dx2px.codes.tables import rows

# The columns of each table, and those that name a row: no two rows have the same.
TABLES = {
    "chapters": (("system", "range", "title"), 2),
    "headings": (("system", "code", "title"), 2),
    "heading_words": (("role", "word"), 2),
    "everyday_words": (("phrases", "codes"), 1),
    "family_titles": (("family", "title"), 1),
    "nearest": (("category", "nearest"), 1),
    "persons": (("sex", "ages", "codes"), 3),
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


def test_codes_are_for_the_persons_that_their_titles_name() -> None:
    found = {System(system): [] for system in System}
    for system in System:
        for bare, title in dictionary(system).items():
            if persons := persons_of(f"{system}:{bare}"):
                found[system].append((persons.sex, title))
    assert [len(found[system]) > 300 for system in System] == [True] * 4
    of_others = re.compile("tunica vaginalis|products of conception", re.IGNORECASE)
    titles = [(sex, text) for each in found.values() for sex, text in each if not of_others.search(text)]
    organs = {"F": r"\b(male|prostat|testi[cs]|penis)", "M": r"\b(female|uter[ui]|ovar|vagina|pregnan)"}
    assert [
        text for sex, text in titles if sex in organs and re.search(organs[sex], text, re.IGNORECASE)
    ] == []
    named = [entry for _, _, entries in rows("persons") for entry in entries.split()]
    for system, _, part in (entry.partition(":") for entry in named):
        first, _, last = part.partition("-")
        own = dictionary(System(system))
        assert any(first <= bare[: len(first)] <= (last or first) for bare in own), part


@pytest.mark.parametrize(
    ("code", "sex", "age", "fits"),
    [
        ("icd9cm:650", "F", 9, (True, True)),
        ("icd9cm:650", "M", 64.9, (False, True)),
        ("icd10cm:O80", None, 65, (True, False)),
        ("icd9cm:V3000", "M", 0.5, (True, True)),
        ("icd9cm:V3000", None, 1, (True, False)),
        ("icd9pcs:605", "F", None, (False, True)),
        ("icd10pcs:0UT90ZZ", "M", 30, (False, True)),
    ],
)
def test_sex_and_age_are_compared(
    code: str, sex: str | None, age: float | None, fits: tuple[bool, bool]
) -> None:
    persons = persons_of(code)
    assert persons is not None
    assert (persons.has_sex(sex), persons.has_age(age)) == fits


@pytest.mark.parametrize("code", ["icd9cm:4280", "icd9cm:7600", "icd10pcs:0UT9+0VT0", "xyz", ""])
def test_most_codes_are_for_anybody(code: str) -> None:
    assert persons_of(code) is None
