"""How does the start of the parameters change what the paper's model learns? Test F1 for each scheme.

Run: python studies/initialisation.py COHORT… [--seeds 2] [--epochs 25]
One thread, so that several can run side by side. Split by stay, fold 0 of ten inside 80 %; weights of the last
epoch. Prints Markdown; docs/reproduction.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dx2px import Cohort, PaperConfig, PaperTraining, RunConfig, SplitConfig, train
from dx2px.methods.initial import InitConfig
from kept import spread_cells

SCHEMES = {
    "uniform ±1/M": InitConfig("uniform", None),
    "normal 0.01": InitConfig("normal", 0.01),
    "normal 0.1": InitConfig("normal", 0.1),
    "normal 0.3": InitConfig("normal", 0.3),
    "normal 1": InitConfig("normal", 1.0),
    "normal 0.1, attention ×0.1": InitConfig("normal", 0.1, attention_scale=0.1),
    "normal 0.1, attention ×3": InitConfig("normal", 0.1, attention_scale=3.0),
}


def f1(cohort: Cohort, variant: str, init: InitConfig, epochs: int, seed: int) -> list[float]:
    """Test F1 at 1, 3, 5 and 10, in per cent."""
    model = PaperConfig(variant=variant)  # type: ignore[arg-type]
    config = RunConfig(
        PaperTraining(model=model, init=init, epochs=epochs, seed=seed), SplitConfig(by="stay")
    )
    return list(train(cohort, config, threads=1).evaluate("test").mean("f1").values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=25)
    arguments = parser.parse_args()
    print("| cohort | variant | initialisation | F1@1, % | F1@3, % | F1@5, % | F1@10, % |")
    print("|---|---|---|---|---|---|---|")
    for path in arguments.cohorts:
        cohort = Cohort.load(path)
        for name, init in SCHEMES.items():
            for variant in ("e+pooling", "e+sa+ma"):
                if variant == "e+pooling" and "attention" in name:
                    continue
                runs = [f1(cohort, variant, init, arguments.epochs, seed) for seed in range(arguments.seeds)]
                print(f"| {path.stem} | {variant} | {name} | {' | '.join(spread_cells(runs))} |", flush=True)


if __name__ == "__main__":
    main()
