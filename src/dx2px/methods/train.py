"""Training the default method, or the paper's model, from Python: `dx2px.train`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from dx2px.cohort import Cohort
from dx2px.methods import learner_class
from dx2px.methods.coupling import CouplingTraining
from dx2px.training.config import Device, LoopConfig
from dx2px.training.loop import Hooks
from dx2px.training.run import SplitConfig, Trained, learn


@dataclass(frozen=True)
class RunConfig:
    """The settings of a run: those of the method, and how the cohort is split.

    Attributes:
        training: `CouplingTraining` for the default method, `PaperTraining` for the paper's model.
        split: Which stays are learned from, which validate, and which are held out for the test.
    """

    training: LoopConfig = field(default_factory=CouplingTraining)
    split: SplitConfig = field(default_factory=SplitConfig)


def train(
    cohort: Cohort,
    config: RunConfig | None = None,
    *,
    hooks: Hooks | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: Device = "cpu",
    threads: int | None = None,
) -> Trained:
    """Learn a model from a cohort.

    Args:
        cohort: The stays.
        config: Which method, with which settings, on which split; the default method with its defaults if None.
        hooks: Functions to call during the run: on progress, after each epoch, and to ask whether to stop; see
            `dx2px.training.loop.Hooks`.
        checkpoint: A file for the state of the run, so that it can be stopped and resumed.
        resume: Continue from the checkpoint, to the same weights as a run that was never stopped.
        device: Where torch computes: `cpu`, `cuda` or `mps`.
        threads: How many threads to use; None leaves it to torch and numba.

    Returns:
        The trained method with its cohort and split. `evaluate` measures it, `save` writes a model folder.

    Raises:
        CohortError: The cohort cannot be split as asked.
        ModelError: There is no checkpoint to resume from, or it is of another run.
        TrainingError: The loss is no longer finite, or this machine does not have the device.
    """
    config = config or RunConfig()
    learner: type = learner_class(config.training.method)
    model = learner(config.training, hooks=hooks, checkpoint=checkpoint, resume=resume, device=device)
    return learn(cohort, model, config.split, seed=config.training.seed, threads=threads)
