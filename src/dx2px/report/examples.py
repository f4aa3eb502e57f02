"""Which stays to show, by a rule that cannot favour the model.

The candidates are measured stays with a readable number of codes, none of them rare. They are sorted by how well their
procedures were ranked (mean of 1/place). Stays evenly spaced from the worst to the best are shown; among neighbours in
that order, one whose first diagnosis is from a chapter not shown yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import System, split
from dx2px.cohort import Cohort, Ragged
from dx2px.report.breakdown import Ranking
from dx2px.scoring.subgroups import SMALLEST

DIAGNOSES, PROCEDURES = (3, 8), (1, 5)  # from … to
RULE = (
    f"Stays with {DIAGNOSES[0]} to {DIAGNOSES[1]} diagnoses and {PROCEDURES[0]} to {PROCEDURES[1]} procedures, all of "
    f"them codes of at least {SMALLEST} training stays and {SMALLEST} measured ones, were sorted by how high their "
    "coded procedures were ranked. Shown are stays evenly spaced from the worst to the best, and among neighbours in "
    "that order one whose first diagnosis is from a chapter not yet shown. Stays with codes of mental disorders, "
    "addiction, HIV, abortion, self-harm or abuse are left out. No stay was picked by hand."
)
# Mental disorders and addiction, HIV, abortion, self-harm, assault and abuse: such stays are never shown.
DELICATE = {
    System.ICD9CM: (
        *(str(n) for n in (*range(290, 320), *range(634, 640))),
        *("042", "07953", "79571", "V08", "9955", "9958", "V154", "V611", "V612", "V628", "E95", "E96"),
    ),
    System.ICD10CM: (
        *(f"X{n}" for n in range(71, 100)),
        *("F", "B20", "B9735", "R75", "Z21", "O987", "O03", "O04", "O07", "O08", "Z332"),
        *("R4585", "T1491", "T74", "T76", "Y0", "Z6281", "Z915"),
    ),
}
NEIGHBOURS = 50  # stays to either side that may be taken to show another chapter


def choose_stays(
    ranking: Ranking,
    counts: tuple[Sequence[int], Sequence[int]],
    chapter_of: Callable[[str], str],
    number: int,
) -> list[int]:
    """Rows of the stays, worst ranked first; fewer than `number` if fewer fit the rule.

    `counts` are the training stays with each diagnosis and with each procedure.
    """
    stays = ranking.stays
    fits = _within(stays.diagnoses, DIAGNOSES) & _within(stays.procedures, PROCEDURES)
    fits &= _common(stays.diagnoses, np.minimum(counts[0], stays.diagnosis_counts))
    fits &= _common(stays.procedures, np.minimum(counts[1], stays.procedure_counts))
    fits &= ~_delicate(stays)
    rows = np.flatnonzero(fits)
    if number < 1 or not len(rows):
        return []
    order = rows[np.argsort(_quality(ranking)[rows], kind="stable")]
    wanted = ((np.arange(min(number, len(order))) + 0.5) / min(number, len(order)) * len(order)).astype(int)
    shown: dict[int, str] = {}
    for place in wanted:
        row = _nearest_new(order, int(place), shown, lambda row: chapter_of(stays.diagnoses_of(row)[0]))
        shown[row] = chapter_of(stays.diagnoses_of(row)[0])
    return list(shown)


def _delicate(stays: Cohort) -> NDArray[np.bool_]:
    """Whether a stay has a diagnosis that should never be shown."""
    parts = [split(code) for code in stays.diagnosis_vocabulary]
    marked = np.array([bare.startswith(DELICATE.get(system, ())) for system, bare in parts], np.bool_)
    held = np.bincount(stays.diagnoses.row_of_entry[marked[stays.diagnoses.values]], minlength=len(stays))
    found: NDArray[np.bool_] = held > 0
    return found


def _nearest_new(
    order: NDArray[np.int64], place: int, shown: dict[int, str], chapter_of: Callable[[int], str]
) -> int:
    """The stay at a place of the order, or a near one from a new chapter; if there is none, any not shown yet."""
    near = sorted(range(len(order)), key=lambda at: (abs(at - place), at))
    free = [int(order[at]) for at in near if int(order[at]) not in shown]
    fresh = [row for row in free[: 2 * NEIGHBOURS] if chapter_of(row) not in shown.values()]
    return (fresh or free)[0]


def _quality(ranking: Ranking) -> NDArray[np.float64]:
    """The mean of 1/place over the coded procedures of each stay."""
    procedures = ranking.stays.procedures
    sums = np.add.reduceat(1 / ranking.places, procedures.offsets[:-1])
    means: NDArray[np.float64] = sums / procedures.lengths
    return means


def _within(rows: Ragged, bounds: tuple[int, int]) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (rows.lengths >= bounds[0]) & (rows.lengths <= bounds[1])
    return inside


def _common(rows: Ragged, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether all codes of a stay are frequent enough."""
    rare = counts[rows.values] < SMALLEST
    common: NDArray[np.bool_] = np.bincount(rows.row_of_entry[rare], minlength=len(rows)) == 0
    return common
