"""What a user can say about a source."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dx2px.codes import Kind

Icd = Literal["9", "10", "both"]


@dataclass(frozen=True)
class SourceOptions:
    """What to tell `prepare` about a source.

    Column names and the second file are for the source `table` only. Columns that are not named are guessed from usual
    names, and the guess is reported. Upper and lower case make no difference in column names.

    Attributes:
        icd: `9` or `10` keeps only codes of this version; where the source does not say the version, codes are read
            as this one. `both`, the same as None, keeps both, and guesses a version that is not given.
        icd_diagnoses: The same for diagnoses alone, in place of `icd`: some countries code diagnoses in ICD-10 and
            procedures in ICD-9.
        icd_procedures: The same for procedures alone.
        stay_column: The column with the stay's id.
        patient_column: The column with the patient's id.
        code_column: The column with the code, in a table with one code per row.
        kind_column: The column that says whether a code is a diagnosis or a procedure.
        system_column: The column with the coding system or the ICD version of a code.
        order_column: The column with a code's place among the stay's codes. The diagnosis at the first place counts
            as the principal one.
        diagnosis_columns: The columns with diagnoses, in a table with one stay per row; `dx*` means all that match.
        procedure_columns: The columns with procedures, likewise.
        principal_column: The column with the principal diagnosis, in a table with one stay per row. Its code is read as
            the stay's first diagnosis. This column is never guessed.
        age_column: The column with the age in years at admission.
        sex_column: The column with the sex.
        admission_column: The column with the type of admission.
        procedures_file: The file with the procedures, if diagnoses and procedures are in separate files.
        answer_in: `icd10pcs` turns ICD-9-CM procedures into families of ICD-10-PCS codes, by the `maps`.
        maps: The folder or file with CMS's maps of procedures (`gem_i9pcs.txt`, `gem_pcsi9.txt`, or a CSV).
        corrections: Codes to read as another code of the same system, such as `{"icd9pcs:481": "icd9pcs:0481"}` for
            tables in which 04.81 lost its leading zero. With a condition, only in stays that also have another code
            that matches: `{"icd9pcs:8152": "icd9pcs:8162 with icd9pcs:810* or icd9pcs:813*"}`. Each one is reported
            with the numbers of its entries and stays.
    """

    icd: Icd | None = None
    icd_diagnoses: Icd | None = None
    icd_procedures: Icd | None = None
    stay_column: str | None = None
    patient_column: str | None = None
    code_column: str | None = None
    kind_column: str | None = None
    system_column: str | None = None
    order_column: str | None = None
    diagnosis_columns: tuple[str, ...] = ()
    procedure_columns: tuple[str, ...] = ()
    principal_column: str | None = None
    age_column: str | None = None
    sex_column: str | None = None
    admission_column: str | None = None
    procedures_file: str | None = None
    corrections: Mapping[str, str] = field(default_factory=dict)
    answer_in: Literal["icd9pcs", "icd10pcs"] | None = None
    maps: str | os.PathLike[str] | None = None

    def version(self, kind: Kind) -> int | None:
        """The one ICD version to use for this kind of code, if the user names one."""
        own = self.icd_diagnoses if kind == "diagnosis" else self.icd_procedures
        chosen = own or self.icd
        return int(chosen) if chosen in ("9", "10") else None
