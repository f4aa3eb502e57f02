"""Learning from a file that is not held: every stay once an epoch, in an order that seed and epoch decide."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dx2px import Cohort
from dx2px.answers import Model
from dx2px.cohort import CohortStream, CohortWriter, split_stream
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.paper import PaperConfig, PaperModel, PaperTraining
from dx2px.scoring.measured import learned_from, learning_part
from dx2px.scoring.metrics import evaluate
from dx2px.training.batch import Batch
from dx2px.training.batches import Cut
from dx2px.training.loop import Hooks, Trainer
from dx2px.training.streamed import learn_stream, spread
from dx2px.training.streaming import StreamedStays

CONFIG = PaperTraining(model=PaperConfig(dim=8, heads=2), epochs=2, batch_size=128)


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=3000))[0]


@pytest.fixture(scope="module")
def file(cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stream") / "C.parquet"
    with CohortWriter(path, cohort.context.schema if cohort.context else None) as writer:
        for start in range(0, 3000, 110):
            writer.write(cohort._table(start, min(start + 110, 3000)))
        writer.describe(cohort.provenance)
    return path


@pytest.fixture(scope="module")
def stays(file: Path) -> StreamedStays:
    stream = CohortStream(file)
    return StreamedStays(stream, split_stream(stream, folds=5), 2, buffer=400)


def contents(batches: list[Batch]) -> Counter[tuple[Any, ...]]:
    """The stays of some batches, as the codes that they have."""
    return Counter(
        (tuple(batch.diagnoses[i]), tuple(batch.procedures[i]))
        for batch in batches
        for i in range(len(batch))
    )


def same(left: Batch, right: Batch) -> bool:
    return all(getattr(left, name) == getattr(right, name) for name in ("diagnoses", "procedures", "step"))


def test_an_epoch_holds_each_training_stay_once_and_no_other(cohort: Cohort, stays: StreamedStays) -> None:
    split = split_stream(stays.stream, folds=5)
    rows = split.training(2)
    expected = Counter((tuple(cohort.diagnoses[i]), tuple(cohort.procedures[i])) for i in rows)
    batches = stays.batches(64, seed=3)
    for epoch in (0, 1):
        found = list(batches.epoch(epoch))
        assert len(found) == len(batches) == -(-len(rows) // 64)
        assert [len(batch) for batch in found[:-1]] == [64] * (len(found) - 1)
        assert contents(found) == expected
    assert len(stays) == len(rows)
    assert stays.counts[0].tolist() == cohort.subset(rows).diagnosis_counts.tolist()
    assert stays.counts[1].tolist() == cohort.subset(rows).procedure_counts.tolist()


def test_order_is_new_each_epoch_and_mixes_the_file(cohort: Cohort, stays: StreamedStays) -> None:
    first, again, second = (next(stays.batches(64, seed=3).epoch(epoch)) for epoch in (0, 0, 1))
    assert same(first, again)
    assert not same(first, second)
    places = {tuple(cohort.diagnoses[i]): i for i in range(3000)}
    rows = np.array([places[tuple(first.diagnoses[i])] for i in range(64)])
    assert len(np.unique(rows // 110)) >= 4  # row groups met in one batch
    assert np.mean(np.diff(rows) > 0) == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("start", [0, 1, 5, 20, 33])
def test_an_epoch_can_be_entered_anywhere(stays: StreamedStays, start: int) -> None:
    batches = stays.batches(64, seed=3)
    whole, tail = list(batches.epoch(1)), list(batches.epoch(1, start))
    assert len(tail) == max(len(whole) - start, 0)
    assert all(same(left, right) for left, right in zip(whole[start:], tail, strict=True))


def test_cuts_are_the_batch_in_pieces(stays: StreamedStays) -> None:
    batches = stays.batches(64, seed=3)
    whole = next(batches.epoch(0, 7))
    pieces = [next(batches.epoch(0, 7, Cut(number, 3))) for number in range(3)]
    for name in ("diagnoses", "procedures"):
        values = np.concatenate([getattr(piece, name).values for piece in pieces])
        assert np.array_equal(values, getattr(whole, name).values)


def test_stopped_and_resumed_equals_undisturbed(stays: StreamedStays, tmp_path: Path) -> None:
    steps = iter(range(100))
    first = Trainer(stays, None, CONFIG, checkpoint=tmp_path / "c")
    assert not first.run(Hooks(stop=lambda: next(steps) == 9)).finished
    second = Trainer(stays, None, CONFIG, checkpoint=tmp_path / "c")
    second.resume()
    resumed, undisturbed = second.run().weights, Trainer(stays, None, CONFIG).run().weights
    assert all(np.array_equal(resumed[name], undisturbed[name]) for name in undisturbed)


def test_a_model_of_a_stream_knows_its_cohort_and_its_test_part(
    cohort: Cohort, file: Path, tmp_path: Path
) -> None:
    run = learn_stream(file, PaperModel(CONFIG), buffer=500)
    run.save(tmp_path / "M")
    model = Model.load(tmp_path / "M")
    held = Cohort.load(file)
    assert learned_from(model.files, held)
    assert model.files.settings["split"]["rule"] == "hash"
    test = learning_part(model.files, held, "test")
    assert len(test) == pytest.approx(600, abs=60)
    found = evaluate(model.scorer.scores, test.diagnoses, test.procedures)
    assert found.mean("f1") == pytest.approx(run.evaluate("test").mean("f1"), abs=1e-3)
    assert len(run.stays("validation")) + len(run.lessons) + len(test) == 3000


def test_rows_to_measure_on_are_spread_over_all() -> None:
    rows = np.arange(1000, 2000)
    assert spread(rows, 1000) is rows
    assert spread(rows, 4).tolist() == [1000, 1333, 1666, 1999]
