"""The context of stays as Ibis expressions: age, sex and type of admission, from what the tables of a source hold."""

from __future__ import annotations

from typing import Any

import ibis

from dx2px.cohort.context import CONTEXT, OLDEST
from dx2px.cohort.sources.entries import text

TIME_OR_HYPHEN, DAY = r"[ T].*$|-", r"^[0-9]{8}$"
NUMBER = r"^[0-9]{1,3}([.,][0-9]*)?$"
SEX_WORDS = {"F": ["f", "female", "8532"], "M": ["m", "male", "8507"]}  # the numbers are OMOP concepts


def one_per_stay(rows: Any) -> Any:
    """One row per stay; null where its rows contradict each other. The engines must agree, so none may choose."""
    names = [name for name in rows.columns if name != "stay"]
    ends = {f"{name}_{end}": getattr(rows[name], end)() for name in names for end in ("min", "max")}
    found = rows.group_by("stay").agg(**ends)
    return found.select("stay", **{name: _agreed(found, name) for name in names})


def _agreed(found: Any, name: str) -> Any:
    low, high = found[f"{name}_min"], found[f"{name}_max"]
    return ibis.cases((low == high, low), else_=ibis.null(low.type()))


def unknown(name: str) -> Any:
    """Null, in the type of a context column."""
    return ibis.null(ibis.Schema.from_pyarrow(CONTEXT)[name])


def day_number(column: Any) -> Any:
    """A date, or the date of a point in time, as the number yyyymmdd; null for what is not written year first."""
    day = text(column).re_replace(TIME_OR_HYPHEN, "")
    return ibis.cases((day.re_search(DAY), day.cast("int64")), else_=ibis.null("int64"))


def year_of(column: Any) -> Any:
    """The year of a date."""
    return (day_number(column) / 10_000).floor()


def years_between(birth: Any, admission: Any) -> Any:
    """The whole years from one yyyymmdd to another."""
    return ((admission - birth) / 10_000).floor()


def plausible(years: Any, top: int | None = None) -> Any:
    """An age as int32. An age above `top` is `top`; without one, an age that nobody reaches is null."""
    branches = [(years.between(0, OLDEST if top is None else top), years.cast("int32"))]
    if top is not None:
        branches.append((years > top, ibis.literal(top, "int32")))
    return ibis.cases(*branches, else_=ibis.null("int32"))


def years_written(column: Any) -> Any:
    """The age that a cell shows in years; a fraction is cut off."""
    written = text(column)
    number = written.replace(",", ".").cast("float64")
    years = ibis.cases((written.re_search(NUMBER), number), else_=ibis.null("float64"))
    return plausible(years.floor())


def sex_of(column: Any, words: dict[str, list[str]] = SEX_WORDS) -> Any:
    """`F`, `M` or null, from what the source writes."""
    written = text(column).lower()
    branches = [(written.isin(known), ibis.literal(sex)) for sex, known in words.items() if known]
    return ibis.cases(*branches, else_=ibis.null("string"))
