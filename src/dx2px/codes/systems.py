"""The four coding systems. A code means nothing without its system: `E030` exists in two of them."""

from enum import StrEnum
from typing import Literal

Kind = Literal["diagnosis", "procedure"]
Version = Literal[9, 10]


class System(StrEnum):
    """A coding system; its value is the prefix of every canonical code (`icd9cm:4280`)."""

    ICD9CM = "icd9cm"
    ICD9PCS = "icd9pcs"
    ICD10CM = "icd10cm"
    ICD10PCS = "icd10pcs"

    @property
    def kind(self) -> Kind:
        """`diagnosis` or `procedure`, which is what its codes stand for."""
        return "procedure" if self in (System.ICD9PCS, System.ICD10PCS) else "diagnosis"

    @property
    def version(self) -> Version:
        """The version of ICD, 9 or 10."""
        return 9 if self in (System.ICD9CM, System.ICD9PCS) else 10

    @property
    def edition(self) -> str:
        """The book it is printed in, as people name it. `ICD-9-CM` holds both diagnoses and procedures."""
        return _EDITIONS[self]

    @property
    def label(self) -> str:
        """The name shown to people where the kind is not obvious, such as `ICD-9-CM procedure`."""
        return f"{self.edition} {self.kind}"

    @classmethod
    def of(cls, kind: Kind, version: int) -> "System":
        """The system for this kind of code in this version of ICD.

        Args:
            kind: `diagnosis` or `procedure`.
            version: 9 or 10.

        Raises:
            ValueError: There is no such kind or version.
        """
        for system in cls:
            if (system.kind, system.version) == (kind, version):
                return system
        raise ValueError(
            f"no coding system for kind {kind!r} and version {version!r}: kind must be 'diagnosis' or 'procedure', "
            "version 9 or 10"
        )


_EDITIONS = {
    System.ICD9CM: "ICD-9-CM",
    System.ICD9PCS: "ICD-9-CM",
    System.ICD10CM: "ICD-10-CM",
    System.ICD10PCS: "ICD-10-PCS",
}
