"""Run by torchrun: all processes learn several models together, and the first one saves the weights."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from dx2px.cohort import Cohort, CohortStream, split_stream
from dx2px.methods.coupling import CouplingTraining
from dx2px.methods.paper import PaperConfig, PaperTraining
from dx2px.training.config import LoopConfig
from dx2px.training.loop import Trainer, set_threads
from dx2px.training.processes import ALONE, Processes, joined
from dx2px.training.stays import HeldStays, TrainingStays
from dx2px.training.streaming import StreamedStays

STAYS, BATCH = 777, 97  # the last batch has a single stay, which leaves one of two processes without any
PAPER = PaperTraining(model=PaperConfig(dim=16, heads=3), epochs=2, batch_size=BATCH)
RUNS: dict[str, LoopConfig] = {
    "paper": PAPER,
    "stream": PAPER,
    "coupling": CouplingTraining(epochs=2, batch_size=BATCH),
}


def learn(name: str, file: Path, processes: Processes = ALONE) -> dict[str, np.ndarray]:
    """The weights of one of the runs, and the losses and measures of its epochs."""
    trainer = Trainer(_stays(name, file), None, RUNS[name], processes=processes, validate=lambda network: 1.0)
    outcome = trainer.run()
    assert outcome.history[-1].stays == len(_stays(name, file))
    assert outcome.best_epoch == 1
    reported = [{"loss": epoch.loss} | dict(epoch.measures) for epoch in outcome.history]
    return outcome.weights | {
        f"epochs.{name}": np.array([row[name] for row in reported]) for name in reported[0]
    }


def _stays(name: str, file: Path) -> TrainingStays:
    if name != "stream":
        return HeldStays(Cohort.load(file), np.arange(STAYS))
    stream = CohortStream(file)
    return StreamedStays(stream, split_stream(stream, folds=5), 0, buffer=300)


def main() -> None:
    file, out = map(Path, sys.argv[1:])
    set_threads(1)
    with joined() as processes:
        for name in RUNS:
            learned = learn(name, file, processes)
            if processes.first:
                save_file(learned, out / f"{name}.safetensors")


if __name__ == "__main__":
    main()
