import pytest

from dx2px.codes import System, ancestors, category, chapter, dictionary
from dx2px.errors import CodeError


@pytest.mark.parametrize(
    ("code", "above"),
    [
        ("icd9cm:42832", ("icd9cm:4283", "icd9cm:428", "icd9cm:@390-459")),
        ("icd9cm:486", ("icd9cm:@460-519",)),
        ("icd9cm:0389", ("icd9cm:038", "icd9cm:@001-139")),
        ("icd9cm:E8801", ("icd9cm:E880", "icd9cm:@E000-E999")),
        ("icd9cm:V3001", ("icd9cm:V300", "icd9cm:V30", "icd9cm:@V01-V91")),
        ("icd9pcs:3893", ("icd9pcs:389", "icd9pcs:38", "icd9pcs:@35-39")),
        ("icd9pcs:0017", ("icd9pcs:001", "icd9pcs:00", "icd9pcs:@00")),
        ("icd10cm:I5021", ("icd10cm:I502", "icd10cm:I50", "icd10cm:@I00-I99")),
        ("icd10cm:D649", ("icd10cm:D64", "icd10cm:@D50-D89")),
        ("icd10cm:O9A211", ("icd10cm:O9A21", "icd10cm:O9A2", "icd10cm:O9A", "icd10cm:@O00-O9A")),
        ("icd10pcs:02HV33Z", ("icd10pcs:02H", "icd10pcs:02", "icd10pcs:0")),
        ("icd10pcs:02", ("icd10pcs:0",)),
        ("icd9cm:@390-459", ()),
    ],
)
def test_headings_above_a_code(code: str, above: tuple[str, ...]) -> None:
    assert ancestors(code) == above


@pytest.mark.parametrize("system", System)
def test_every_listed_code_has_a_chapter(system: System) -> None:
    mark = f"{system}:" if system is System.ICD10PCS else f"{system}:@"
    for bare in dictionary(system):
        top = chapter(f"{system}:{bare}")
        assert top.startswith(mark)
        assert top == ancestors(f"{system}:{bare}")[-1]


@pytest.mark.parametrize("system", System)
def test_a_heading_shares_the_rest_of_its_codes_ancestors(system: System) -> None:
    """The headings above a heading are those that follow it in the ancestors of a code."""
    for bare in list(dictionary(system))[::37]:
        line = ancestors(f"{system}:{bare}")
        for place, heading in enumerate(line):
            assert ancestors(heading) == line[place + 1 :]


def test_category_of_a_code_in_each_system() -> None:
    assert category("icd9cm:42832") == "icd9cm:428"
    assert category("icd9cm:E8801") == "icd9cm:E880"
    assert category("icd9pcs:3893") == "icd9pcs:38"
    assert category("icd10cm:I5021") == "icd10cm:I50"
    assert category("icd10pcs:02HV33Z") == "icd10pcs:02H"
    assert category("icd9cm:428") == "icd9cm:428"


def test_a_chapter_has_no_category() -> None:
    with pytest.raises(CodeError, match="chapter"):
        category("icd9cm:@390-459")


def test_a_code_between_chapters_has_no_chapter() -> None:
    assert ancestors("icd9cm:0001") == ("icd9cm:000",)
