"""How a model does among foreign stays: what it knows, and the sentence about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dx2px.cohort import Cohort
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.folder import read_folder
from dx2px.scoring.measured import measured_part
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.reliability import Noticed, reliability
from dx2px.scoring.travel import CodeShares, Travel, travelled
from evidence_model import CLOSED, ECHO, HEART, HIP

SIBLING, STRANGER = "icd9cm:4281", "icd9cm:V3000"
WELL = Travel(
    stays=100,
    answered=90,
    diagnoses=CodeShares(200, 0.9, 0.1, 0.0),
    procedures=CodeShares(150, 0.95, 0.05, 0.0),
    f1=30.0,
    popular=20.0,
    useful=True,
    noticed=Noticed(500, 0.5, 0.48),
)


def test_entries_are_known_stood_in_or_lost(evidence_folder: Path) -> None:
    files = read_folder(evidence_folder)
    cohort = Cohort.from_lists([[HEART, SIBLING], [HIP, STRANGER]] * 20, [[ECHO], [CLOSED]] * 20)
    seen = measured_part(files, cohort)
    scorer = files.scorer()
    rows = stay_rows(scorer, seen.stays)
    metrics = evaluate(scorer.scores, rows, seen.stays.procedures)
    assert files.calibration is not None
    trust = reliability(files.calibration, scorer.scores, rows, seen.stays.procedures)
    found = travelled(files, cohort, seen.stays.procedures, metrics, trust)
    assert found.diagnoses == CodeShares(80, 0.5, 0.25, 0.25)
    assert found.procedures == CodeShares(40, 1.0, 0.0, 0.0)
    assert found.f1 == metrics.mean("f1")[5]
    popular = 2 / (4 + 1)  # every stay has one of the model's four procedures, and all four are listed
    np.testing.assert_allclose(found.popular, 100 * popular)
    assert not found.useful
    assert found.to_dict()["verdict"] == found.verdict


def test_the_verdict_says_what_is_wrong_and_what_to_do() -> None:
    assert WELL.verdict == "It ranks usefully here; probabilities of 30 % and more hold."
    high = replace(WELL, noticed=Noticed(500, 0.5, 0.38)).verdict
    assert "are 12 points too high: adapt it" in high
    uneven = replace(WELL, gap=0.2, gap_by_chance=0.05).verdict
    assert "hold on average, but are off by 20 points procedure by procedure: adapt it" in uneven
    assert replace(WELL, gap=0.09, gap_by_chance=0.05).verdict == WELL.verdict
    by_chance = replace(WELL, noticed=Noticed(20, 0.5, 0.38)).verdict
    assert "hold" in by_chance
    lost = replace(WELL, procedures=CodeShares(150, 0.8, 0.1, 0.1)).verdict
    assert "it cannot name 20% of the procedures: adapt it" in lost
    assert "does not rank better" in replace(WELL, useful=False).verdict
