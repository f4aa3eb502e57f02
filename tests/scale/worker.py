"""Run by torchrun: several models learned by all processes together; the first one saves the weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import dx2px.model.step
from dx2px.cohort import Cohort, CohortStream, split_stream
from dx2px.model.network import ModelConfig
from dx2px.training.config import CouplingTraining, LoopConfig, TrainingConfig
from dx2px.training.loop import Trainer, set_threads
from dx2px.training.processes import ALONE, Processes, joined
from dx2px.training.stays import HeldStays, TrainingStays
from dx2px.training.streaming import StreamedStays

PAPER = TrainingConfig(model=ModelConfig(dim=16, heads=3), epochs=2, batch_size=100)
RUNS: dict[str, LoopConfig] = {
    "paper": PAPER,
    "lazy": PAPER,
    "stream": PAPER,
    "coupling": CouplingTraining(epochs=2, batch_size=100),
}


def learn(name: str, file: Path, processes: Processes = ALONE) -> dict[str, np.ndarray]:
    """The weights of one of the runs."""
    dx2px.model.step.LAZY_FROM = 10 if name == "lazy" else 10**6
    trainer = Trainer(_stays(name, file), None, RUNS[name], processes=processes, validate=lambda network: 1.0)
    outcome = trainer.run()
    assert outcome.history[-1].stays == len(_stays(name, file))
    assert outcome.best_epoch == 1
    return outcome.weights


def _stays(name: str, file: Path) -> TrainingStays:
    if name != "stream":
        return HeldStays(Cohort.load(file), np.arange(777))
    stream = CohortStream(file)
    return StreamedStays(stream, split_stream(stream, folds=5), 0, buffer=300)


def main() -> None:
    file, out = map(Path, sys.argv[1:])
    set_threads(1)
    with joined() as processes:
        for name in RUNS:
            weights = learn(name, file, processes)
            if processes.first:
                save_file(weights, out / f"{name}.safetensors")


if __name__ == "__main__":
    main()
