"""One run from a cohort to a model folder, and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dx2px import Cohort, InputError, Trained, train
from dx2px.answers import Model
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.coupling import CouplingConfig, CouplingTraining
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import PaperConfig, PaperTraining
from dx2px.methods.train import RunConfig
from dx2px.scoring.measured import learned_from, learning_part
from dx2px.scoring.methods import VARIANTS
from dx2px.scoring.metrics import evaluate
from dx2px.training.adam import AdamConfig
from dx2px.training.card import with_external


def config(variant: str = "e+sa+ma", epochs: int = 6) -> RunConfig:
    model = PaperConfig(variant=variant, dim=24, heads=3)  # type: ignore[arg-type]
    init = InitConfig("normal", 0.1)
    return RunConfig(
        PaperTraining(model=model, init=init, adam=AdamConfig(lr=0.01), epochs=epochs, batch_size=100)
    )


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=1500))[0]


@pytest.fixture(scope="module")
def trained(cohort: Cohort) -> Trained:
    return train(cohort, config())


def test_what_was_trained_answers_as_it_will_when_saved(trained: Trained, tmp_path: Path) -> None:
    stay = trained.stays("test")[0]
    trained.save(tmp_path / "model")
    saved = Model.load(tmp_path / "model")
    assert trained.recommend(stay.diagnoses).to_dict() == saved.recommend(stay.diagnoses).to_dict()
    assert trained.explain(stay.diagnoses, top=2).to_dict() == saved.explain(stay.diagnoses, top=2).to_dict()
    assert repr(trained).startswith(f"Trained({trained.recommender.method} on ")


def test_it_beats_popularity_by_far(cohort: Cohort, trained: Trained) -> None:
    test = cohort.subset(trained.split.test)
    popular = cohort.subset(trained.split.training(0)).procedure_counts.astype(np.float64)
    base = evaluate(lambda d: np.tile(popular, (len(d), 1)), test.diagnoses, test.procedures)
    assert trained.evaluate("test").mean("f1")[5] > base.mean("f1")[5] + 3


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_saved_model_scores_like_the_trained_one(cohort: Cohort, tmp_path: Path, variant: str) -> None:
    made = train(cohort, config(variant, epochs=2))
    made.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    stays = cohort.subset(made.split.test)
    assert np.array_equal(model.scorer.scores(stays.diagnoses), made.recommender.scores(stays.diagnoses))
    measured = evaluate(model.scorer.scores, stays.diagnoses, stays.procedures)
    assert measured.to_dict() == made.evaluate("test").to_dict()


def test_parts_of_the_cohort_are_found_again(cohort: Cohort, trained: Trained, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    cohort.save(tmp_path / "c.parquet")
    files, again = Model.load(tmp_path / "model").files, Cohort.load(tmp_path / "c.parquet")
    assert learned_from(files, again)
    test = learning_part(files, again, "test")
    assert test.stay_ids.to_pylist() == cohort.subset(trained.split.test).stay_ids.to_pylist()
    assert len(learning_part(files, again, "train")) == len(trained.split.training(0))
    assert len(learning_part(files, again, "all")) == len(cohort)
    assert not learned_from(files, cohort.subset(np.arange(700)))


def test_the_folder_tells_no_ids_and_says_its_limits(trained: Trained, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    card = (tmp_path / "model" / "MODEL_CARD.md").read_text()
    assert "no medical advice" in card
    assert "1,500 stays" in card
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {
        "config.json", "vocabulary.parquet", "weights.safetensors", "history.parquet", "MODEL_CARD.md", "split.parquet",
    }  # fmt: skip


def test_the_card_says_what_the_model_takes_and_how_it_does_without(cohort: Cohort, tmp_path: Path) -> None:
    assert cohort.context is not None
    silent = replace(cohort, context=cohort.context.drop_columns(["principal"]))
    for evidence in ("stay", "codes"):
        model = CouplingConfig(dim=8, evidence=evidence)  # type: ignore[arg-type]
        made = train(silent, RunConfig(CouplingTraining(epochs=2, batch_size=100, model=model)))
        made.save(tmp_path / evidence)
        files = Model.load(tmp_path / evidence).files
        assert files.measured is not None
        takes_more = evidence == "stay"
        assert ("codes" in files.measured) == takes_more
        assert ("## Evidence" in files.card) == takes_more
        assert ("- the sex" in files.card) == takes_more
        assert ("nothing of\n  age, sex, place or time" in files.card) != takes_more
        assert "the principal diagnosis" not in files.card, "the cohort does not tell it"
        if takes_more:
            codes = made.evaluate("test", "codes").to_dict()["top"]
            assert files.measured["codes"] == codes
            both = files.measured["top"]["5"]["f1"], codes["5"]["f1"]
            assert "| {:.1f} | {:.1f} |\n".format(*both) in files.card
    line = {
        "cohort": "a demo",
        "stays": 1200,
        "f1": {"1": 20.04, "3": 21.5},
        "verdict": "It ranks usefully here.",
    }
    lines = [line | {"gap": 0.123, "gap_by_chance": 0.04}, line | {"gap": None, "gap_by_chance": None}]
    card = with_external(files.card, lines)
    assert "| a demo | 1,200 | 20.0 | 21.5 | 12.3 (4.0) | It ranks usefully here. |" in card
    assert "| 20.0 | 21.5 | – | It" in card
    assert card.index("## Calibration") < card.index("## External validation") < card.index("## Limits")
    assert with_external(card, lines) == card, "what was measured before is replaced"
    assert with_external(card, []) == files.card


def test_an_unknown_part_is_refused(trained: Trained) -> None:
    with pytest.raises(InputError, match="test, validation, train, all, not 'tset'"):
        trained.evaluate("tset")
