"""What each part of the default model brings: test F1 on given cohorts, and how often its shares name the cause.

Run: python benchmarks/ablation.py COHORT… [--only NAMES] [--seeds 1] [--threads 1] [--out results/ablation]
80/20 by stay, fold 0 of ten validates. Each run is kept as a small JSON file, so an interrupted table goes on where it
stopped. A cohort with a planted truth beside it (`dx2px synthesize`) is also asked for causes. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding, softplus

from dx2px import Cohort, __version__
from dx2px.cohort.synthetic import Truth
from dx2px.errors import CohortError
from dx2px.evaluation.coupling import CouplingModel
from dx2px.evaluation.run import SplitConfig, Trained, learn
from dx2px.model.coupling import CouplingConfig, CouplingNetwork, Entries
from dx2px.model.coupling_step import CouplingStepper, OneCycle
from dx2px.model.draws import Source
from dx2px.training.config import CouplingTraining, Device, Learner, Start
from kept import Runs, over_seeds


class NoContext(CouplingNetwork):
    """A diagnosis means the same in any company."""

    def gate(self, U: Tensor, rows: Entries) -> Tensor:
        return torch.ones(len(rows.lengths), U.shape[1]) + 0 * (self.G.sum() + self.g.sum())


class MeanOfPairs(CouplingNetwork):
    """Diagnoses vote: the score is the mean of the pairs, not the logarithm of a sum of exponentials."""

    def totals(self, rows: Entries, generator: Source | None = None) -> Tensor:
        pairs = self.pairs(rows, generator)
        sums = torch.zeros(len(rows.lengths), pairs.shape[1]).index_add(0, rows.row, pairs)
        return sums / rows.lengths[:, None] + self.b


class Bce(CouplingNetwork):
    """Each procedure is a question of its own."""

    def surprise(self, s: Tensor, coded: Entries) -> Tensor:
        return softplus(s).sum() - s[coded.row, coded.codes].sum()


class Told(CouplingNetwork):
    """Knows how often codes occur."""

    def tell(self, start: Start) -> None:
        self.frequency = [
            torch.from_numpy(counts / max(start.stays, 1)).float()
            for counts in (start.diagnosis_counts, start.procedure_counts)
        ]


class DecayByRarity(Told):
    """Decay by one over the root of a code's frequency; a code of one in 75 stays decays as before."""

    @torch.no_grad()
    def shrink(self, rate: float) -> None:
        for X, f in zip((self.U, self.V), self.frequency, strict=True):
            factor = (75 * f.clamp_min(1e-6)).rsqrt()
            X.mul_((1 - rate * self.config.decay * factor).clamp_min(0)[:, None])


class WeightsOfPairs(Told):
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


@dataclass(frozen=True, kw_only=True)
class Ablated(CouplingTraining):
    """The default settings with another network, or without what categories share."""

    network: type[CouplingNetwork] = CouplingNetwork
    shared: bool = True

    def learner(self, start: Start, device: Device = "cpu") -> Learner:
        network = self.network(*start.sizes, self.model, start.categories if self.shared else None)
        if isinstance(network, Told):
            network.tell(start)
        shares = start.procedure_counts / max(start.stays, 1)
        network.init(torch.Generator().manual_seed(self.seed), start.diagnosis_counts, shares)
        return CouplingStepper(network, self.adam, OneCycle(start.steps), self.seed)


class AblatedModel(CouplingModel):
    """Scores with the network that was learned."""

    config: Ablated

    def _empty(self) -> CouplingNetwork:
        return self.config.network(*self.sizes, self.config.model)

    def _merged(self, weights: dict[str, Any]) -> dict[str, Any]:
        return super()._merged(weights) if self.config.shared else weights


def variations(base: Ablated) -> dict[str, Ablated]:
    """The full model, and what is left when a part is taken away."""

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
    """What was tried and not kept; run by --only."""
    return {
        "decay by rarity": replace(base, network=DecayByRarity),
        "weights of pairs": replace(base, network=WeightsOfPairs),
    }


def causes(trained: Trained, path: Path) -> dict[str, float] | None:
    """How often the pair of highest weight is the planted cause, beside the best possible; None without a truth."""
    try:
        truth = Truth.load(path)
    except CohortError:
        return None
    cohort, network = trained.cohort, trained.recommender.network  # type: ignore[attr-defined]
    found = np.empty(truth.offsets[-1], np.float32)
    for start in range(0, len(cohort), 500):
        rows = np.arange(start, min(start + 500, len(cohort)))
        with torch.no_grad():
            pairs = network.pairs(Entries.of(cohort.diagnoses.take(rows), torch.device("cpu"))).numpy()
        first = cohort.diagnoses.offsets[start]
        for entry in range(cohort.procedures.offsets[rows[0]], cohort.procedures.offsets[rows[-1] + 1]):
            row = cohort.procedures.row_of_entry[entry]
            span = slice(cohort.diagnoses.offsets[row] - first, cohort.diagnoses.offsets[row + 1] - first)
            found[truth.offsets[entry] : truth.offsets[entry + 1]] = pairs[
                span, cohort.procedures.values[entry]
            ]
    best = truth.top1_accuracy(truth.posterior)
    return {"top1": 100 * truth.top1_accuracy(found), "posterior": 100 * best}


def run(path: Path, config: Ablated, seed: int, threads: int) -> dict[str, Any]:
    """One run's numbers."""
    cohort, start = Cohort.load(path), time.perf_counter()
    trained = learn(cohort, AblatedModel(config), SplitConfig(by="stay"), seed=seed, threads=threads)
    seconds = round(time.perf_counter() - start, 1)
    measured = {part: trained.evaluate(part).to_dict() for part in ("validation", "test")}
    return {"version": __version__, "seconds": seconds, **measured, "causes": causes(trained, path)}


def table(results: Runs) -> str:
    """A row a cohort and variation."""
    tops = ("1", "3", "5", "10")
    head = [f"{part} F1@{L}" for part in ("validation", "test") for L in tops]
    lines = [
        f"| cohort | model | {' | '.join(head)} | cause named | of best | s |",
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
    parser.add_argument("--only", help="comma-separated names, of what was tried and not kept too")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/ablation"))
    arguments = parser.parse_args()
    base = Ablated(model=CouplingConfig())
    chosen = variations(base)
    if arguments.only:
        known, asked = chosen | tried(base), arguments.only.split(",")
        if unknown := [name for name in asked if name not in known]:
            parser.error(f"there is no {', '.join(unknown)}; there are {'; '.join(known)}")
        chosen = {name: known[name] for name in asked}
    print(
        table(
            over_seeds(
                arguments.cohorts,
                chosen,
                arguments.seeds,
                arguments.out,
                lambda path, name, seed: run(path, chosen[name], seed, arguments.threads),
            )
        )
    )


if __name__ == "__main__":
    main()
