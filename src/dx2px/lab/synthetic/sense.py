"""Medical sense, from tables written by hand: which procedures a diagnosis may call for, and whom it meets.

The tables name codes by their beginnings, so that a few lines cover the whole dictionary (`data/fits.tsv`,
`data/persons.tsv`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.synthetic.core import rows_of
from dx2px.lab.synthetic.urn import Floats, Ints

ADMISSIONS = ("emergency", "urgent", "elective", "newborn")
# A stay has at most one code of each: the rarest, which says most.
ONE_OF = (
    "V30-V34",
    "7651",
    "7652",
    "650 6522 6542 664",
    "651 V27",
    "250",
    "278",
    "401-405",
    "410",
    "820",
)
# Procedures that need no reason among the diagnoses.
ROUTINE = (
    "3891 3893 3897 3898 8703 8741 8744 8749 8801 8838 8872 8876 8897 8937 8952 8954 8960 90 91 9339 9383 9396 "
    "9607 9904 9905 9907 9918 9919 9921 9929 9955"
)


def named(entries: str, codes: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the sorted codes (without system) the entries name: beginnings, or ranges of beginnings."""
    found = np.zeros(len(codes), bool)
    for entry in chain.from_iterable(_digits(one) for one in entries.split()):
        first, _, last = entry.partition("-")
        start, stop = np.searchsorted(np.asarray(codes), [first, (last or first) + "~"])
        found[start:stop] = True
    return found


def fits(diagnoses: Sequence[str], procedures: Sequence[str], acute: NDArray[np.bool_]) -> Floats:
    """In how many rows of the table each diagnosis stands beside each procedure: (D, P).

    Rows of last resort count for the procedures that no other row gives an acute diagnosis.
    """
    counts = {use: np.zeros((len(diagnoses), len(procedures))) for use in ("first", "else")}
    for use, _, dx, px in rows_of("fits"):
        counts[use][np.ix_(named(dx, diagnoses), named(px, procedures))] += 1
    return np.where(counts["first"][acute].any(axis=0), counts["first"], counts["else"])


def kinds(diagnoses: Sequence[str]) -> Ints:
    """For each diagnosis the number of its entry in `ONE_OF`, or −1."""
    kind = np.full(len(diagnoses), -1)
    for number, entries in enumerate(ONE_OF):
        kind[named(entries, diagnoses)] = number
    return kind


@dataclass(frozen=True, eq=False)
class Usual:
    """Whom each diagnosis meets."""

    age: Floats  # (D,) NaN: any
    least: Ints  # (D,) the least age
    admission: Ints  # (D,) place in ADMISSIONS, −1: any

    @classmethod
    def of(cls, diagnoses: Sequence[str]) -> Usual:
        """From the table; the first row that names a code counts."""
        n = len(diagnoses)
        usual = cls(np.full(n, np.nan), np.zeros(n, np.int64), np.full(n, -1))
        for entries, age, least, admission in reversed(rows_of("persons")):
            mine = named(entries, diagnoses)
            usual.age[mine], usual.least[mine] = float(age), int(least)
            usual.admission[mine] = ADMISSIONS.index(admission) if admission != "-" else -1
        return usual


def _digits(entry: str) -> list[str]:
    """The entry with all digits in the places of its points."""
    if "." not in entry:
        return [entry]
    return list(chain.from_iterable(_digits(entry.replace(".", digit, 1)) for digit in "0123456789"))
