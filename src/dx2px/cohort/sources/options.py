"""What a user may say about a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Icd = Literal["9", "10", "both"]


@dataclass(frozen=True)
class SourceOptions:
    """Settings of `prepare` that concern the reading; column settings belong to the `table` source."""

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
        """The ICD version that every code has, when the user says so."""
        return int(self.icd) if self.icd in ("9", "10") else None
