"""The codes of a synthetic cohort: the curated core, then further codes spread over the organ systems.

The choice depends only on the sizes, never on the seed. After the core come codes of everyday practice, then the
dictionary. Codes that a chart seldom has or that need a particular patient are left out: "other" and "unspecified"
codes, external causes, V codes, tropical infections, eyes, ears, teeth, burns, late effects, diseases and operations of
one sex (except delivery and circumcision) and of children, and procedures that no acute diagnosis calls for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import System, dictionary
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.lab.synthetic import practice
from dx2px.lab.synthetic.core import DELIVERY, NEWBORN, CoreDiagnosis, core_diagnoses, core_procedures
from dx2px.lab.synthetic.sense import ROUTINE, Usual, fits, kinds, named

REALMS = ("adult", DELIVERY, NEWBORN)  # a stay's diagnoses are of one realm

Themes = Mapping[str, tuple[float, tuple[tuple[int, int], ...]]]

# theme: share of the codes beyond the core, categories (first and last)
DIAGNOSIS_THEMES: Themes = {
    "circulation": (0.16, ((390, 429), (440, 459))),
    "lungs": (0.09, ((464, 466), (480, 519))),
    "infection": (0.08, ((8, 8), (34, 42), (53, 54), (70, 70), (79, 79), (112, 118), (680, 686), (694, 709))),
    "kidneys": (0.06, ((580, 599),)),
    "digestion": (0.13, ((530, 579),)),
    "metabolism": (0.08, ((240, 279),)),
    "nerves": (0.10, ((320, 359), (430, 438))),
    "blood": (0.11, ((140, 173), (188, 209), (225, 225), (235, 239), (280, 289))),
    "bones": (0.07, ((710, 739),)),
    "injury": (0.14, ((800, 829), (850, 897), (900, 904), (925, 929), (950, 979), (990, 999))),
    "mind": (0.04, ((290, 300), (303, 305), (308, 311))),
    DELIVERY: (0.05, ((640, 676),)),
    NEWBORN: (0.04, ((740, 779),)),
}
PROCEDURE_THEMES: Themes = {
    "circulation": (0.20, ((35, 39),)),
    "lungs": (0.10, ((30, 34),)),
    "kidneys": (0.07, ((55, 59),)),
    "digestion": (0.21, ((42, 54),)),
    "metabolism": (0.02, ((6, 7),)),
    "nerves": (0.08, ((1, 5),)),
    "blood": (0.03, ((40, 41),)),
    "bones": (0.15, ((76, 84),)),
    "infection": (0.06, ((86, 86),)),
    DELIVERY: (0.03, ((72, 75),)),
    "anywhere": (0.16, ((0, 0), (17, 17), (87, 99))),
}

_RESTS = re.compile(
    r"\b(other|unspecified|unknown|without mention|not (elsewhere|otherwise|specified|stated|applicable)|late"
    r"|screening|remission|tuberculosis|tuberculous|prostate|breast|nipple|mastectomy|male|female|uterus|ovary"
    r"|ovarian|uterine|vulva|vagina|antepartum|penis|scrotum|testicular|testis|postpartum"
    r"|subsequent episode|infantile|juvenile|childhood|adolescent|normal delivery)\b",
    re.IGNORECASE,
)
_MATERNAL = re.compile(r"with or without mention of antepartum condition", re.IGNORECASE)
_LASTING = re.compile(
    r"\b(chronic|status|congenital|old|history|senile|hereditary|familial)\b", re.IGNORECASE
)
_SUDDEN = re.compile(r"\b(acute|fracture|injury|hemorrhage|rupture|obstruction|infarction)\b", re.IGNORECASE)
_MOSTLY_LASTING = frozenset({"metabolism", "mind", "nerves", "blood", "bones"})


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The chosen codes in vocabulary order, with what the planted relation needs to know about them."""

    diagnoses: Vocabulary
    procedures: Vocabulary
    fits: NDArray[np.float64]  # (D, P) how well a procedure fits a diagnosis; 0: not at all
    usual: Usual
    kind: NDArray[np.int64]  # (D,) codes of one kind exclude each other; −1: of none
    routine: NDArray[np.bool_]  # (P,) whether the procedure needs no reason among the diagnoses
    diagnosis_theme: NDArray[np.str_]  # (D,)
    realm: NDArray[np.int64]  # (D,) place in REALMS
    acute: NDArray[np.bool_]  # (D,) whether the diagnosis calls for procedures
    diagnosis_order: NDArray[np.int64]  # (D,) indices: the core from common to rare, then the rest
    procedure_order: NDArray[np.int64]  # (P,)


@cache
def lexicon(diagnoses: int, procedures: int) -> Lexicon:
    """Choose that many codes of each kind."""
    curated = _curated_diagnoses()
    dx = _choose([d.code for d in core_diagnoses()], _diagnoses_by_theme(), DIAGNOSIS_THEMES, diagnoses)
    known = [curated[code] if code in curated else _judge(code) for code in sorted(dx)]
    acute = np.array([d.acute for d in known])
    possible = _procedures_by_theme()
    every = sorted(chain(core_procedures(), *possible.values()))
    fitting = dict(zip(every, fits(sorted(dx), every, acute).T, strict=True))
    called_for = {
        theme: [code for code in codes if fitting[code][acute].any()] for theme, codes in possible.items()
    }
    px = _choose(list(core_procedures()), called_for, PROCEDURE_THEMES, procedures)
    return Lexicon(
        diagnoses=Vocabulary(f"{System.ICD9CM}:{code}" for code in sorted(dx)),
        procedures=Vocabulary(f"{System.ICD9PCS}:{code}" for code in sorted(px)),
        fits=np.stack([fitting[code] for code in sorted(px)], axis=1),
        usual=Usual.of(sorted(dx)),
        kind=kinds(sorted(dx)),
        routine=named(ROUTINE, sorted(px)),
        diagnosis_theme=np.array([d.theme for d in known]),
        realm=np.array([_realm(d.theme) for d in known]),
        acute=acute,
        diagnosis_order=np.searchsorted(np.array(sorted(dx)), np.array(dx)),
        procedure_order=np.searchsorted(np.array(sorted(px)), np.array(px)),
    )


def realm_of(code: str) -> int:
    """The realm of a diagnosis without system, as its place in `REALMS`."""
    curated = _curated_diagnoses()
    return _realm(curated[code].theme if code in curated else _theme(code[:3], DIAGNOSIS_THEMES))


def _realm(theme: str) -> int:
    return REALMS.index(theme) if theme in REALMS else 0


@cache
def _curated_diagnoses() -> dict[str, CoreDiagnosis]:
    """The core and the codes of everyday practice."""
    common = (
        CoreDiagnosis(entry.rstrip("-"), theme, acute=not entry.endswith("-"))
        for theme, entries in practice.DIAGNOSES.items()
        for entry in entries.split()
    )
    return {diagnosis.code: diagnosis for diagnosis in chain(core_diagnoses(), common)}


def _judge(code: str) -> CoreDiagnosis:
    """Theme of a diagnosis that is not curated and whether it is acute, from its category and title."""
    theme, title = _theme(code[:3], DIAGNOSIS_THEMES), dictionary(System.ICD9CM)[code]
    lasting = _LASTING.search(title) is not None or theme in _MOSTLY_LASTING
    return CoreDiagnosis(code, theme, acute=_SUDDEN.search(title) is not None or not lasting)


def _theme(heading: str, themes: Themes) -> str:
    """The theme of a category; empty if it has none."""
    if not heading.isdigit():
        return ""
    for theme, (_, ranges) in themes.items():
        if any(first <= int(heading) <= last for first, last in ranges):
            return theme
    return ""


def _diagnoses_by_theme() -> dict[str, list[str]]:
    """Diagnoses beyond the core, in the order in which to take them."""
    curated = _curated_diagnoses()
    rest = _from_dictionary(System.ICD9CM, DIAGNOSIS_THEMES, 3, curated.keys())
    core = {d.code for d in core_diagnoses()}
    common = {theme: [c for c, d in curated.items() if d.theme == theme and c not in core] for theme in rest}
    return {theme: common[theme] + rest[theme] for theme in rest}


def _procedures_by_theme() -> dict[str, list[str]]:
    """Procedures beyond the core, in the order in which to take them."""
    common = practice.PROCEDURES.split()
    rest = _from_dictionary(System.ICD9PCS, PROCEDURE_THEMES, 2, {*core_procedures(), *common})
    return {
        theme: [c for c in common if _theme(c[:2], PROCEDURE_THEMES) == theme] + rest[theme] for theme in rest
    }


def _from_dictionary(system: System, themes: Themes, width: int, taken: Set[str]) -> dict[str, list[str]]:
    """Usable codes by theme: one of each category, then a second of each, …

    Short titles come first, within a category and within a round: common things have short names.
    """
    titles = dictionary(system)
    categories: dict[str, dict[str, list[str]]] = {theme: {} for theme in themes}
    for code, title in titles.items():
        theme = _theme(code[:width], themes)
        if theme and code not in taken and not _RESTS.search(_MATERNAL.sub("", title)):
            categories[theme].setdefault(code[:width], []).append(code)
    ranked: dict[str, list[tuple[int, int, str]]] = {theme: [] for theme in themes}
    for theme, members in categories.items():
        for codes in members.values():
            by_length = sorted((len(titles[code]), code) for code in codes)
            ranked[theme] += [(number, length, code) for number, (length, code) in enumerate(by_length)]
    return {theme: [code for *_, code in sorted(rows)] for theme, rows in ranked.items()}


def _choose(core: list[str], more: Mapping[str, list[str]], themes: Themes, wanted: int) -> list[str]:
    """The core, then the first codes of every theme, in proportion to its share as long as it has codes."""
    # Code number j of a theme is at (j + ½) / share on a common scale; the smallest are taken.
    places = [
        ((number + 0.5) / themes[theme][0], code)
        for theme, codes in more.items()
        for number, code in enumerate(codes)
    ]
    chosen = (core + [code for _, code in sorted(places)])[:wanted]
    assert len(chosen) == wanted, "the dictionary has fewer usable codes than the largest configuration"
    return chosen
