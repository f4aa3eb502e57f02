"""What a training step is told: nothing invented, something always left to find, everything withheld at times."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.errors import InputError
from dx2px.methods.coupling.withholding import Withholding
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import Known

STAYS = 4000
LAYOUT = EvidenceLayout(20, 90, principal=True, admissions=("elective",))


@pytest.fixture(scope="module")
def stays() -> tuple[Ragged, Ragged, Known]:
    rng = np.random.default_rng(0)
    procedures = Ragged.from_lists(rng.permutation(90)[: 1 + n % 5] for n in range(STAYS))
    diagnoses = Ragged(offsets_of(np.ones(STAYS, np.int64)), rng.integers(0, 20, STAYS))
    return (
        diagnoses,
        procedures,
        Known(np.tile(np.int32([3, 5, 1, 0]), (STAYS, 1)), Known.nothing(STAYS).coded),
    )


def test_shown_and_left_are_all_procedures_and_one_is_always_left(
    stays: tuple[Ragged, Ragged, Known],
) -> None:
    rows, left = Withholding(0.0, 0.0, 1.0).draw(LAYOUT, *stays, np.random.default_rng(1))
    stay, shown = LAYOUT.coded_in(rows)
    assert left.lengths.min() == 1
    both = left.indicator(90)
    assert not both[stay, shown].any()
    both[stay, shown] = True
    assert np.array_equal(both, stays[1].indicator(90))
    assert len(shown) > STAYS / 2


def test_stays_alone_show_their_diagnoses_alone(stays: tuple[Ragged, Ragged, Known]) -> None:
    rows, left = Withholding(1.0, 0.0, 1.0).draw(LAYOUT, *stays, np.random.default_rng(1))
    assert rows == LAYOUT.rows(stays[0])
    assert left == stays[1]


def test_shares_are_those_asked_for(stays: tuple[Ragged, Ragged, Known]) -> None:
    rows, _ = Withholding(0.25, 0.2, 0.0).draw(LAYOUT, *stays, np.random.default_rng(1))
    with_principal = np.count_nonzero((rows.values >= 20) & (rows.values < 40)) / STAYS
    assert with_principal == pytest.approx(0.75 * 0.8, abs=0.03)
    assert np.mean(rows.lengths == 2) == pytest.approx(0.25 + 0.75 * 0.2**4, abs=0.03)


def test_a_share_out_of_range_is_refused() -> None:
    with pytest.raises(InputError):
        Withholding(alone=1.5)
