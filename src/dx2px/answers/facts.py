"""What a question tells about a stay besides its diagnoses, and how a model reads it."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.given import given_codes
from dx2px.answers.lookup import Found, Lookup
from dx2px.answers.results import EvidenceRow
from dx2px.codes import text_only
from dx2px.errors import InputError, ModelError
from dx2px.ragged import Index
from dx2px.scoring.evidence import OLDEST as OLDEST
from dx2px.scoring.evidence import SEX_WORDS, EvidenceLayout
from dx2px.scoring.known import OTHER, UNKNOWN


class Facts(TypedDict, total=False):
    """What may be told about a stay besides its diagnoses. Whatever is missing or None is not known."""

    principal: str | None  # the principal diagnosis; it need not be listed among the diagnoses again
    age: float | None  # in years
    sex: str | None  # F or M
    admission: str | None  # one of the types that the model knows
    coded: Sequence[str] | None  # procedures that are coded already


@dataclass(frozen=True)
class Told:
    """The facts of a question as a model reads them."""

    principal: Found | None = None
    age: int = UNKNOWN  # the band
    sex: int = UNKNOWN
    admission: int = UNKNOWN
    coded: tuple[Found, ...] = ()

    @property
    def principal_code(self) -> str | None:
        """The principal diagnosis, canonical."""
        return None if self.principal is None else self.principal.code

    @property
    def known_codes(self) -> list[int]:
        """The coded procedures that the model knows, each once."""
        return list(dict.fromkeys(found.index for found in self.coded if found.index is not None))

    def numbers(self, codes: Sequence[str], rows: Sequence[int]) -> tuple[int, int, int, int]:
        """Principal diagnosis, age, sex and admission of a stay with these diagnoses, which are rows of its scorer."""
        principal = UNKNOWN
        if self.principal is not None:
            principal = dict(zip(codes, rows, strict=True)).get(self.principal.code, OTHER)
        return principal, self.age, self.sex, self.admission


NOTHING = Told()


def told(facts: Facts, layout: EvidenceLayout | None, diagnoses: Lookup, procedures: Lookup) -> Told:
    """Read the facts of a question for a model with this layout.

    Raises:
        ModelError: Something was told that the model takes no account of.
        InputError: A fact is not what it should be.
        CodeError: A text may mean several codes.
    """
    if strange := sorted(facts.keys() - Facts.__annotations__.keys()):
        raise TypeError(
            f"unexpected keyword argument {strange[0]!r}: a stay's facts are {_listed([*Facts.__annotations__])}"
        )
    given: dict[str, Any] = {name: value for name, value in facts.items() if tells(value)}
    if not given:
        return NOTHING
    if layout is None:
        raise ModelError(
            f"This model answers from diagnoses alone; it takes no {_listed(sorted(given))}. "
            "Train one with --evidence stay."
        )
    if "principal" in given and not layout.principal:
        raise ModelError(
            "This model does not know principal diagnoses: the stays it learned from did not name them."
        )
    principal, age, sex = (given.get(name) for name in ("principal", "age", "sex"))
    admission, coded = given.get("admission"), given.get("coded", ())
    return Told(
        principal=None if principal is None else diagnoses.find(text_only(principal)),
        age=UNKNOWN if age is None else _band(age, layout),
        sex=UNKNOWN if sex is None else _sex(sex),
        admission=UNKNOWN if admission is None else _admission(admission, layout),
        coded=tuple(procedures.find_all(given_codes(coded, "coded procedures"))),
    )


def answer_rows(layout: EvidenceLayout | None, values: Index) -> tuple[NDArray[np.int64], list[int]]:
    """For each row of a stay, the row of its answer that it counts for; and those after the diagnoses.

    The second row of a principal diagnosis counts for the diagnosis.
    """
    if layout is None:
        return np.arange(len(values)), []
    principal, coded, _ = layout.starts
    rows = values.tolist()
    if not any(principal <= row < coded for row in rows):
        return np.arange(len(rows)), [row for row in rows if row >= coded]
    diagnoses = sum(row < principal for row in rows)
    place = [rows.index(row - principal) if principal <= row < coded else UNKNOWN for row in rows]
    place[:diagnoses] = range(diagnoses)
    further = [row for row in rows if row >= coded]
    places = iter(range(diagnoses, diagnoses + len(further)))
    return np.array([next(places) if at == UNKNOWN else at for at in place]), further


def evidence_row(
    layout: EvidenceLayout, row: int, procedures: Lookup, significance: float = 0.0, stays: int | None = None
) -> EvidenceRow:
    """What a row after the diagnoses stands for."""
    _, coded, context = layout.starts
    if row < context:
        found = procedures.at(row - coded)
        return EvidenceRow(found.code, "coded", found.title, significance, stays=stays)
    about = layout.context_rows[row - context]
    return EvidenceRow(about.name, about.kind, about.title, significance, stays=stays)


def tells(value: object) -> bool:
    """Whether a fact is given: None, blanks and empty lists tell nothing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return False
    return not isinstance(value, Sized) or len(value) > 0


def _band(age: Any, layout: EvidenceLayout) -> int:
    if isinstance(age, bool) or not isinstance(age, Real) or not 0 <= float(age) <= OLDEST:
        raise InputError(f"The age must be a number of years from 0 to {OLDEST}.")
    return int(layout.bands(np.array([age]))[0])


def _sex(sex: str) -> int:
    word = SEX_WORDS.get(str(sex).strip().lower())
    if word is None:
        raise InputError("The sex must be F or M; leave it out if it is neither, or not known.")
    return word


def _admission(admission: str, layout: EvidenceLayout) -> int:
    word = str(admission).strip().lower()
    if word not in layout.admissions:
        known = f"it knows {', '.join(layout.admissions)}" if layout.admissions else "it knows none"
        raise InputError(f"The model does not know this type of admission; {known}.")
    return layout.admissions.index(word)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
