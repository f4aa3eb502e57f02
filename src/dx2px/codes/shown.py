"""Codes as people read them: `428.0` instead of `icd9cm:4280`, with the system named once.

Files and JSON keep the canonical form. Tables, remarks, figures and pages use this one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dx2px.codes.systems import System
from dx2px.codes.text import dotted, split
from dx2px.errors import CodeError


def shown_code(code: str) -> str:
    """The dotted form; a text that is not a code stays as it was typed."""
    try:
        return dotted(code)
    except CodeError:
        return code


@dataclass(frozen=True)
class Notation:
    """How the codes of one table or page are written.

    If all diagnoses are of one system, and all procedures too, a heading can name it and the codes stand alone.
    Otherwise each code of the mixed kind carries its system: `E11.9 (ICD-10-CM)`.
    """

    systems: frozenset[System]

    @classmethod
    def of(cls, codes: Iterable[str]) -> "Notation":
        """The notation for these canonical codes; texts that are not codes have no say."""
        found = (_system(code) for code in codes)
        return cls(frozenset(system for system in found if system is not None))

    @property
    def name(self) -> str:
        """The editions of ICD in use: `ICD-9-CM`, or `ICD-10-CM, ICD-10-PCS`; empty if there are no codes."""
        return ", ".join(dict.fromkeys(system.edition for system in System if system in self.systems))

    @property
    def heading(self) -> str:
        """The heading of a column of codes: their edition of ICD, or just `code` if there are several."""
        return self.name if self.name and "," not in self.name else "code"

    def write(self, code: str) -> str:
        """One code."""
        system = _system(code)
        mixed = system is not None and len({one for one in self.systems if one.kind == system.kind}) > 1
        return f"{shown_code(code)} ({system.edition})" if system and mixed else shown_code(code)


def _system(code: str) -> System | None:
    try:
        return split(code)[0]
    except CodeError:
        return None
