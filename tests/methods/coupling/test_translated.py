"""A model that answers in families of ICD-10-PCS codes as its base does in ICD-9-CM procedures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dx2px import Cohort, CohortError
from dx2px.cohort import Split, Vocabulary
from dx2px.cohort.translation import PcsMap
from dx2px.methods.coupling.translated import translated
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.evidence import Evidence
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.training.run import Trained
from evidence_model import CLOSED, ECHO, OPEN, TRANSFUSION, stays

# Both reductions are one family here; CLIP is a procedure that the base lacks, and whose sibling is the transfusion.
REDUCED, HEART_SCAN, BLOOD, CLIP = "0QS60", "B245ZZ[34Z]", "30233N1", "30233R1"
ALTERNATIVES = {
    OPEN: {"0QS604Z", "0QS605Z"},
    CLOSED: {"0QS604Z", "0QS605Z"},
    ECHO: {"B245ZZ3", "B245ZZ4", "B245ZZZ"},
    TRANSFUSION: {"30233N1"},
    "icd9pcs:9905": {"30233R1"},
}


@pytest.fixture(scope="module")
def maps() -> PcsMap:
    return PcsMap({code.partition(":")[2]: (frozenset(found),) for code, found in ALTERNATIVES.items()})


@pytest.fixture(scope="module")
def base(evidence_folder: Path) -> ModelFiles:
    return read_folder(evidence_folder)


@pytest.fixture(scope="module")
def tenth(maps: PcsMap) -> Cohort:
    """The base's stays in families; the first comes later, with one that the base lacks."""
    own = stays()
    families = {code: (maps.families(code) or ())[0] for code in own.procedure_vocabulary}
    (new,) = maps.families("icd9pcs:9905") or ()
    codes = Vocabulary.sorted([*families.values(), new])
    lists = [
        sorted({codes.index(families[code]) for code in own.procedures_of(row)}) for row in range(len(own))
    ]
    lists[0] = [codes.index(new)]
    ids = [f"late {one}" if one == "1" else one for one in own.stay_ids.to_pylist()]
    return replace(
        own,
        procedures=Ragged.from_lists(lists),
        procedure_vocabulary=codes,
        stay_ids=Cohort.from_lists([["icd9cm:4280"]] * len(ids), [[ECHO]] * len(ids), stay_ids=ids).stay_ids,
    )


@pytest.fixture(scope="module")
def made(base: ModelFiles, tenth: Cohort, maps: PcsMap) -> Trained:
    return translated(base, "elsewhere", stays(), tenth, maps)


def test_beside_coded_procedures_families_move_as_their_procedures(
    made: Trained, base: ModelFiles, maps: PcsMap
) -> None:
    assert made.recommender.arrays().keys() == base.arrays.keys()
    assert "beside_a" in base.arrays, (
        "the stays of the fixture have a transfusion beside open reductions only"
    )
    for code in (ECHO, TRANSFUSION):
        (family,) = maps.families(code) or ()
        place = made.cohort.procedure_vocabulary.index(family)
        own = base.arrays["beside_A"][base.procedures.index(code)]
        np.testing.assert_array_equal(made.recommender.arrays()["beside_A"][place], own)


@pytest.mark.parametrize("evidence", ["codes", "stay"])
def test_families_rank_as_their_procedures_do(
    made: Trained, base: ModelFiles, maps: PcsMap, evidence: Evidence
) -> None:
    theirs, mine = (
        one.scores(stay_rows(one, made.stays("test"), evidence)) for one in (base.scorer(), made.scorer)
    )

    def of(code: str) -> tuple[np.ndarray, np.ndarray]:
        (family,) = maps.families(code) or ()
        return mine[:, made.cohort.procedure_vocabulary.index(family)], theirs[:, base.procedures.index(code)]

    for code in (ECHO, TRANSFUSION):
        np.testing.assert_allclose(*of(code), rtol=1e-4, atol=1e-4)
    both, opened = of(OPEN)
    together = np.logaddexp(opened, of(CLOSED)[1])
    assert np.abs(both - together).mean() < 0.5 * np.abs(opened - together).mean()
    (new,) = maps.families("icd9pcs:9905") or ()
    assert (mine[:, made.cohort.procedure_vocabulary.index(new)] < of(TRANSFUSION)[0]).all()


def test_the_split_is_the_base_s_and_the_files_say_where_it_comes_from(
    made: Trained, base: ModelFiles, tenth: Cohort
) -> None:
    split = Split.from_bytes(base.split or b"")
    parts = zip(split.part.tolist(), made.split.part.tolist(), strict=True)
    assert all(one == other for one, other in list(parts)[1:])
    assert 0 in made.rows("train")  # nothing is known of the late stay
    files = made.files()
    told = files.settings["translated"]
    assert (told["base"], told["procedures"]) == (
        "elsewhere",
        {"codes": 4, "known": 3, "stood_in": 1, "lost": 0},
    )
    assert files.settings["epochs"] == base.settings["epochs"]
    assert files.calibration is not None


def test_other_stays_are_refused(base: ModelFiles, tenth: Cohort, maps: PcsMap) -> None:
    with pytest.raises(CohortError, match="did not learn from this cohort"):
        translated(base, "elsewhere", stays().subset(range(100)), tenth, maps)
    other = replace(tenth, diagnosis_vocabulary=Vocabulary(("icd9cm:4019", "icd9cm:4280", "icd9cm:4281")))
    with pytest.raises(CohortError, match="has other diagnoses"):
        translated(base, "elsewhere", stays(), other, maps)
