"""How many transport problems stay unconverged? The paper's β against β scaled by the spread of the costs, by epoch.

Run: python studies/proximal_weight.py
6,000 synthetic stays of the small preset, E+SA+MA, 8 epochs, one thread, two ways to start the vectors. Prints
Markdown; docs/reproduction.md has the numbers.
"""

from __future__ import annotations

import numpy as np

from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import PaperTraining
from dx2px.methods.paper.transport import TransportConfig
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
            config = PaperTraining(init=init, transport=TransportConfig(adaptive=adaptive), epochs=EPOCHS)
            history = Trainer(cohort, np.arange(STAYS), config).run().history
            shares = " | ".join(f"{epoch.measures['unconverged']:.1%}" for epoch in history)
            print(f"| {start} | {name} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
