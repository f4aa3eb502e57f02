"""One stay of a cohort as people read it: `for stay in cohort`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dx2px.cohort.cohort import Cohort

BLOCK = 4096  # stays whose texts are taken from the arrays at a time
FACTS = ("principal", "age", "sex", "admission")


@dataclass(frozen=True)
class Stay:
    """A stay with its codes and what else is known of it; None where it is not.

    `facts` is what `Model.recommend` takes besides diagnoses: `model.recommend(stay.diagnoses, **stay.facts)`.
    """

    id: str
    diagnoses: tuple[str, ...]
    procedures: tuple[str, ...]
    patient: str | None = None
    principal: str | None = None
    age: int | None = None
    sex: str | None = None
    admission: str | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Those of principal diagnosis, age, sex and type of admission that are known."""
        return {name: value for name in FACTS if (value := getattr(self, name)) is not None}


def stays_of(cohort: Cohort, start: int = 0) -> Iterator[Stay]:
    """The stays from a row on."""
    for first in range(start, len(cohort), BLOCK):
        yield from _block(cohort, first, min(BLOCK, len(cohort) - first))


def _block(cohort: Cohort, start: int, size: int) -> Iterator[Stay]:
    ids = cohort.stay_ids.slice(start, size).to_pylist()
    nothing = [None] * size
    patients = nothing if cohort.patient_ids is None else cohort.patient_ids.slice(start, size).to_pylist()
    names = () if cohort.context is None else cohort.context.column_names
    context = None if cohort.context is None else cohort.context.slice(start, size)
    facts = [
        context[name].to_pylist() if context is not None and name in names else nothing for name in FACTS
    ]
    for row, (stay, patient, *rest) in enumerate(zip(ids, patients, *facts, strict=True), start):
        yield Stay(stay, cohort.diagnoses_of(row), cohort.procedures_of(row), patient, *rest)
