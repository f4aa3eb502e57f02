"""Share of unconverged transport problems, epoch by epoch: the paper's β against β scaled by the spread of the costs.

Run: python benchmarks/proximal_weight.py
6,000 synthetic stays of the small preset, E+SA+MA, 8 epochs, one thread, two ways to start the vectors.
"""

from __future__ import annotations

import numpy as np

from dx2px.cohort.synthetic import SyntheticConfig, generate
from dx2px.model.network import InitConfig
from dx2px.model.transport import TransportConfig
from dx2px.training.config import TrainingConfig
from dx2px.training.loop import Trainer, set_threads

STAYS, EPOCHS = 6_000, 8
STARTS = {"uniform ±1/M": InitConfig("uniform", None), "normal 0.1": InitConfig()}


def main() -> None:
    set_threads(1)
    cohort = generate(SyntheticConfig(stays=STAYS))[0]
    print("| start | β | " + " | ".join(f"epoch {n + 1}" for n in range(EPOCHS)) + " |")
    print("|---" * (EPOCHS + 2) + "|")
    for start, init in STARTS.items():
        for name, adaptive in (("as printed", False), ("scaled", True)):
            config = TrainingConfig(init=init, transport=TransportConfig(adaptive=adaptive), epochs=EPOCHS)
            history = Trainer(cohort, np.arange(STAYS), config).run().history
            print(
                f"| {start} | {name} | " + " | ".join(f"{e.unconverged:.1%}" for e in history) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
