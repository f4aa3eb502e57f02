"""Training: what a seed promises, resuming, stopping, learning what was planted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dx2px import Cohort, InputError, ModelError, TrainingError
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import PaperConfig, PaperTraining
from dx2px.scoring.methods import VARIANTS
from dx2px.training.adam import AdamConfig
from dx2px.training.batches import Batches
from dx2px.training.history import history_table
from dx2px.training.loop import Hooks, Outcome, Trainer


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=900))[0]


def config(variant: Any = "e+sa+ma", epochs: int = 3, **more: Any) -> PaperTraining:
    return PaperTraining(
        model=PaperConfig(variant=variant, dim=16, heads=3), epochs=epochs, batch_size=128, **more
    )


def run(cohort: Cohort, settings: PaperTraining, **more: Any) -> Outcome:
    return Trainer(cohort, np.arange(len(cohort)), settings, **more).run()


def identical(left: Outcome, right: Outcome) -> bool:
    return left.weights.keys() == right.weights.keys() and all(
        np.array_equal(left.weights[name], right.weights[name]) for name in left.weights
    )


def test_a_seed_gives_the_same_weights_and_another_seed_others(cohort: Cohort) -> None:
    assert identical(run(cohort, config()), run(cohort, config()))
    assert not identical(run(cohort, config()), run(cohort, config(seed=1)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_learns(cohort: Cohort, variant: str) -> None:
    outcome = run(cohort, config(variant, epochs=4, init=InitConfig("normal", 0.1), adam=AdamConfig(lr=0.01)))
    losses = [epoch.measures["loss_predictive"] for epoch in outcome.history]
    assert losses[-1] < 0.9 * losses[0]
    assert (outcome.history[-1].measures.get("loss_transport", 0) > 0) == variant.endswith("+ma")


@pytest.mark.parametrize("stop_after", [1, 7, 8, 11, 20])
def test_stopped_and_resumed_equals_undisturbed(cohort: Cohort, tmp_path: Path, stop_after: int) -> None:
    """900 stays in batches of 128 are 8 steps an epoch: stops inside, at the end and after epochs."""
    file = tmp_path / "run.checkpoint"
    steps = 0

    def stop() -> bool:
        nonlocal steps
        steps += 1
        return steps == stop_after

    rows = np.arange(len(cohort))
    first = Trainer(cohort, rows, config(), checkpoint=file).run(Hooks(stop=stop))
    assert not first.finished
    second = Trainer(cohort, rows, config(), checkpoint=file)
    second.resume()
    resumed, undisturbed = second.run(), run(cohort, config())
    assert resumed.finished
    assert identical(resumed, undisturbed)
    assert [e.measures for e in resumed.history] == [e.measures for e in undisturbed.history]


@pytest.mark.parametrize("dies_at", [3, 8, 13])
def test_killed_anywhere_and_resumed_equals_undisturbed(
    cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    """With a checkpoint after every step."""
    monkeypatch.setattr("dx2px.training.checkpoint.SAVING_SHARE", math.inf)
    rows, file = np.arange(len(cohort)), tmp_path / "run.checkpoint"
    steps = iter(range(1, 100))

    def die(progress: Any) -> None:
        if next(steps) == dies_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trainer(cohort, rows, config(), checkpoint=file, save_every=0.0).run(Hooks(progress=die))
    second = Trainer(cohort, rows, config(), checkpoint=file)
    second.take_up()
    assert second.position.epoch * 8 + second.position.step == dies_at - 1
    assert identical(second.run(), run(cohort, config()))


def test_a_checkpoint_of_another_run_is_not_taken_up(cohort: Cohort, tmp_path: Path) -> None:
    file, rows = tmp_path / "run.checkpoint", np.arange(len(cohort))
    run(cohort, config(epochs=1), checkpoint=file)
    for other, part in ((config(epochs=1, seed=4), rows), (config(epochs=1), rows[1:])):
        trainer = Trainer(cohort, part, other, checkpoint=file)
        trainer.take_up()
        assert trainer.position.epoch == 0
    absent = Trainer(cohort, rows, config(), checkpoint=tmp_path / "absent")
    absent.take_up()
    assert absent.position.epoch == 0


def test_a_finished_run_resumes_to_itself(cohort: Cohort, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    done = run(cohort, config(), checkpoint=file)
    again = Trainer(cohort, np.arange(len(cohort)), config(), checkpoint=file)
    again.resume()
    assert identical(again.run(), done)


def test_resuming_needs_the_same_settings_stays_and_a_whole_file(cohort: Cohort, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    rows = np.arange(len(cohort))
    run(cohort, config(epochs=1), checkpoint=file)
    with pytest.raises(ModelError, match="other settings"):
        Trainer(cohort, rows, config(epochs=2), checkpoint=file).resume()
    with pytest.raises(ModelError, match="other stays"):
        Trainer(cohort, rows[:-1], config(epochs=1), checkpoint=file).resume()
    with pytest.raises(ModelError, match="There is no checkpoint"):
        Trainer(cohort, rows, config(), checkpoint=tmp_path / "absent").resume()
    whole = file.read_bytes()
    for damaged in (
        whole[:-1],
        whole[: len(whole) // 2],
        b"",
        whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
    ):
        file.write_bytes(damaged)
        with pytest.raises(ModelError, match="damaged, or not a checkpoint of this version"):
            Trainer(cohort, rows, config(epochs=1), checkpoint=file).resume()


def test_best_and_last_weights(cohort: Cohort) -> None:
    values = iter([10.0, 30.0, 20.0] * 2)
    best = run(cohort, config(keep="best"), validate=lambda network: next(values))
    last = run(cohort, config(), validate=lambda network: next(values))
    assert best.best_epoch == last.best_epoch == 2
    assert identical(best, run(cohort, config(epochs=2)))
    assert identical(last, run(cohort, config()))


def test_patience_ends_a_run_and_keeps_the_best(cohort: Cohort) -> None:
    values = iter([10.0, 30.0, 20.0, 25.0, 29.0, 40.0])
    outcome = run(cohort, config(epochs=6, patience=2), validate=lambda network: next(values))
    assert len(outcome.history) == 4
    assert identical(outcome, run(cohort, config(epochs=2)))


def test_a_loss_that_is_not_finite_stops_with_a_sentence(cohort: Cohort) -> None:
    with pytest.raises(TrainingError, match="no longer finite in epoch 1"):
        run(cohort, config(adam=AdamConfig(lr=1e30)))


def test_progress_counts_down_to_nothing(cohort: Cohort) -> None:
    seen: list[Any] = []
    Trainer(cohort, np.arange(len(cohort)), config(epochs=2)).run(Hooks(progress=seen.append))
    assert [(p.epoch, p.step) for p in seen] == [(e, s) for e in (1, 2) for s in range(1, 9)]
    assert seen[-1].seconds_left == pytest.approx(0.0, abs=1e-9)
    assert seen[0].seconds_left > 0
    assert all(math.isfinite(p.loss) for p in seen)


def test_batches_cover_every_stay_once_an_epoch_and_differ_between_epochs(cohort: Cohort) -> None:
    batches = Batches(cohort, np.arange(100, 900), 64, seed=5)
    first, second = (list(batches.epoch(epoch)) for epoch in (0, 1))
    assert len(batches) == len(first) == 13
    codes = [sorted(np.concatenate([batch.diagnoses.values for batch in epoch])) for epoch in (first, second)]
    assert codes[0] == codes[1] == sorted(cohort.diagnoses.take(np.arange(100, 900)).values)
    assert not np.array_equal(first[0].diagnoses.values, second[0].diagnoses.values)
    tail = list(batches.epoch(0, start=11))
    assert np.array_equal(tail[0].diagnoses.values, first[11].diagnoses.values)
    assert [batch.step for batch in (*first[:2], tail[0], second[0])] == [0, 1, 11, 13]


def test_the_history_is_a_table(cohort: Cohort) -> None:
    table = history_table(run(cohort, config(epochs=2)).history)
    assert table.column("epoch").to_pylist() == [1, 2]
    assert table.column("stays").to_pylist() == [900, 900]
    transport = ["loss_transport", "unconverged", "transport_steps"]
    everyone = ["validation_f1", "seconds", "stays"]
    assert table.column_names == ["epoch", "loss_predictive", *transport, *everyone]
    without = history_table(run(cohort, config("e+pooling", epochs=1)).history)
    assert without.column_names == ["epoch", "loss_predictive", *everyone]


def test_settings_are_json_and_wrong_ones_are_named_together() -> None:
    settings = config("e+ma", seed=9).to_dict()
    assert json.loads(json.dumps(settings)) == settings
    with pytest.raises(
        InputError, match="epochs must be at least 1, not 0; batch size must be at least 1, not -3"
    ):
        PaperTraining(epochs=0, batch_size=-3)
