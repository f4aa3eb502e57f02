"""What a reader of an answer should know of single codes: what was probably meant, and whom a code is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dx2px.answers.given import given_codes
from dx2px.codes import persons_of, shown_code, title
from dx2px.scoring.evidence import SEX_WORDS, SEXES

if TYPE_CHECKING:
    from dx2px.answers.facts import Facts
    from dx2px.answers.lookup import Lookup
    from dx2px.answers.model import Model


@dataclass(frozen=True)
class Remark:
    """One sentence about a code of a question."""

    code: str  # as the answer has it
    text: str
    instead: str | None = None  # the code that was probably meant

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.text} | ({"instead": self.instead} if self.instead else {})


def remarks_on(
    model: Model, diagnoses: Sequence[str], procedures: Sequence[str], facts: Facts
) -> tuple[Remark, ...]:
    """Remarks on the codes of a question, as they were typed: its diagnoses, and procedures asked about or coded."""
    from dx2px.answers.facts import tells  # needs the results, which need remarks

    told: dict[str, Any] = {name: value for name, value in facts.items() if tells(value)}
    principal, coded = told.get("principal"), given_codes(told.get("coded", ()), "coded procedures")
    stay = [(one, model.diagnoses) for one in ([principal, *diagnoses] if principal else diagnoses)]
    stay += [(one, model.procedures) for one in coded]
    asked = [(one, model.procedures) for one in procedures]
    return (
        *_meant(model, [*stay, *asked]),
        *_misplaced([lookup.find(one).code for one, lookup in stay], told),
    )


def _meant(model: Model, typed: Sequence[tuple[str, Lookup]]) -> Iterator[Remark]:
    """What was probably meant by codes that the model does not know."""
    from dx2px.answers.advice import advice  # needs the search

    for text, lookup in dict.fromkeys(typed):
        found = lookup.find(text)
        if found.status != "known" and (remark := advice(model, text, lookup.kind)):
            yield replace(remark, code=found.code)


def _misplaced(codes: Sequence[str], told: Mapping[str, Any]) -> Iterator[Remark]:
    """Codes that are for patients of another sex or age than was told."""
    age, number = told.get("age"), SEX_WORDS.get(str(told.get("sex")).strip().lower())
    sex = None if number is None else SEXES[number]
    if age is None and sex is None:
        return
    for code in dict.fromkeys(codes):
        persons = persons_of(code)
        if persons is None or (persons.has_sex(sex) and persons.has_age(age)):
            continue
        wrong = [] if persons.has_sex(sex) else ["sex"]
        wrong += [] if persons.has_age(age) else ["age"]
        check = f"please check {', '.join(['code', *wrong[:-1]])} and {wrong[-1]}"
        yield Remark(code, f"{shown_code(code)} {title(code).text} is a code for {persons.named}: {check}.")
