"""How does the start of the parameters change what a method with vectors learns? Test F1 for each scheme.

Run: python studies/initialisation.py COHORT… [--seeds 2] [--methods e+pooling e+sa+ma] [--only "normal 1"]
One thread, so that several can run side by side. Split by stay, fold 0 of ten inside 80 %; weights of the last
epoch. Prints Markdown; docs/reproduction.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dx2px import Cohort, PaperConfig, PaperTraining, SplitConfig
from dx2px.methods.bpr import Bpr, BprConfig
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import PaperModel
from dx2px.methods.word2vec import Word2Vec, Word2VecConfig
from dx2px.training.recommender import Recommender
from dx2px.training.run import learn
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


def made(method: str, init: InitConfig, epochs: int) -> Recommender:
    """A method with a start of its own."""
    if method == "bpr":
        return Bpr(BprConfig(init=init, epochs=epochs))
    if method == "word2vec":
        return Word2Vec(Word2VecConfig(init=init, epochs=epochs))
    model = PaperConfig(variant=method)  # type: ignore[arg-type]
    return PaperModel(PaperTraining(model=model, init=init, epochs=epochs))


def f1(cohort: Cohort, method: str, init: InitConfig, epochs: int, seed: int) -> list[float]:
    """Test F1 at 1, 3, 5 and 10, in per cent."""
    trained = learn(cohort, made(method, init, epochs), SplitConfig(by="stay"), seed=seed, threads=1)
    return list(trained.evaluate("test").mean("f1").values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--methods", nargs="+", default=["e+pooling", "e+sa+ma"])
    parser.add_argument("--only", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    arguments = parser.parse_args()
    print("| cohort | method | initialisation | F1@1, % | F1@3, % | F1@5, % | F1@10, % |")
    print("|---|---|---|---|---|---|---|")
    for path in arguments.cohorts:
        cohort = Cohort.load(path)
        for name in arguments.only:
            for method in arguments.methods:
                if "+sa" not in method and "attention" in name:
                    continue
                seeds = range(arguments.seeds)
                runs = [f1(cohort, method, SCHEMES[name], arguments.epochs, seed) for seed in seeds]
                print(f"| {path.stem} | {method} | {name} | {' | '.join(spread_cells(runs))} |", flush=True)


if __name__ == "__main__":
    main()
