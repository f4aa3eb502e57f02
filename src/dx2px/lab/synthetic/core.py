"""The curated core of every synthetic cohort: common hospital codes and clinically obvious links, from `data/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

DELIVERY, NEWBORN = "delivery", "newborn"


class CoreDiagnosis(NamedTuple):
    """A curated diagnosis: the theme it belongs to, and whether it calls for procedures."""

    code: str
    theme: str
    acute: bool


class CoreLink(NamedTuple):
    """A curated link. Weights only compare the diagnoses that share a procedure."""

    diagnosis: str
    procedure: str
    weight: float


@cache
def core_diagnoses() -> tuple[CoreDiagnosis, ...]:
    """Curated diagnoses, from common to rare."""
    rows = rows_of("core_diagnoses")
    return tuple(CoreDiagnosis(code, theme, nature == "acute") for code, theme, nature, _ in rows)


@cache
def core_procedures() -> tuple[str, ...]:
    """Curated procedures, from common to rare."""
    return tuple(code for code, _ in rows_of("core_procedures"))


@cache
def core_links() -> tuple[CoreLink, ...]:
    """Curated links."""
    return tuple(CoreLink(dx, px, float(weight)) for dx, px, weight in rows_of("core_links"))


@cache
def rows_of(table: str) -> list[list[str]]:
    """The rows of `data/<table>.tsv`; comments and the line of column names come before them."""
    text = files("dx2px.lab.synthetic").joinpath("data", f"{table}.tsv").read_text(encoding="utf-8")
    _, *lines = (line for line in text.splitlines() if not line.startswith("#"))
    return [line.split("\t") for line in lines]
