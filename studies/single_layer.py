"""What would one attention layer do, which the paper says is left with K = 1? Test F1 with and without eq 4.

Run: python studies/single_layer.py nhds_small.parquet nhds_medium.parquet [--methods e+sa e+sa+ma]
Both rows have one head. *Two layers* is the paper's equations with K = 1, as `heads=1` trains them; *one layer* takes
the weights of eq 3 as they are, μ = w. The plain torch engine trains that one. Printed settings, split by stay, fold 0
of ten inside 80 %, weights of the last epoch. The effective number is the exponential of the entropy of μ, over test
stays with five or more diagnoses. Prints Markdown; docs/paper.md has the numbers. Runs are kept in
results/single_layer.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch

from attention_width import width
from dx2px import Cohort, Method, PaperConfig, PaperTraining, SplitConfig, __version__, declare
from dx2px.methods.paper import PaperModel, attention
from dx2px.methods.paper.network import PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.ragged import Ragged
from dx2px.scoring import segments
from dx2px.scoring.attention import AttentionScorer
from dx2px.scoring.methods import VECTORS
from dx2px.scoring.segments import Arrays, Floats
from dx2px.training.config import Device, Start
from dx2px.training.run import learn
from kept import over_seeds, spread_cells

Layers = Literal["one layer", "two layers"]
ROWS: tuple[Layers, ...] = ("two layers", "one layer")
AT = ("1", "3", "5", "10")


class OneLayer(PaperNetwork):
    """μ is the weight vector of the only head (eq 3); there is no B and no b."""

    def init(self, generator: torch.Generator, config: Any = None) -> PaperNetwork:
        super().init(generator, config)
        del self.B, self.b
        return self

    def significance(self, diagnoses: Ragged) -> torch.Tensor:
        code, stay = self._flat(diagnoses)
        scores = attention.head_scores(self.U, self.A, self.a)  # (d, 1)
        return attention.segment_softmax(scores[code], stay, len(diagnoses))[:, 0]  # (n,)


class OneLayerScorer(AttentionScorer):
    """The same from saved arrays; the second layer that the base class expects is there and not used."""

    def __init__(self, arrays: Arrays, pooling: Literal["max", "mean"] = "max") -> None:
        unused = {"B": arrays["a"][:, :1], "b": arrays["a"][:, 0]}
        super().__init__({**arrays, **unused}, pooling)

    def _significance(self, block: Ragged) -> Floats:
        assert self.attention is not None
        return segments.softmax(self.attention.head_scores(block.values), block)[:, 0]


class OneLayerTraining(PaperTraining):
    """The printed settings, with a network of one layer."""

    @property
    def method(self) -> str:
        return name_of(self.model.variant, "one layer")

    def learner(self, start: Start, device: Device = "cpu") -> PaperStep:
        generator = torch.Generator().manual_seed(self.seed)
        network = OneLayer(*start.sizes, self.model).init(generator, self.init)
        return PaperStep(network, self.transport, self.adam, engine="torch", seed=self.seed)


def name_of(method: str, layers: Layers) -> str:
    """What the runs are called."""
    return f"{method}, {layers}"


def run(path: Path, name: str, seed: int, epochs: int = 25) -> dict[str, Any]:
    """Test F1 and the width of the attention."""
    method, _, layers = name.partition(", ")
    model = PaperConfig(variant=method, heads=1)  # type: ignore[arg-type]
    training = OneLayerTraining if layers == "one layer" else PaperTraining
    learner = PaperModel(training(model=model, epochs=epochs))
    trained = learn(Cohort.load(path), learner, SplitConfig(by="stay"), seed=seed, threads=1)
    f1 = trained.evaluate("test").mean("f1")
    effective, largest = width(trained)
    return {
        "version": __version__,
        "f1": {str(L): value for L, value in f1.items()},
        "effective": effective,
        "largest": largest,
    }


def declare_single_layers(methods: list[str]) -> None:
    """So that training finds the scorer of one layer."""
    arrays: Mapping[str, tuple[str, ...]] = {
        **VECTORS,
        "A": ("head", "dim", "dim"),
        "a": ("head", "dim"),
    }
    for method in methods:
        name = name_of(method, "one layer")
        declare(Method(name, arrays, OneLayerScorer, "transport", PaperModel))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--methods", nargs="+", default=["e+sa", "e+sa+ma"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/single_layer.json"))
    arguments = parser.parse_args()
    declare_single_layers(arguments.methods)
    names = [name_of(method, layers) for method in arguments.methods for layers in ROWS]
    found = over_seeds(arguments.cohorts, names, arguments.seeds, arguments.out, run)
    print(
        f"| cohort | method | {' | '.join(f'F1@{L}, %' for L in AT)} | effective number | largest weight, % |"
    )
    print(f"|---|---{'|--:' * (len(AT) + 2)}|")
    for (cohort, name), runs in found.items():
        values = [[*one["f1"].values(), one["effective"], 100 * one["largest"]] for one in runs]
        print(f"| {cohort} | {name} | {' | '.join(spread_cells(values))} |")


if __name__ == "__main__":
    main()
