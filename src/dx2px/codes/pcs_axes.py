"""ICD-10-PCS headings: section, body system and root operation, the first three characters of a code.

Section 0 (medical and surgical) holds nine tenths of the codes; of the other sections, body systems and root
operations are named as far as the 2024 tables use them.
"""

from collections.abc import Mapping

SECTIONS = {
    "0": "Medical and surgical",
    "1": "Obstetrics",
    "2": "Placement",
    "3": "Administration",
    "4": "Measurement and monitoring",
    "5": "Extracorporeal or systemic assistance and performance",
    "6": "Extracorporeal or systemic therapies",
    "7": "Osteopathic",
    "8": "Other procedures",
    "9": "Chiropractic",
    "B": "Imaging",
    "C": "Nuclear medicine",
    "D": "Radiation therapy",
    "F": "Physical rehabilitation and diagnostic audiology",
    "G": "Mental health",
    "H": "Substance abuse treatment",
    "X": "New technology",
}

_REGIONS = {"W": "anatomical regions", "Y": "anatomical orifices"}
_PHYSIOLOGICAL = {"A": "physiological systems", "B": "physiological devices"}
_DEVICES = {
    "0": "circulatory system",
    "C": "indwelling device",
    "E": "physiological systems and anatomical regions",
}

_ORGANS = {  # shared by imaging, nuclear medicine and radiation therapy
    "0": "central nervous system",
    "2": "heart",
    "3": "upper arteries",
    "4": "lower arteries",
    "5": "veins",
    "7": "lymphatic and hematologic system",
    "8": "eye",
    "9": "ear, nose, mouth and throat",
    "B": "respiratory system",
    "D": "gastrointestinal system",
    "F": "hepatobiliary system and pancreas",
    "G": "endocrine system",
    "H": "skin, subcutaneous tissue and breast",
    "L": "connective tissue",
    "M": "breast",
    "N": "skull and facial bones",
    "P": "musculoskeletal system",
    "Q": "non-axial lower bones",
    "R": "axial skeleton, except skull and facial bones",
    "T": "urinary system",
    "U": "female reproductive system",
    "V": "male reproductive system",
    "W": "anatomical regions",
    "Y": "fetus and obstetrical",
}

BODY_SYSTEMS: Mapping[str, Mapping[str, str]] = {
    "0": {
        "0": "central nervous system and cranial nerves",
        "1": "peripheral nervous system",
        "2": "heart and great vessels",
        "3": "upper arteries",
        "4": "lower arteries",
        "5": "upper veins",
        "6": "lower veins",
        "7": "lymphatic and hemic systems",
        "8": "eye",
        "9": "ear, nose, sinus",
        "B": "respiratory system",
        "C": "mouth and throat",
        "D": "gastrointestinal system",
        "F": "hepatobiliary system and pancreas",
        "G": "endocrine system",
        "H": "skin and breast",
        "J": "subcutaneous tissue and fascia",
        "K": "muscles",
        "L": "tendons",
        "M": "bursae and ligaments",
        "N": "head and facial bones",
        "P": "upper bones",
        "Q": "lower bones",
        "R": "upper joints",
        "S": "lower joints",
        "T": "urinary system",
        "U": "female reproductive system",
        "V": "male reproductive system",
        "W": "anatomical regions, general",
        "X": "anatomical regions, upper extremities",
        "Y": "anatomical regions, lower extremities",
    },
    "1": {"0": "pregnancy"},
    "2": _REGIONS,
    "3": _DEVICES,
    "4": _PHYSIOLOGICAL,
    "5": _PHYSIOLOGICAL,
    "6": _PHYSIOLOGICAL,
    "7": _REGIONS,
    "8": _DEVICES,
    "9": _REGIONS,
    "B": {**_ORGANS, "7": "lymphatic system", "P": "non-axial upper bones"},
    "C": _ORGANS,
    "D": {**_ORGANS, "0": "central and peripheral nervous system", "H": "skin"},
    "F": {"0": "rehabilitation", "1": "diagnostic audiology"},
    "X": {
        "0": "nervous system",
        "2": "cardiovascular system",
        "D": "gastrointestinal system",
        "F": "hepatobiliary system and pancreas",
        "H": "skin, subcutaneous tissue, fascia and breast",
        "K": "muscles, tendons, bursae and ligaments",
        "N": "bones",
        "R": "joints",
        "T": "urinary system",
        "V": "male reproductive system",
        "W": "anatomical regions",
        "X": "physiological systems",
        "Y": "extracorporeal",
    },
}

_SURGICAL = dict(
    zip(
        "0123456789BCDFGHJKLMNPQRSTUVWXY",
        (
            "Alteration",
            "Bypass",
            "Change",
            "Control",
            "Creation",
            "Destruction",
            "Detachment",
            "Dilation",
            "Division",
            "Drainage",
            "Excision",
            "Extirpation",
            "Extraction",
            "Fragmentation",
            "Fusion",
            "Insertion",
            "Inspection",
            "Map",
            "Occlusion",
            "Reattachment",
            "Release",
            "Removal",
            "Repair",
            "Replacement",
            "Reposition",
            "Resection",
            "Supplement",
            "Restriction",
            "Revision",
            "Transfer",
            "Transplantation",
        ),
        strict=True,
    )
)

ROOT_OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "0": _SURGICAL,
    "1": {**_SURGICAL, "A": "Abortion", "E": "Delivery"},
    "2": dict(
        zip(
            "0123456",
            ("Change", "Compression", "Dressing", "Immobilization", "Packing", "Removal", "Traction"),
            strict=True,
        )
    ),
    "3": {"0": "Introduction", "1": "Irrigation", "2": "Transfusion"},
    "4": {"0": "Measurement", "1": "Monitoring"},
    "5": {"0": "Assistance", "1": "Performance", "2": "Restoration"},
    "6": dict(
        zip(
            "0123456789B",
            (
                "Atmospheric control",
                "Decompression",
                "Electromagnetic therapy",
                "Hyperthermia",
                "Hypothermia",
                "Pheresis",
                "Phototherapy",
                "Ultrasound therapy",
                "Ultraviolet light therapy",
                "Shock wave therapy",
                "Perfusion",
            ),
            strict=True,
        )
    ),
    "7": {"0": "Osteopathic treatment"},
    "8": {"0": "Other procedures"},
    "9": {"B": "Chiropractic manipulation"},
    "B": dict(
        zip(
            "012345",
            (
                "Plain radiography",
                "Fluoroscopy",
                "Computerized tomography",
                "Magnetic resonance imaging",
                "Ultrasonography",
                "Other imaging",
            ),
            strict=True,
        )
    ),
    "C": dict(
        zip(
            "1234567",
            (
                "Planar nuclear medicine imaging",
                "Tomographic nuclear medicine imaging",
                "Positron emission tomography",
                "Nonimaging nuclear medicine uptake",
                "Nonimaging nuclear medicine probe",
                "Nonimaging nuclear medicine assay",
                "Systemic nuclear medicine therapy",
            ),
            strict=True,
        )
    ),
    "D": {
        "0": "Beam radiation",
        "1": "Brachytherapy",
        "2": "Stereotactic radiosurgery",
        "Y": "Other radiation",
    },
    "F": dict(
        zip(
            "0123456789BCDF",
            (
                "Speech assessment",
                "Motor and nerve function assessment",
                "Activities of daily living assessment",
                "Hearing assessment",
                "Hearing aid assessment",
                "Vestibular assessment",
                "Speech treatment",
                "Motor treatment",
                "Activities of daily living treatment",
                "Hearing treatment",
                "Cochlear implant treatment",
                "Vestibular treatment",
                "Device fitting",
                "Caregiver training",
            ),
            strict=True,
        )
    ),
    "G": dict(
        zip(
            "123567BCFGHJ",
            (
                "Psychological tests",
                "Crisis intervention",
                "Medication management",
                "Individual psychotherapy",
                "Counseling",
                "Family psychotherapy",
                "Electroconvulsive therapy",
                "Biofeedback",
                "Hypnosis",
                "Narcosynthesis",
                "Group psychotherapy",
                "Light therapy",
            ),
            strict=True,
        )
    ),
    "H": dict(
        zip(
            "2345689",
            (
                "Detoxification services",
                "Individual counseling",
                "Group counseling",
                "Individual psychotherapy",
                "Family counseling",
                "Medication management",
                "Pharmacotherapy",
            ),
            strict=True,
        )
    ),
    "X": {
        **_SURGICAL,
        "0": "Introduction",
        "1": "Transfusion",
        "2": "Monitoring",
        "A": "Assistance",
        "E": "Measurement",
        "K": "Bypass",
        "P": "Irrigation",
        "Z": "Other procedures",
    },
}


def axis_title(bare: str) -> str | None:
    """The title of a heading of one, two or three characters; of a longer text there is none.

    `02H` is "Insertion: heart and great vessels", `02` "Medical and surgical: heart and great vessels".
    """
    section = SECTIONS.get(bare[:1])
    if section is None or len(bare) > 3:
        return None
    where = BODY_SYSTEMS.get(bare[0], {}).get(bare[1:2])
    what = ROOT_OPERATIONS.get(bare[0], {}).get(bare[2:3])
    if bare[0] in "GH" and what:  # these two sections know no body systems
        return f"{what} ({section.lower()})"
    if len(bare) == 1:
        return section
    return f"{what if len(bare) == 3 else section}: {where}" if where and (what or len(bare) == 2) else None
