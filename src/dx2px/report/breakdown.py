"""Where a model does well and where it does not: by chapter of the first diagnosis, by chapter and frequency of the
procedure, and which procedures it confuses.

One pass over the stays keeps each stay's top ten and the place of each coded procedure; all tables follow from these.
Groups of fewer than `SMALLEST` stays or entries are left out, and one more if its size would follow from the others.

Axes: i stays, e coded procedures of all stays in one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import AT, Metrics, Scores, evaluate_ranking
from dx2px.scoring.ranking import places, top_l
from dx2px.scoring.subgroups import SMALLEST, published

BATCH = 512
BANDS = (SMALLEST, 50, 200, 1000, 5000)  # training stays with a procedure, where each band begins
HALF_WIDTH = 1.645  # standard errors in half of a 90 % interval


@dataclass(frozen=True, eq=False)
class Ranking:
    """How a model ranked the procedures of stays."""

    stays: Cohort
    best: NDArray[np.int32]  # (i, 10) best first
    places: NDArray[np.int32]  # (e,) of the coded procedures, 1 is the first

    def metrics(self, at: Sequence[int] = AT) -> Metrics:
        """The numbers of the paper's Table 1."""
        return evaluate_ranking(self.best, self.stays.procedures, at)


@dataclass(frozen=True)
class Group:
    """Stays, or coded procedures, of one group; `value` and half of its 90 % interval are per cent."""

    name: str
    size: int
    value: float
    margin: float


@dataclass(frozen=True)
class Breakdown:
    """The groups of one table; `left_out` stays or entries are in groups too small to show."""

    groups: tuple[Group, ...]
    left_out: int


@dataclass(frozen=True)
class Confusion:
    """Stays in which `instead`, not coded, was ranked first; `coded` is the best-ranked of their coded procedures."""

    instead: str
    coded: str
    stays: int
    share: float  # of all stays whose first place was wrong


def rank_stays(scores: Scores, rows: Ragged, stays: Cohort) -> Ranking:
    """Score the rows of stays block by block; of equal scores the earlier code ranks first, as everywhere."""
    best, ranks = [], []
    for block, coded in zip(rows.blocks(BATCH), stays.procedures.blocks(BATCH), strict=True):
        s = scores(block)
        if np.isnan(s).any():
            raise InputError("The method gave scores that are not numbers, so its ranking means nothing.")
        best.append(top_l(s, min(max(AT), s.shape[1])))
        ranks.append(places(s, coded.row_of_entry, coded.values))
    if not best:
        raise InputError("There are no stays to evaluate.")
    return Ranking(stays, np.concatenate(best), np.concatenate(ranks).astype(np.int32))


def by_first_diagnosis(ranking: Ranking, group_of: Callable[[str], str]) -> Breakdown:
    """F1@5 of the stays, by the group of their first-listed diagnosis."""
    f1 = ranking.metrics((5,)).f1[:, 0]
    first = ranking.stays.diagnoses.values[ranking.stays.diagnoses.offsets[:-1]]
    return _breakdown(_names(ranking.stays.diagnosis_vocabulary, group_of)[first], f1)


def by_procedure(ranking: Ranking, group_of: Callable[[str], str]) -> Breakdown:
    """Share of the coded procedures that are in the top ten, by their group."""
    names = _names(ranking.stays.procedure_vocabulary, group_of)
    return _breakdown(names[ranking.stays.procedures.values], ranking.places <= max(AT))


def by_frequency(ranking: Ranking, counts: Sequence[int]) -> Breakdown:
    """Share of the coded procedures that are in the top ten, by the number of training stays with the procedure."""
    bands = np.searchsorted(BANDS, np.asarray(counts), side="right")[ranking.stays.procedures.values]
    found = _breakdown(bands, ranking.places <= max(AT))
    named = tuple(Group(band_name(int(g.name)), g.size, g.value, g.margin) for g in found.groups)
    return Breakdown(named, found.left_out)


def band_of(count: int) -> str:
    """The band of a number of training stays, in words."""
    return band_name(int(np.searchsorted(BANDS, count, side="right")))


def band_name(band: int) -> str:
    """A band in words; band 0 holds the counts that are too small to show."""
    if band == 0:
        return f"fewer than {SMALLEST}"
    if band == len(BANDS):
        return f"{BANDS[-1]:,} or more"
    return f"{BANDS[band - 1]:,} to {BANDS[band] - 1:,}"


def confusions(ranking: Ranking, most: int = 15) -> list[Confusion]:
    """The pairs that are confused most often, each in at least `SMALLEST` stays."""
    stays, size = ranking.stays, len(ranking.stays.procedure_vocabulary)
    first = ranking.best[:, 0].astype(np.int64)
    lowest = np.minimum.reduceat(ranking.places, stays.procedures.offsets[:-1])  # (i,)
    at_best = (
        ranking.places == lowest[stays.procedures.row_of_entry]
    )  # one entry per stay: places are distinct
    coded = stays.procedures.values[at_best].astype(np.int64)
    wrong = lowest > 1
    keys, counts = np.unique(first[wrong] * size + coded[wrong], return_counts=True)
    order = sorted(range(len(keys)), key=lambda k: (-int(counts[k]), int(keys[k])))
    shown = [k for k in order[:most] if counts[k] >= SMALLEST]
    name = stays.procedure_vocabulary
    return [
        Confusion(
            name[int(keys[k] // size)],
            name[int(keys[k] % size)],
            int(counts[k]),
            float(counts[k] / wrong.sum()),
        )
        for k in shown
    ]


def _names(codes: Iterable[str], group_of: Callable[[str], str]) -> NDArray[np.str_]:
    return np.array([group_of(code) for code in codes])


def _breakdown(labels: NDArray[np.str_] | NDArray[np.int64], values: NDArray[np.generic]) -> Breakdown:
    """Means of the values, in per cent, for the groups that may be shown, in the order of their names."""
    names, numbers, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    shown = published(sizes)
    groups = []
    for g in shown:
        inside = 100 * values[numbers == g].astype(np.float64)
        margin = HALF_WIDTH * inside.std() / np.sqrt(len(inside))
        groups.append(Group(str(names[g]), len(inside), float(inside.mean()), float(margin)))
    return Breakdown(tuple(groups), int(sizes.sum() - sizes[shown].sum()))
