"""Stays to show: by the stated rule, the same every time, none with rare or delicate codes."""

from __future__ import annotations

import numpy as np

from dx2px.codes import chapter
from dx2px.cohort import Cohort, Ragged
from dx2px.report.breakdown import Ranking, rank_stays
from dx2px.report.examples import choose_stays

COMMON = ["icd9cm:25000", "icd9cm:41401", "icd9cm:4280", "icd9cm:486", "icd9cm:5856", "icd9cm:71536"]
RARE, DELICATE = "icd9cm:0010", "icd9cm:29633"
PROCEDURES = [f"icd9pcs:{code}" for code in ("3722", "3995", "8154", "8744", "9671", "9904")]


def ranked(stays: int = 300, seed: int = 0) -> tuple[Ranking, tuple[list[int], list[int]]]:
    """Stays of 1 to 6 common diagnoses, some with a rare or a delicate one more, scored at random."""
    rng = np.random.default_rng(seed)
    diagnoses = [rng.choice(COMMON, rng.integers(1, 7), replace=False).tolist() for _ in range(stays)]
    for row in range(0, stays, 7):
        diagnoses[row].append(RARE if row % 2 else DELICATE)
    procedures = [rng.choice(PROCEDURES, rng.integers(1, 4), replace=False).tolist() for _ in range(stays)]
    cohort = Cohort.from_lists(diagnoses, procedures)
    table = rng.standard_normal((len(cohort.diagnosis_vocabulary), len(PROCEDURES)))

    def scores(rows: Ragged) -> np.ndarray:
        return np.stack([table[rows[row]].sum(axis=0) for row in range(len(rows))])

    counts = [10 if code == RARE else 11 for code in cohort.diagnosis_vocabulary]
    return rank_stays(scores, cohort.diagnoses, cohort), (counts, [11] * len(cohort.procedure_vocabulary))


def quality(ranking: Ranking, row: int) -> float:
    offsets = ranking.stays.procedures.offsets
    return float(np.mean(1 / ranking.places[offsets[row] : offsets[row + 1]]))


def test_they_run_from_the_worst_to_the_best() -> None:
    ranking, counts = ranked()
    chosen = choose_stays(ranking, counts, lambda code: code[:3], 10)  # one chapter: nothing moves a choice
    values = [quality(ranking, row) for row in chosen]
    fitting = sorted(
        quality(ranking, row)
        for row in range(len(ranking.stays))
        if 3 <= len(codes := ranking.stays.diagnoses_of(row)) <= 8 and not {RARE, DELICATE} & {*codes}
    )
    assert values == sorted(values)
    assert len(set(chosen)) == 10
    n = len(fitting)
    assert values == [fitting[int((place + 0.5) / 10 * n)] for place in range(10)]


def test_rare_and_delicate_codes_and_long_lists_stay_out() -> None:
    ranking, counts = ranked()
    chosen = choose_stays(ranking, counts, chapter, 100)
    codes = [set(ranking.stays.diagnoses_of(row)) for row in chosen]
    assert len(chosen) == 100
    assert all(3 <= len(one) <= 8 for one in codes)
    assert not any({RARE, DELICATE} & one for one in codes)


def test_chapters_are_not_shown_twice_while_others_are_near() -> None:
    ranking, counts = ranked()
    chosen = choose_stays(ranking, counts, chapter, 5)
    first = {chapter(ranking.stays.diagnoses_of(row)[0]) for row in chosen}
    assert len(first) == 5  # of six chapters


def test_the_same_every_time_and_none_when_none_are_asked_for() -> None:
    ranking, counts = ranked()
    assert choose_stays(ranking, counts, chapter, 10) == choose_stays(ranking, counts, chapter, 10)
    assert choose_stays(ranking, counts, chapter, 0) == []


def test_fewer_where_fewer_fit() -> None:
    ranking, counts = ranked(30)
    assert 0 < len(choose_stays(ranking, counts, chapter, 100)) < 30
    assert choose_stays(ranking, ([0] * len(counts[0]), counts[1]), chapter, 10) == []
