"""What an answer says of a family of ICD-10-PCS codes: what is to be completed, and on which side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dx2px.codes import is_family, members, narrowed, open_axes, title

if TYPE_CHECKING:
    from dx2px.answers.results import Diagnosis, Procedure

_LISTED = 10  # codes that an answer names
_LEAST_SHARE = 0.05  # of a diagnosis whose side counts
_SIDE = re.compile(r"\b(right|left)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Family:
    """The codes that a recommended family stands for: one of them is to be coded."""

    complete_by: tuple[str, ...]  # what the codes differ in
    codes: int  # how many there are
    listed: tuple[str, ...]  # the first of them
    side: str | None = None  # the side that the main diagnosis names
    narrowed: str | None = None  # the part of the family on that side

    @classmethod
    def of(cls, code: str, side: str | None = None) -> Family:
        """The family of a canonical text, on a side if its codes have sides."""
        part = narrowed(code, side) if side else None
        codes = members(part or code)
        return cls(open_axes(part or code), len(codes), codes[:_LISTED], side if part else None, part)

    def to_dict(self) -> dict[str, Any]:
        record = {"complete_by": list(self.complete_by), "codes": self.codes, "listed": list(self.listed)}
        return record | ({"side": self.side, "narrowed": self.narrowed} if self.narrowed else {})


def with_family(procedure: Procedure, diagnoses: Sequence[Diagnosis]) -> Procedure:
    """The procedure, with what is to be completed if it is a family."""
    if procedure.status != "known" or not is_family(procedure.code):
        return procedure
    family = Family.of(procedure.code, _side(procedure, diagnoses))
    named = f"{procedure.title}, {family.side}" if family.side else procedure.title
    return replace(procedure, title=named, family=family)


def _side(procedure: Procedure, diagnoses: Sequence[Diagnosis]) -> str | None:
    """The side that the first of a procedure's reasons names, as it was asked, if it names one."""
    asked = {one.code: one.mapped_from or (one.code,) for one in diagnoses}
    for reason in procedure.because:
        if reason.share >= _LEAST_SHARE and reason.code in asked:
            titles = (title(code).text for code in asked[reason.code])
            sides = {side.lower() for text in titles for side in _SIDE.findall(text)}
            if sides:
                return sides.pop() if len(sides) == 1 else None
    return None
