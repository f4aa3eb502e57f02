"""What the codes of a MEDS dataset mean. The standard leaves their form to whoever makes a dataset; these are in use:

    DIAGNOSIS//ICD//10//I509        PROCEDURE//ICD//9//3995       kind, ICD, version, code (MIMIC-IV)
    DIAGNOSIS//ICD10CM//I50.9       PROCEDURE//ICD10PCS//…        kind, system, code
    ICD10CM/I50.9   ICD9Proc/39.95  ICD9CM//4280  ICD10PCS//…     system, code (from OMOP)
    HOSPITAL_ADMISSION//EW EMER.//… HOSPITAL_DISCHARGE//HOME      the ends of a stay; also ADMISSION//…, DISCHARGE//…
    Visit/IP                                                      a visit, in a dataset with visit ids
    GENDER//F   SEX//Male   MIMIC_IV_Gender/F                     the sex
    MEDS_BIRTH                                                    the birth

A dataset's own name may stand in front. Upper and lower case make no difference. A new form is a word in a table below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import NOT_ICD

Role = Literal["entry", "admission", "discharge", "visit", "sex", "birth"]
KIND_WORDS: dict[str, Kind] = {
    **dict.fromkeys(("diagnosis", "diagnoses", "dx", "condition"), "diagnosis"),
    **dict.fromkeys(("procedure", "procedures", "px"), "procedure"),
}
KIND_OF_SYSTEM: dict[str, Kind] = {
    **dict.fromkeys(("icd9cm", "icd9dx", "icd10cm", "icd10dx"), "diagnosis"),
    **dict.fromkeys(("icd9proc", "icd9pcs", "icd9px", "icd10pcs", "icd10proc", "icd10px"), "procedure"),
}
ICD = re.compile(r"icd(9|10)(cm|pcs|proc|dx|px)?")
ROLE_WORDS: dict[str, Role] = {
    **dict.fromkeys(("hospital_admission", "admission", "mimic_iv_admission"), "admission"),
    **dict.fromkeys(("hospital_discharge", "discharge", "mimic_iv_discharge"), "discharge"),
    **dict.fromkeys(("gender", "sex", "mimic_iv_gender"), "sex"),
    "visit": "visit",
    "meds_birth": "birth",
}
WARDS = {"icu", "ed", "er"}  # an admission to one of these begins no stay
UNKNOWN = {"", "unk", "unknown", "none", "null", "nan"}
# Every code that may mean something here, for the engine to look for: laboratory values and drugs are far more.
TELLING = r"(?i)(diag|dx|condition|proc|px|icd|admission|discharge|visit|gender|sex|birth)"


@dataclass(frozen=True)
class Meaning:
    """What a code says; `value` is an ICD code, a sex or a type of admission. Only entries have kind and version."""

    role: Role
    value: str | None
    kind: Kind | None = None
    version: int | None = None


def meaning(code: str) -> Meaning | None:
    """What a code means, or None if it is neither a diagnosis nor a procedure nor of use for stays."""
    parts = [part.strip() for part in (code.split("//") if "//" in code else code.split("/", 1))]
    words = [part.lower() for part in parts]
    role = ROLE_WORDS.get(words[0])
    if role is None:
        return _entry(parts, words) or (_entry(parts[1:], words[1:]) if len(parts) > 2 else None)
    if role in ("admission", "discharge") and WARDS.intersection(words[1:2]):
        return None
    return Meaning(role, None if set(words[1:2]) <= UNKNOWN else parts[1])


def _entry(parts: list[str], words: list[str]) -> Meaning | None:
    """A diagnosis or procedure, by a word for its kind, a system, or both."""
    kind = KIND_WORDS.get(words[0])
    rest = 0 if kind is None else 1
    system = re.sub("[ _-]", "", words[rest]) if len(words) > rest + 1 else ""
    if system == "icd" and len(words) > rest + 2:
        rest += 1
        system = f"icd{words[rest]}"
    found = ICD.fullmatch(system)
    if found is None:
        return None if kind is None else Meaning("entry", parts[-1] or None, kind, NOT_ICD)
    return Meaning("entry", parts[rest + 1] or None, kind or KIND_OF_SYSTEM.get(system), int(found[1]))
