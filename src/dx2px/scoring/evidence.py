"""What is known about a stay besides its diagnoses, as further rows of a model's coupling.

A model with evidence has a row for each diagnosis, and then, in this order,

    principal   a second row for each diagnosis, which a stay has if that diagnosis is its principal one
    coded       a row for each procedure, which a stay has if that procedure is already coded
    context     rows for the background, for a principal diagnosis that is none of the model's, for age and sex, and for
                the type of admission

Every stay has the background row. Whatever else is not known is simply not there. A stay whose age and sex are both
known has one row for the two together.

Axes: i stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.frames import filled
from dx2px.ragged import Ragged, offsets_of, side_by_side
from dx2px.scoring.known import OTHER, UNKNOWN, Known, Numbers
from dx2px.scoring.scorer import Scorer

Evidence = Literal["codes", "stay"]

AGES = (0, 1, 2, 5, 10, 15, 18, 25, 35, 45, 55, 65, 75, 85)  # first year of each band
SEXES = ("F", "M")
SEX_WORDS = {"f": 0, "female": 0, "m": 1, "male": 1}
OLDEST = 130  # years; more is no age, such as the 999 that some files write for one that is missing
_CONTEXT_WORDS = {
    "background": "any stay",
    "principal:other": "another principal diagnosis",
    "sex:F": "female",
    "sex:M": "male",
}
_BACKGROUND, _OTHER_PRINCIPAL, _PEOPLE = 0, 1, 2  # places in the context rows


ContextKind = Literal["background", "principal", "person", "admission"]


@dataclass(frozen=True)
class ContextRow:
    """What a context row stands for: its kind, its name in documents, and its title for people."""

    kind: ContextKind
    name: str
    title: str


def context_title(name: str) -> str:
    """The title of a context row for people: `age 45–54, male` for `age:45–54,sex:M`; other texts stay as they are."""
    if name.startswith("admission:"):
        return f"{name.removeprefix('admission:')} admission"
    return ", ".join(_CONTEXT_WORDS.get(part, part.replace("age:", "age ")) for part in name.split(","))


def _context_row(kind: ContextKind, name: str) -> ContextRow:
    return ContextRow(kind, name, context_title(name))


@dataclass(frozen=True)
class EvidenceLayout:
    """Which rows a model has, and where.

    Attributes:
        diagnoses: Number of diagnoses.
        procedures: Number of procedures.
        principal: Whether there are rows for principal diagnoses.
        admissions: The types of admission that have a row.
        ages: The first year of each age band.
    """

    diagnoses: int
    procedures: int
    principal: bool = False
    admissions: tuple[str, ...] = ()
    ages: tuple[int, ...] = AGES

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Self | None:
        """The layout of a saved model, or None if it takes only diagnoses."""
        if "context_U" not in arrays:
            return None
        ages, admissions = _settings(settings.get("evidence"))
        layout = cls(len(arrays["U"]), len(arrays["V"]), "principal_U" in arrays, admissions, ages)
        if len(arrays["context_U"]) != layout.context:
            raise ModelError("The model's settings and the number of its context rows do not fit together.")
        return layout

    def to_dict(self) -> dict[str, Any]:
        """What a model's settings keep; the rest follows from its arrays."""
        return {"ages": list(self.ages), "admissions": list(self.admissions)}

    @cached_property
    def starts(self) -> tuple[int, int, int]:
        """Where the rows of principal diagnoses, coded procedures and context begin."""
        coded = self.diagnoses * (2 if self.principal else 1)
        return self.diagnoses, coded, coded + self.procedures

    @cached_property
    def context(self) -> int:
        """Number of context rows."""
        return _PEOPLE + (len(self.ages) + 1) * (len(SEXES) + 1) - 1 + len(self.admissions)

    @property
    def size(self) -> int:
        """Number of all rows."""
        return self.starts[2] + self.context

    @property
    def background(self) -> int:
        """The row that every stay has."""
        return self.starts[2] + _BACKGROUND

    def bands(self, ages: NDArray[Any]) -> Numbers:
        """The band of each age in years; `UNKNOWN` for what is no age."""
        bands = np.searchsorted(self.ages, ages, side="right") - 1  # of a negative age: UNKNOWN
        return np.where(ages > OLDEST, UNKNOWN, bands).astype(np.int32)

    @cached_property
    def context_rows(self) -> tuple[ContextRow, ...]:
        """What each context row stands for."""
        spans = [str(a) if b - a == 1 else f"{a}–{b - 1}" for a, b in pairwise(self.ages)]
        ages = ["", *(f"age:{span}" for span in (*spans, f"{self.ages[-1]}+"))]
        sexes = ["", *(f"sex:{sex}" for sex in SEXES)]
        people = [",".join(filter(None, (age, sex))) for age in ages for sex in sexes][1:]
        return (
            _context_row("background", "background"),
            _context_row("principal", "principal:other"),
            *(_context_row("person", name) for name in people),
            *(_context_row("admission", f"admission:{name}") for name in self.admissions),
        )

    def known_from(
        self, stays: int, columns: Mapping[str, pa.ChunkedArray | pa.Array], find: Callable[[str], int | None]
    ) -> Known:
        """What columns say about stays: `principal`, `age`, `sex`, `admission`, each if it is there.

        `find` gives the row of a diagnosis, or None.
        """
        admissions = {name: place for place, name in enumerate(self.admissions)}
        finders: dict[str, Callable[[str], int | None]] = {
            "sex": lambda text: SEX_WORDS.get(text.strip().lower()),
            "admission": lambda text: admissions.get(text.strip().lower()),
        }
        found = {name: _numbered(columns[name], finders[name]) for name in finders if name in columns}
        if self.principal and "principal" in columns:
            found["principal"] = _numbered(columns["principal"], find, missing=OTHER)
        if "age" in columns:
            found["age"] = self.bands(filled(columns["age"].cast(pa.int64()), UNKNOWN))
        return Known.of(found, stays)

    def rows(self, diagnoses: Ragged, known: Known | None = None) -> Ragged:
        """The rows of each stay: its diagnoses, whatever else is known, and the background."""
        parts: list[tuple[NDArray[Any], NDArray[Any]]] = [(diagnoses.row_of_entry, diagnoses.values)]
        if known is not None:
            principal, coded, context = self.starts
            first, age, sex, admission = known.facts.T
            if self.principal:
                parts.append(_present(first, principal))
                parts.append(_present(np.where(first == OTHER, _OTHER_PRINCIPAL, UNKNOWN), context))
            parts.append((known.coded.row_of_entry, known.coded.values + coded))
            parts.append(_present(_person(age, sex) - 1, context + _PEOPLE))
            parts.append(_present(admission, self.size - len(self.admissions)))
        every = np.arange(len(diagnoses))
        parts.append((every, np.full(len(every), self.background)))
        stay, row = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(stay, kind="stable")
        return Ragged(offsets_of(np.bincount(stay, minlength=len(every))), row[order])

    def rows_of_stay(
        self, diagnoses: Sequence[int], facts: tuple[int, int, int, int], coded: Sequence[int]
    ) -> list[int]:
        """What `rows` gives, for a single stay: its principal diagnosis, age band, sex and admission are numbers."""
        start, coded_start, context = self.starts
        principal, age, sex, admission = facts
        found = [*diagnoses]
        if self.principal and principal >= 0:
            found.append(start + principal)
        if self.principal and principal == OTHER:
            found.append(context + _OTHER_PRINCIPAL)
        found += [coded_start + one for one in coded]
        if person := _person(age, sex):
            found.append(context + _PEOPLE + person - 1)
        if admission >= 0:
            found.append(self.size - len(self.admissions) + admission)
        return [*found, self.background]

    def with_coded(self, rows: Ragged, coded: Ragged) -> Ragged:
        """The rows of each stay, and after them those of the procedures that are coded already."""
        return side_by_side(rows, Ragged(coded.offsets, coded.values + self.starts[1]))

    def coded_in(self, rows: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which procedures are coded already in which of these stays: places of stays, and procedures."""
        _, coded, context = self.starts
        mine = ((rows.values >= coded) & (rows.values < context)).nonzero()[0]
        if not len(mine):
            return mine, mine
        stay = np.searchsorted(rows.offsets, mine, side="right") - 1
        return stay, rows.values[mine].astype(np.int64) - coded


def layout_of(scorer: Scorer) -> EvidenceLayout | None:
    """The rows that a scorer takes, or None if it takes only diagnoses: then it has no `layout`, or None as such."""
    layout: EvidenceLayout | None = getattr(scorer, "layout", None)
    return layout


def _person(age: Any, sex: Any) -> Any:
    """The place among the rows of persons, from 1; 0 if neither age nor sex is known."""
    return (age + 1) * (len(SEXES) + 1) + sex + 1


def _settings(found: Any) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ages and admissions, as `EvidenceLayout.to_dict` wrote them."""
    lists = (
        [found.get(name) for name in ("ages", "admissions")] if isinstance(found, Mapping) else [None, None]
    )
    ages, admissions = lists
    if not _all(ages, int) or not ages or ages[0] != 0 or any(a >= b for a, b in pairwise(ages)):
        raise ModelError("The model's settings do not say which age bands it has.")
    if admissions is None or not _all(admissions, str) or len(set(admissions)) != len(admissions):
        raise ModelError("The model's settings do not say which types of admission it has.")
    return tuple(ages), tuple(admissions)


def _all(values: Any, kind: type) -> bool:
    return isinstance(values, Sequence) and all(type(value) is kind for value in values)


def _numbered(
    column: pa.ChunkedArray | pa.Array, find: Callable[[str], int | None], missing: int = UNKNOWN
) -> Numbers:
    """The number of each text of a column: `missing` for one that is not found, `UNKNOWN` for null."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = whole.cast(pa.string()).dictionary_encode()
    numbers = [missing if (found := find(text)) is None else found for text in coded.dictionary.to_pylist()]
    place = filled(coded.indices, len(numbers))
    found_numbers: Numbers = np.array([*numbers, UNKNOWN], np.int32)[place]
    return found_numbers


def _present(numbers: NDArray[Any], start: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The stays that have a number, and its row."""
    stay = np.flatnonzero(numbers >= 0)
    return stay, numbers[stay] + start
