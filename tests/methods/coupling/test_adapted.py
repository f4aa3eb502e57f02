"""A model of one hospital, adapted to another one with other habits and a code of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dx2px
from dx2px import Cohort, CohortError, Model, ModelError
from dx2px.methods.coupling.adapted import AdaptedModel, checkpoints
from dx2px.methods.coupling.ladder import SHARES, Run, Rung, mean, parts
from dx2px.methods.coupling.warm_start import Base
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.scoring.measured import learned_from, learning_part
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.origins import origins
from dx2px.training.loop import Hooks, Trainer
from dx2px.training.run import Trained, learn
from dx2px.training.stays import HeldStays
from evidence_model import CLOSED, ECHO, HEART, HIP, HYPERTENSION, OPEN

OTHER_ECHO, OTHER_HEART = "icd9pcs:8874", "icd9cm:4281"  # siblings of what the base knows
BOLD = Rung(0.02, 0.1, 6)


def hospital(stays: int = 240) -> Cohort:
    """Nothing but codes is known; the heart brings another echo, and is coded in two ways."""
    heart = [n % 2 == 0 for n in range(stays)]
    diagnoses = [
        [OTHER_HEART if n % 4 else HEART, HYPERTENSION] if one else [HIP] for n, one in enumerate(heart)
    ]
    return Cohort.from_lists(diagnoses, [[OTHER_ECHO] if one else [CLOSED] for one in heart])


@pytest.fixture(scope="module")
def base(evidence_folder: Path) -> ModelFiles:
    return read_folder(evidence_folder)


@pytest.fixture(scope="module")
def adapted(base: ModelFiles) -> Trained:
    return _adapted(base, [BOLD])


def _adapted(base: ModelFiles, ladder: list[Rung], **run: Any) -> Trained:
    start = Base.of(base, "elsewhere", hospital())
    return learn(start.cohort, AdaptedModel(start, ladder, **run), seed=1, threads=1)


def test_the_start_scores_the_base_s_own_codes_as_the_base_does(base: ModelFiles) -> None:
    start = Base.of(base, "elsewhere", hospital())
    model = AdaptedModel(start, ())
    model.fit(start.cohort, np.arange(200), np.arange(200, 240))
    rows = [HEART, HIP], [HYPERTENSION]
    mine = Ragged.from_lists([start.cohort.diagnosis_vocabulary.index(code) for code in row] for row in rows)
    theirs = Ragged.from_lists([list(base.diagnoses).index(code) for code in row] for row in rows)
    scorers = model.scorer(), base.scorer()
    found, expected = (
        one.scores(one.layout.rows(asked))  # type: ignore[attr-defined]
        for one, asked in zip(scorers, (mine, theirs), strict=True)
    )
    places = [start.cohort.procedure_vocabulary.index(code) for code in base.procedures]
    np.testing.assert_allclose(found[:, places], expected, rtol=1e-4, atol=1e-4)
    new = start.cohort.procedure_vocabulary.index(OTHER_ECHO)
    assert (found[:, new] < expected.min()).all()  # the base alone cannot recommend what it does not know


def test_it_learns_the_hospital_s_habits_and_keeps_the_base_s_codes(
    adapted: Trained, base: ModelFiles
) -> None:
    model = adapted.recommender
    assert isinstance(model, AdaptedModel)
    assert model.chosen == BOLD
    assert adapted.evaluate("test").mean("f1")[1] > 95
    files = adapted.files()
    assert set(base.procedures) <= set(files.procedures)
    known = Model(files)
    assert known.recommend([OTHER_HEART], top=1).recommendations[0].code == OTHER_ECHO
    # A code that only the base has seen is known, not stood in for.
    counts = dict(zip(files.procedures, files.procedure_counts or (), strict=True))
    assert counts[OPEN] > 0


def test_reasons_stay_exact(adapted: Trained) -> None:
    answer = Model(adapted.files()).recommend([HEART, HIP], top=3)
    for one in answer.recommendations:
        assert sum(reason.share for reason in one.because) == pytest.approx(1, abs=1e-5)


def test_card_and_settings_name_base_and_cohort(adapted: Trained) -> None:
    card, settings = adapted.files().card, adapted.recommender.settings()["adapted"]
    assert "from the model `elsewhere`" in adapted.recommender.notes  # type: ignore[attr-defined]
    assert settings["base"] == "elsewhere"
    assert settings["diagnoses"] == {"codes": 4, "known": 3, "stood_in": 1, "lost": 0}
    assert "240 stays" in card
    tried = [(row.get("rate"), row.get("share")) for row in settings["tried"]]
    assert tried == [(None, None), *((BOLD.rate, share) for share in SHARES)]
    assert settings["share"] in SHARES


def test_a_rung_that_does_no_better_keeps_the_base(base: ModelFiles) -> None:
    known = Cohort.from_lists([[HEART], [HIP]] * 60, [[ECHO], [CLOSED]] * 60)
    start = Base.of(base, "elsewhere", known)
    timid = Rung(1e-9, 1.0, 1)
    model = AdaptedModel(start, [timid])
    model.fit(start.cohort, np.arange(100), np.arange(100, 120))
    assert model.chosen is None
    assert "the base's weights were kept" in model.notes


def test_a_strong_pull_keeps_a_step_near_the_start(base: ModelFiles) -> None:
    start = Base.of(base, "elsewhere", hospital())
    stays, moved = HeldStays(start.cohort, np.arange(200)), []
    for pull in (250.0, 0.0):
        model = AdaptedModel(start, [Rung(0.004, pull, 2)])
        first = model._begun(stays)
        config = replace(model.asked, epochs=2, model=replace(model.asked.model, pull=pull))  # type: ignore[attr-defined]
        learned = Trainer(stays, None, config, initial=first).run().weights
        moved.append(np.mean([np.abs(learned[name] - first[name]).mean() for name in first]))
    assert 0 < moved[0] < 0.5 * moved[1]


def test_runs_are_averaged_after_a_share_of_the_way() -> None:
    start, ends = np.zeros(2, np.float32), ([4.0, 8.0], [0.0, 4.0])
    runs = [
        Run({"b": start}, replace(Run.unmoved({"b": np.array(end, np.float32)}).outcome, best_epoch=place))
        for place, end in enumerate(ends)
    ]
    found = mean(runs, 0.5)
    assert found.weights["b"].tolist() == [1.0, 3.0]
    assert found.weights["b"].dtype == np.float32
    assert found.best_epoch == 0


def test_cuts_of_the_training_stays_stand_beside_the_validation_stays() -> None:
    cohort = hospital()
    few = parts(cohort, np.arange(200), np.arange(200, 240), 0)
    assert [len(part.held_out) for part in few] == [40, 50, 50, 50, 50]
    assert len({part.lessons.layout() for part in few}) == 1
    for part in few[1:]:
        assert len(part.lessons) == 150


def test_where_validation_stays_choose_the_cuts_get_their_runs_afterwards(base: ModelFiles) -> None:
    start, said = Base.of(base, "elsewhere", hospital(400)), []
    for ladder in ([replace(BOLD, epochs=1)], []):
        model = AdaptedModel(start, ladder)
        model.fit(start.cohort, np.arange(100), np.arange(100, 400), say=said.append)
        assert [len(stays) for _, stays in model.tests()] == [300, 25, 25, 25, 25]
        first = model.tests()[0][0]
        rows = stay_rows(first, start.cohort)
        assert np.array_equal(first.scores(rows), model.scorer().scores(rows)), "the run that chose is kept"
    assert sum("to fit probabilities" in text for text in said) == 4


def test_plenty_of_validation_stays_need_no_other_runs(
    base: ModelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dx2px.methods.coupling.adapted.PLENTY", 300)
    start, said = Base.of(base, "elsewhere", hospital(400)), []
    model = AdaptedModel(start, [Rung(1e-9, 1.0, 1), replace(BOLD, epochs=1)])
    model.fit(start.cohort, np.arange(100), np.arange(100, 400), say=said.append)
    assert model.tests() == []
    assert said[:2] == ["the base alone", f"1 of 1: {replace(BOLD, epochs=1)}"], "the first rung is left out"


def test_a_stopped_run_goes_on_to_the_same_weights(
    base: ModelFiles, adapted: Trained, tmp_path: Path
) -> None:
    left, home = 9, tmp_path / "model.checkpoint"

    def stop() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    stopped = _adapted(base, [BOLD], checkpoint=home, hooks=Hooks(stop=stop)).recommender
    assert isinstance(stopped, AdaptedModel)
    assert stopped.outcome is not None
    assert not stopped.outcome.finished
    again = _adapted(base, [BOLD], checkpoint=home, resume=True).recommender
    assert isinstance(again, AdaptedModel)
    for name, array in adapted.recommender.arrays().items():
        assert np.array_equal(array, again.arrays()[name]), name
    assert checkpoints(home)
    again.remove_checkpoints()
    assert not list(tmp_path.iterdir())


def test_the_cohort_is_recognised_although_the_model_has_more_codes(adapted: Trained) -> None:
    files, cohort = adapted.files(), hospital()
    assert learned_from(files, cohort)
    test = learning_part(files, cohort, "test")
    scorer = files.scorer()
    found = evaluate(scorer.scores, stay_rows(scorer, test), test.procedures)
    assert found.to_dict() == adapted.evaluate("test").to_dict()
    assert not learned_from(files, cohort.subset(np.arange(100)))
    assert "made from this very cohort" in Base.of(files, "mine", cohort).warning
    assert Base.of(files, "mine", cohort.subset(np.arange(100))).warning == ""


def test_codes_of_the_other_version_start_from_their_equivalents(base: ModelFiles) -> None:
    found = origins(base, ["icd10cm:I509", "icd10cm:S72141A", HEART, "icd9cm:4289"], "diagnosis")
    assert found.sorts == ("mapped", "mapped", "known", "siblings")
    place = list(base.diagnoses).index
    assert found.members[0] == found.members[2] == found.members[3] == (place(HEART),)
    assert found.members[1] == (place(HIP),)
    families = replace(base, procedures=("icd10pcs:0SR[CD]",), procedure_counts=(20,))
    assert origins(families, ["icd10pcs:0SRC0J9"], "procedure").sorts == ("mapped",)


@pytest.mark.parametrize(
    ("diagnoses", "procedures", "said"),
    [
        ([[HIP]] * 5, [[CLOSED]] * 5, "has 5 stays; adapting needs at least 50"),
        ([[HIP]] * 60, [[CLOSED]] * 60, "the same procedure, 79.15"),
        ([["icd9cm:V3000"]] * 60, [[CLOSED], [OPEN]] * 30, "knows none of this cohort's diagnoses"),
        ([[HIP]] * 60, [["icd9pcs:640"], ["icd9pcs:7569"]] * 30, "knows none of this cohort's procedures"),
        ([[HIP]] * 60, [["icd10pcs:0SRC0J9"], ["icd10pcs:0SRD0J9"]] * 30, "answers in ICD-9-CM"),
    ],
)
def test_what_cannot_be_adapted_to_gets_a_sentence(
    base: ModelFiles, diagnoses: list[list[str]], procedures: list[list[str]], said: str
) -> None:
    with pytest.raises(CohortError, match=said):
        Base.of(base, "elsewhere", Cohort.from_lists(diagnoses, procedures))


def test_a_base_of_another_method_gets_a_sentence(base: ModelFiles) -> None:
    with pytest.raises(ModelError, match="is of the method linear"):
        Base.of(replace(base, method="linear"), "elsewhere", hospital())


def test_from_python_the_package_s_model_is_the_base() -> None:
    with pytest.raises(CohortError, match="adapting needs at least"):
        dx2px.adapt(hospital(20))
