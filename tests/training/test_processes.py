"""A batch cut among processes: the same draws, and gradients that add up to the whole one's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.distributed as dist

from dx2px import Cohort, TrainingError
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.coupling import CouplingTraining
from dx2px.methods.paper import PaperConfig, PaperTraining
from dx2px.methods.paper.batch import PaperBatch
from dx2px.scoring.methods import VARIANTS
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches, Cut
from dx2px.training.config import LoopConfig
from dx2px.training.launch import launched
from dx2px.training.loop import Trainer
from dx2px.training.processes import Processes, joined
from dx2px.training.step import StepResult

CONFIGS = [
    *(PaperTraining(model=PaperConfig(variant=v, dim=16, heads=3), batch_size=70) for v in VARIANTS),
    CouplingTraining(batch_size=70),
]


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=400))[0]


def cuts(batches: Batches, of: int, start: int = 2) -> list[Batch]:
    return [next(batches.epoch(1, start, Cut(number, of))) for number in range(of)]


@pytest.mark.parametrize("of", [2, 3, 7, 71])
def test_cuts_are_the_batch_in_pieces_negatives_and_all(cohort: Cohort, of: int) -> None:
    batches = Batches(cohort, np.arange(400), 70, seed=5)
    whole, pieces = next(batches.epoch(1, 2)), cuts(batches, of)
    assert sum(map(len, pieces)) == len(whole) == 70
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    drawn = [PaperBatch.of(piece, len(cohort.procedure_vocabulary), seed=5) for piece in (whole, *pieces)]
    for name in ("diagnoses", "procedures", "negatives"):
        values = np.concatenate([getattr(piece, name).values for piece in drawn[1:]])
        assert np.array_equal(values, getattr(drawn[0], name).values)
    for piece in pieces:
        assert piece.share is not None
        assert np.array_equal(piece.share.whole.diagnoses.lengths, whole.diagnoses.lengths)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
@pytest.mark.parametrize("of", [2, 5])
def test_gradients_of_the_cuts_add_up_to_that_of_the_batch(
    cohort: Cohort, config: LoopConfig, of: int
) -> None:
    """With dropout: what is left out must not depend on how the batch is cut."""
    learner = Trainer(cohort, np.arange(400), config).learner
    batches = Batches(cohort, np.arange(400), 70, seed=5)
    loss = learner.gradient(next(batches.epoch(1, 2))).loss
    whole = learner.optimiser.gradient.clone()
    total, losses = torch.zeros_like(whole), 0.0
    for piece in cuts(batches, of):
        learner.optimiser.gradient.zero_()
        losses += learner.gradient(piece).loss
        total += learner.optimiser.gradient
    assert losses == pytest.approx(loss, rel=1e-5)
    torch.testing.assert_close(total, whole, rtol=1e-4, atol=1e-5 * float(whole.abs().max()))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
def test_a_process_without_stays_measures_nothing_under_the_same_names(
    cohort: Cohort, config: LoopConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch may be smaller than the number of processes. The sums must still line up, so the names must agree."""
    seen: list[StepResult] = []
    monkeypatch.setattr(Processes, "sum_result", lambda self, result: seen.append(result) or result)
    trainer = Trainer(cohort, np.arange(400), config)
    batches = Batches(cohort, np.arange(400), 70, seed=5)
    some, none = next(batches.epoch(0)), next(batches.epoch(0, 0, Cut(0, 71)))
    assert (len(some), len(none)) == (70, 0)
    trainer._step(some)
    trainer._step(none)
    assert list(seen[0].measures) == list(seen[1].measures) == list(trainer.learner.measures)
    assert (seen[1].stays, seen[1].loss, set(seen[1].measures.values())) == (0, 0.0, {0.0})


def test_results_are_summed_over_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    other = torch.tensor([3.0, 1.5, 0.25, 2.0], dtype=torch.float64)
    monkeypatch.setattr(dist, "all_reduce", lambda x: x.add_(other))
    own = StepResult(2, 0.5, {"loss_predictive": 0.5, "unconverged": 1})
    expected = StepResult(5, 2.0, {"loss_predictive": 0.75, "unconverged": 3.0})
    assert Processes(0, 2).sum_result(own) == expected
    assert Processes().sum_result(own) is own


def test_a_lost_process_is_named_as_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(x: torch.Tensor) -> None:
        raise RuntimeError("Connection closed by peer")

    monkeypatch.setattr(dist, "all_reduce", broken)
    with pytest.raises(TrainingError, match="Another process of this run was lost"):
        Processes(0, 2).sum_result(StepResult(2, 0.5, {"loss_predictive": 0.5}))


def test_without_torchrun_a_process_is_alone() -> None:
    assert launched() is None
    with joined() as processes:
        assert processes.first
        assert processes.alone
        assert processes.of_first(3.5) == 3.5
        assert processes.any(True)


def test_under_torchrun_cores_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    for name, value in zip(names, (5, 8, 1, 4, 2), strict=True):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some run")
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(9)))
    launch = launched()
    assert launch is not None
    assert (launch.rank, launch.size, launch.restarts, launch.threads) == (5, 8, 2, 2)
