"""Is what a model learns from a sample of the procedures as good as what it learns from all of them?

Run: python studies/sampled_procedures.py [--samples 250 500 1000] [--stays 16000]
Planted stays: 1,500 diagnoses, each the cause of six of 4,000 procedures, common ones and rare ones; some 2,400 of them
occur. The default method learns from the diagnoses with 64 dimensions in 8 epochs, over all procedures and over
samples of each size, one thread. Measured on validation stays. docs/scale.md has the numbers.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dx2px.cohort import Cohort
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.segments import log_softmax
from dx2px.training.loop import set_threads
from dx2px.training.run import SplitConfig

DIAGNOSES, PROCEDURES, EFFECTS = 1_500, 4_000, np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def planted(stays: int) -> Cohort:
    """Some of a stay's diagnoses bring one of their procedures each."""
    rng = np.random.default_rng(0)
    often = rng.permutation(np.arange(1, PROCEDURES + 1) ** -0.8)
    effects = [
        rng.choice(PROCEDURES, len(EFFECTS), replace=False, p=often / often.sum()) for _ in range(DIAGNOSES)
    ]
    common = np.arange(1, DIAGNOSES + 1) ** -0.6
    diagnoses, procedures = [], []
    for _ in range(stays):
        coded = rng.choice(DIAGNOSES, rng.integers(3, 9), replace=False, p=common / common.sum())
        causes = rng.choice(coded, min(len(coded), 1 + rng.poisson(1.5)), replace=False)
        found = {rng.choice(effects[cause], p=EFFECTS) for cause in causes}
        diagnoses.append([f"icd9cm:{code:04d}" for code in coded])
        procedures.append([f"icd9pcs:{code:04d}" for code in sorted(found)])
    return Cohort.from_lists(diagnoses, procedures)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--stays", type=int, default=16_000)
    arguments = parser.parse_args()
    set_threads(1)
    cohort = planted(arguments.stays)
    procedures = len(cohort.procedure_vocabulary)
    print(f"{procedures:,} procedures\n\n| sample | F1@1, @3, @5, @10, % | −log π per procedure | CPU s |")
    print("|---|---|---|---|")
    for sample in (procedures, *arguments.samples):
        print(f"| {sample:,} | {row(cohort, sample)} |", flush=True)


def row(cohort: Cohort, sample: int) -> str:
    """What a model learns, measured on the validation stays."""
    split = SplitConfig(by="stay").split(cohort)
    settings = CouplingTraining(epochs=8, model=CouplingConfig(dim=64, evidence="codes", sample=sample))
    start = time.process_time()
    model = CouplingModel(settings).fit(cohort, split.training(0), split.validation(0))
    seconds = time.process_time() - start
    held_out, scores = cohort.subset(split.validation(0)), model.scorer().scores
    f1 = evaluate(scores, held_out.diagnoses, held_out.procedures).mean("f1").values()
    surprise = -log_softmax(scores(held_out.diagnoses))[
        held_out.procedures.indicator(len(cohort.procedure_vocabulary))
    ]
    return f"{', '.join(f'{one:.1f}' for one in f1)} | {surprise.mean():.3f} | {seconds:.1f}"


if __name__ == "__main__":
    main()
