"""Chapters of the three systems that have them. A chapter is written as its range: `390-459`, `A00-B99`."""

from bisect import bisect_right
from collections.abc import Mapping

from dx2px.codes.systems import System

ICD9CM = {
    "001-139": "Infectious and parasitic diseases",
    "140-239": "Neoplasms",
    "240-279": "Endocrine, nutritional and metabolic diseases, and immunity disorders",
    "280-289": "Diseases of the blood and blood-forming organs",
    "290-319": "Mental disorders",
    "320-389": "Diseases of the nervous system and sense organs",
    "390-459": "Diseases of the circulatory system",
    "460-519": "Diseases of the respiratory system",
    "520-579": "Diseases of the digestive system",
    "580-629": "Diseases of the genitourinary system",
    "630-679": "Complications of pregnancy, childbirth, and the puerperium",
    "680-709": "Diseases of the skin and subcutaneous tissue",
    "710-739": "Diseases of the musculoskeletal system and connective tissue",
    "740-759": "Congenital anomalies",
    "760-779": "Certain conditions originating in the perinatal period",
    "780-799": "Symptoms, signs, and ill-defined conditions",
    "800-999": "Injury and poisoning",
    "E000-E999": "External causes of injury and poisoning",
    "V01-V91": "Factors influencing health status and contact with health services",
}

ICD9PCS = {
    "00": "Procedures and interventions, not elsewhere classified",
    "01-05": "Operations on the nervous system",
    "06-07": "Operations on the endocrine system",
    "08-16": "Operations on the eye",
    "17": "Other miscellaneous diagnostic and therapeutic procedures",
    "18-20": "Operations on the ear",
    "21-29": "Operations on the nose, mouth, and pharynx",
    "30-34": "Operations on the respiratory system",
    "35-39": "Operations on the cardiovascular system",
    "40-41": "Operations on the hemic and lymphatic system",
    "42-54": "Operations on the digestive system",
    "55-59": "Operations on the urinary system",
    "60-64": "Operations on the male genital organs",
    "65-71": "Operations on the female genital organs",
    "72-75": "Obstetrical procedures",
    "76-84": "Operations on the musculoskeletal system",
    "85-86": "Operations on the integumentary system",
    "87-99": "Miscellaneous diagnostic and therapeutic procedures",
}

ICD10CM = {
    "A00-B99": "Certain infectious and parasitic diseases",
    "C00-D49": "Neoplasms",
    "D50-D89": "Diseases of the blood and blood-forming organs and certain disorders of the immune mechanism",
    "E00-E89": "Endocrine, nutritional and metabolic diseases",
    "F01-F99": "Mental, behavioral and neurodevelopmental disorders",
    "G00-G99": "Diseases of the nervous system",
    "H00-H59": "Diseases of the eye and adnexa",
    "H60-H95": "Diseases of the ear and mastoid process",
    "I00-I99": "Diseases of the circulatory system",
    "J00-J99": "Diseases of the respiratory system",
    "K00-K95": "Diseases of the digestive system",
    "L00-L99": "Diseases of the skin and subcutaneous tissue",
    "M00-M99": "Diseases of the musculoskeletal system and connective tissue",
    "N00-N99": "Diseases of the genitourinary system",
    "O00-O9A": "Pregnancy, childbirth and the puerperium",
    "P00-P96": "Certain conditions originating in the perinatal period",
    "Q00-Q99": "Congenital malformations, deformations and chromosomal abnormalities",
    "R00-R99": "Symptoms, signs and abnormal clinical and laboratory findings, not elsewhere classified",
    "S00-T88": "Injury, poisoning and certain other consequences of external causes",
    "U00-U85": "Codes for special purposes",
    "V00-Y99": "External causes of morbidity",
    "Z00-Z99": "Factors influencing health status and contact with health services",
}

CHAPTERS: Mapping[System, Mapping[str, str]] = {
    System.ICD9CM: ICD9CM,
    System.ICD9PCS: ICD9PCS,
    System.ICD10CM: ICD10CM,
}

_STARTS = {system: [span.split("-")[0] for span in table] for system, table in CHAPTERS.items()}


def chapter_range(bare: str, system: System) -> str | None:
    """The range of the chapter that holds a code; None in the gaps between chapters (ICD-9 `000`).

    The tables stand in text order (digits, then E, then V), so the chapter is the last to begin at or
    before the code. The end is compared over as many characters as it has: `O9A` holds `O9A.2`.
    """
    spans = list(CHAPTERS[system])
    place = bisect_right(_STARTS[system], bare) - 1
    end = spans[place].split("-")[-1]
    return spans[place] if place >= 0 and bare[: len(end)] <= end else None
