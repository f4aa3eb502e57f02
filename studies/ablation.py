"""What does each part of the default model bring? Test F1 on cohorts, and how often its shares name the planted cause.

All models answer from diagnoses alone.

Run: python studies/ablation.py COHORT… [--only NAMES] [--seeds 1] [--threads 1] [--out results/ablation.json]
80/20 split by stay, fold 0 of ten validates. Runs are kept in a JSON file, so an interrupted table goes on where it
stopped. Where a cohort has a planted truth beside it (`dx2px synthesize`), causes are measured too. Prints
Markdown; docs/method.md has the numbers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding, softplus

from dx2px import Cohort, __version__
from dx2px.errors import CohortError
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.synthetic import Truth
from dx2px.methods.coupling.entries import Entries
from dx2px.methods.coupling.model import CouplingModel
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.methods.coupling.step import CouplingStep, OneCycle
from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.methods import METHODS, Method, declare
from dx2px.scoring.segments import Arrays, Floats, Places
from dx2px.training.config import Device, Start
from dx2px.training.draws import Source
from dx2px.training.run import SplitConfig, Trained, learn
from kept import Runs, over_seeds


class NoContext(CouplingNetwork):
    """A diagnosis means the same in any stay: the gate is 1."""

    def gate(self, U: Tensor, rows: Entries) -> Tensor:
        return torch.ones(len(rows.lengths), U.shape[1]) + 0 * (self.G.sum() + self.g.sum())

    def arrays(self) -> dict[str, Tensor]:
        kept = super().arrays()
        return kept | {"G": torch.zeros_like(kept["G"]), "g": torch.zeros_like(kept["g"])}  # 1 + tanh 0


class MeanOfPairs(CouplingNetwork):
    """Diagnoses vote: the score is the mean over the pairs, not the logarithm of a sum of exponentials."""

    def totals(self, rows: Entries, generator: Source | None = None) -> Tensor:
        pairs = self.pairs(rows, generator)
        sums = torch.zeros(len(rows.lengths), pairs.shape[1]).index_add(0, rows.row, pairs)
        return sums / rows.lengths[:, None] + self.b


class Bce(CouplingNetwork):
    """Each procedure is a question of its own: binary cross-entropy."""

    def surprise(self, s: Tensor, coded: Entries) -> Tensor:
        return softplus(s).sum() - s[coded.row, coded.codes].sum()


class KnowsFrequencies(CouplingNetwork):
    """Knows in which share of the training stays each code occurs."""

    def learn_frequencies(self, start: Start) -> None:
        self.frequency = [
            torch.from_numpy(counts / max(start.stays, 1)).float()
            for counts in (start.diagnosis_counts, start.procedure_counts)
        ]


class DecayByRarity(KnowsFrequencies):
    """Decay goes with one over the root of a code's frequency; a code of one in 75 stays decays as before."""

    @torch.no_grad()
    def shrink(self, rate: float) -> None:
        for X, f in zip((self.U, self.V), self.frequency, strict=True):
            factor = (75 * f.clamp_min(1e-6)).rsqrt()
            X.mul_((1 - rate * self.config.decay * factor).clamp_min(0)[:, None])


class WeightsOfPairs(KnowsFrequencies):
    """Diagnoses of at least 1 % of the stays have a free weight for each procedure."""

    def __init__(self, diagnoses: int, procedures: int, config: CouplingConfig, *shared: Any) -> None:
        super().__init__(diagnoses, procedures, config, *shared)
        self.W = torch.nn.Parameter(torch.zeros(diagnoses, procedures))

    def pairs(self, rows: Entries, generator: Source | None = None) -> Tensor:
        return super().pairs(rows, generator) + embedding(rows.codes, self.W)

    @torch.no_grad()
    def shrink(self, rate: float) -> None:
        super().shrink(rate)
        self.W.mul_((self.frequency[0] >= 0.01)[:, None] * (1 - rate * self.config.decay))

    def arrays(self) -> dict[str, Tensor]:
        return super().arrays() | {"W": self.W.detach()}


class MeanScorer(CouplingScorer):
    """Scores of `MeanOfPairs`."""

    def scores(self, diagnoses: Ragged) -> Floats:
        sums = np.add.reduceat(self.pairs(diagnoses), diagnoses.offsets[:-1])
        found: Floats = sums / diagnoses.lengths[:, None].astype(np.float32) + self.b
        return found


class WeightsScorer(CouplingScorer):
    """Scores of `WeightsOfPairs`."""

    def __init__(self, arrays: Arrays, layout: EvidenceLayout | None = None) -> None:
        super().__init__(arrays, layout)
        self.W = arrays["W"]

    def _placed(self, places: Places, rows: Ragged) -> Floats:
        found: Floats = super()._placed(places, rows) + self.W[rows.values[places.entries]]
        return found


@dataclass(frozen=True, kw_only=True)
class Ablated(CouplingTraining):
    """The default settings with another network, or without what categories share."""

    network: type[CouplingNetwork] = CouplingNetwork
    shared: bool = True

    @property
    def method(self) -> str:
        """A name of its own: a model is scored by the scorer that its method declares."""
        return f"ablated {self.network.__name__}"

    def learner(self, start: Start, device: Device = "cpu") -> CouplingStep:
        network = self.network(*start.sizes, self.model, start.categories if self.shared else None)
        if isinstance(network, KnowsFrequencies):
            network.learn_frequencies(start)
        shares = start.procedure_counts / max(start.stays, 1)
        network.init(torch.Generator().manual_seed(self.seed), start.diagnosis_counts, shares)
        return CouplingStep(network, self.adam, OneCycle(start.steps), self.seed)


class AblatedModel(CouplingModel):
    """Keeps the arrays of the network that was learned."""

    config: Ablated

    def _network(self, weights: Mapping[str, NDArray[Any]]) -> CouplingNetwork:
        dx, px = self.vocabularies
        categories = (dx.categories, px.categories) if self.config.shared else None
        network = self.config.network(len(dx), len(px), self.config.model, categories)
        network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        return network


SCORERS: dict[type[CouplingNetwork], type[CouplingScorer]] = {
    CouplingNetwork: CouplingScorer,
    NoContext: CouplingScorer,
    MeanOfPairs: MeanScorer,
    Bce: CouplingScorer,
    DecayByRarity: CouplingScorer,
    WeightsOfPairs: WeightsScorer,
}
for _network, _scorer in SCORERS.items():
    _arrays = METHODS["coupling"].arrays
    declare(Method(f"ablated {_network.__name__}", _arrays, _scorer, "coupling", AblatedModel))


def variations(base: Ablated) -> dict[str, Ablated]:
    """The full model, and the model with one part changed or taken away."""

    def model(**changes: float) -> Ablated:
        return replace(base, model=replace(base.model, **changes))

    return {
        "full": base,
        "no shared parts of categories": replace(base, shared=False),
        "no context": replace(base, network=NoContext),
        "mean of pairs, no attention": replace(base, network=MeanOfPairs),
        "BCE instead of softmax": replace(base, network=Bce),
        "no weights of stays": model(balance=1e9),
        "no decay": model(decay=0.0),
        "no dropout of features": model(dropout=1e-9),
        "dropout of diagnoses too": model(diagnosis_dropout=0.1),
        "half the dimensions": model(dim=base.model.dim // 2),
        "half the epochs": replace(base, epochs=base.epochs // 2),
        "twice the epochs": replace(base, epochs=base.epochs * 2),
        "half the learning rate": replace(base, adam=replace(base.adam, lr=base.adam.lr / 2)),
        "twice the learning rate": replace(base, adam=replace(base.adam, lr=base.adam.lr * 2)),
    }


def tried(base: Ablated) -> dict[str, Ablated]:
    """What was tried and not kept; run with --only."""
    return {
        "decay by rarity": replace(base, network=DecayByRarity),
        "weights of pairs": replace(base, network=WeightsOfPairs),
    }


def causes(trained: Trained, path: Path) -> dict[str, float] | None:
    """How often the diagnosis of largest share is the planted cause, and the best possible; None without a truth."""
    try:
        truth = Truth.load(path)
    except CohortError:
        return None
    assert isinstance(trained.cohort, Cohort)
    assert isinstance(trained.scorer, CouplingScorer)
    found = Pairs(trained.cohort.diagnoses, trained.cohort.procedures).pick(trained.scorer.pairs)
    best = truth.top1_accuracy(truth.posterior)
    return {"top1": 100 * truth.top1_accuracy(found), "posterior": 100 * best}


def run(path: Path, config: Ablated, seed: int, threads: int) -> dict[str, Any]:
    """The numbers of one run."""
    cohort, start = Cohort.load(path), time.perf_counter()
    trained = learn(cohort, AblatedModel(config), SplitConfig(by="stay"), seed=seed, threads=threads)
    seconds = round(time.perf_counter() - start, 1)
    measured = {part: trained.evaluate(part).to_dict() for part in ("validation", "test")}
    return {"version": __version__, "seconds": seconds, **measured, "causes": causes(trained, path)}


def table(results: Runs) -> str:
    """One row per cohort and variation."""
    tops = ("1", "3", "5", "10")
    head = [f"{part} F1@{L}, %" for part in ("validation", "test") for L in tops]
    lines = [
        f"| cohort | model | {' | '.join(head)} | cause named, % | of the best possible, % | seconds |",
        "|---" * (len(head) + 5) + "|",
    ]
    for (cohort, name), runs in results.items():
        cells = [
            f"{np.mean([one[part]['top'][L]['f1'] for one in runs]):.2f}"
            for part in ("validation", "test")
            for L in tops
        ]
        named = [one["causes"] for one in runs if one["causes"]]
        top1, best = (
            np.mean([one[key] for one in named]) if named else None for key in ("top1", "posterior")
        )
        cells += [f"{top1:.1f}", f"{100 * top1 / best:.1f}"] if named else ["–", "–"]
        cells.append(f"{np.mean([one['seconds'] for one in runs]):.0f}")
        lines.append(f"| {cohort} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--only", help="comma-separated names, including those that were tried and not kept")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/ablation.json"))
    given = parser.parse_args()
    base = Ablated(model=CouplingConfig(evidence="codes"))
    chosen = variations(base)
    if given.only:
        known, asked = chosen | tried(base), given.only.split(",")
        if unknown := [name for name in asked if name not in known]:
            parser.error(f"there is no {', '.join(unknown)}; there are {'; '.join(known)}")
        chosen = {name: known[name] for name in asked}

    def one(path: Path, name: str, seed: int) -> dict[str, Any]:
        return run(path, chosen[name], seed, given.threads)

    print(table(over_seeds(given.cohorts, chosen, given.seeds, given.out, one)))


if __name__ == "__main__":
    main()
