"""The context in a user's own table: which columns hold it, and what their cells mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dx2px.cohort.engines import Engine
from dx2px.cohort.sources.entries import text, whole_number
from dx2px.cohort.sources.stay_context import SEX_WORDS, one_per_stay, sex_of, unknown, years_written

USUAL_CONTEXT = {
    "age": "age age_years age_in_years age_at_admission admission_age patient_age edad idade",
    "sex": "sex gender patient_sex patient_gender gender_concept_id sexo",
    "admission": "admission_type admission type_of_admission adm_type tipo_ingreso",
}
MORE_SEX_WORDS = {"F": ["mujer", "femenino", "feminino"], "M": ["hombre", "masculino"]}


def stay_context(engine: Engine, table: Any, stay: str, columns: dict[str, str | None]) -> Any | None:
    """Age, sex and type of admission of each stay, from the columns that hold them; None if there are none."""
    given = {role: table[column] for role, column in columns.items() if column}
    if not given:
        return None
    meaning: dict[str, Callable[[Any], Any]] = {
        "age": years_written,
        "sex": lambda column: sex_of(column, _sex_words(engine, column)),
        "admission": text,
    }
    known = {role: meaning[role](given[role]) if role in given else unknown(role) for role in meaning}
    return one_per_stay(table.select(stay=text(table[stay]), **known))


def _sex_words(engine: Engine, column: Any) -> dict[str, list[str]]:
    """What the cells may say. Some signs mean one thing in one table and another in the next: the others there decide.

    1 and 2 are male and female (ISO 5218), but only in a column without 0, since 0 and 1 may be either. The letter m
    is male, but not beside h (hombre, homme).
    """
    written = text(column).lower()
    telling = written.name("sign").as_table()
    telling = telling.filter(telling.sign.isin(["0", "2", "h"])).distinct()
    signs = set(engine.fetch(telling).column("sign").to_pylist())
    words = {sex: [*known, *MORE_SEX_WORDS[sex]] for sex, known in SEX_WORDS.items()}
    if "2" in signs and "0" not in signs:
        words["F"].append("2")
        words["M"].append("1")
    if "h" in signs:
        words["M"].remove("m")
    return words


def first_place(engine: Engine, order: Any) -> int:
    """The number of a stay's first code in an order column: 1, or 0 in a column that counts from 0."""
    return 0 if engine.value(whole_number(order).min()) == 0 else 1
