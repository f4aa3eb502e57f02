"""The four coding systems. A code without its system is not a code: `E030` exists in two of them."""

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
        return "procedure" if self in (System.ICD9PCS, System.ICD10PCS) else "diagnosis"

    @property
    def version(self) -> Version:
        return 9 if self in (System.ICD9CM, System.ICD9PCS) else 10

    @property
    def label(self) -> str:
        """The name to show to people."""
        return _LABELS[self]

    @classmethod
    def of(cls, kind: Kind, version: int) -> "System":
        """The system that codes this kind of thing in this version of ICD."""
        for system in cls:
            if (system.kind, system.version) == (kind, version):
                return system
        raise ValueError(
            f"no system codes {kind!r} in version {version!r}: kinds and versions are "
            "'diagnosis' or 'procedure', 9 or 10"
        )


_LABELS = {
    System.ICD9CM: "ICD-9-CM diagnosis",
    System.ICD9PCS: "ICD-9-CM procedure",
    System.ICD10CM: "ICD-10-CM diagnosis",
    System.ICD10PCS: "ICD-10-PCS procedure",
}
