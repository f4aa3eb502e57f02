"""What a user can say about a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Icd = Literal["9", "10", "both"]


@dataclass(frozen=True)
class SourceOptions:
    """Options of `prepare` about reading a source; those about columns and files are for the source `table`."""

    icd: Icd | None = None
    stay_column: str | None = None
    patient_column: str | None = None
    code_column: str | None = None
    kind_column: str | None = None
    system_column: str | None = None
    order_column: str | None = None
    diagnosis_columns: tuple[str, ...] = ()
    procedure_columns: tuple[str, ...] = ()
    procedures_file: str | None = None

    @property
    def version(self) -> int | None:
        """The one ICD version to use, if the user names one."""
        return int(self.icd) if self.icd in ("9", "10") else None
