"""How does a model travel, and what does adapting bring? Test F1, mean ± spread over draws of the hospital's own stays.

Run: python studies/travel.py curves mdcr_icd9.parquet [--sizes 100 300 1000 3000] [--draws 3]
     python studies/travel.py regions nhds_small.parquet [--regions West Northeast]
     python studies/travel.py abroad COHORT…
`curves`: run k has fold k of the cohort as its validation stays (80/20 by stay). It draws that many training stays and
a ninth as many validation stays; all methods learn from the same ones and are tested on the whole test part. A
procedure that a method does not know counts as missed. Size 0 takes all training stays.
`regions`: three regions of NHDS make the base, the fourth is the hospital: the base alone, a model of its own, and the
adapted one, on the test stays of the fourth region. `abroad`: the package's model as it is, on foreign stays.
Runs are kept in results/travel.json, so an interrupted table goes on where it stopped. Prints Markdown; docs/travel.md
has the numbers. Every setting is chosen on validation stays; the confirmation file of NHDS is not read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dx2px import Cohort, Model, SplitConfig, __version__
from dx2px.lab.benchmark.settings import method_with
from dx2px.methods.coupling import CouplingModel
from dx2px.methods.coupling.adapted import AdaptedModel
from dx2px.methods.coupling.ladder import LADDER
from dx2px.methods.coupling.warm_start import Base
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.measured import measured_part
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.reliability import reliability
from dx2px.scoring.travel import travelled
from dx2px.training.calibrating import calibrated
from dx2px.training.loop import set_threads
from dx2px.training.recommender import Recommender
from dx2px.training.run import learn
from kept import kept, spread_cells

TOPS = (1, 3, 5, 10)
SHIPPED = "nhds2010"
Rows = np.ndarray[Any, np.dtype[np.int64]]


def f1_of(method: Recommender, stays: Cohort) -> list[float]:
    """Mean F1 at 1, 3, 5 and 10, in per cent."""
    scorer = method.scorer()
    found = evaluate(scorer.scores, stay_rows(scorer, stays), stays.procedures).mean("f1")
    return [round(found[top], 3) for top in TOPS]


def drawn(cohort: Cohort, size: int, run: int) -> tuple[Rows, Rows, Rows]:
    """Training, validation and test rows of a draw; a size of 0 takes all."""
    parts = SplitConfig(by="stay").split(cohort)
    rng = np.random.default_rng(run)
    training, validation = (rng.permutation(rows) for rows in (parts.training(run), parts.validation(run)))
    if size:
        training, validation = training[:size], validation[: -(-size // 9)]
    return np.sort(training), np.sort(validation), parts.test


def on_curve(cohort: Cohort, name: str, size: int, run: int) -> dict[str, Any]:
    """One method, taught by one draw."""
    training, validation, test = drawn(cohort, size, run)
    record: dict[str, Any] = {"version": __version__, "stays": len(training)}
    if name in ("base", "adapted"):
        base = Base.of(Model.load(SHIPPED).files, SHIPPED, cohort)
        model = AdaptedModel(base, () if name == "base" else LADDER)
        model.fit(base.cohort, training, validation, seed=run)
        record |= {"tried": model.tried, "test": f1_of(model, base.cohort.subset(test))}
        return record | {"gap": mean_gap(model, base.cohort, training, validation, test)}
    method = CouplingModel() if name == "scratch" else method_with(name, {})
    method.fit(cohort, training, validation, seed=run)
    return record | {"test": f1_of(method, cohort.subset(test))}


def mean_gap(
    method: Recommender, cohort: Cohort, training: Rows, validation: Rows, test: Rows
) -> dict[str, Any]:
    """How far probabilities of 30 % and more are from what was coded, procedure by procedure."""
    scorer = method.scorer()
    stage = calibrated(method, scorer, cohort.subset(training), cohort.subset(validation))
    stays = cohort.subset(test)
    found = reliability(stage, scorer.scores, stay_rows(scorer, stays), stays.procedures).procedures
    return {"mean": found.mean_gap, "by_chance": found.by_chance, "procedures": len(found.gaps)}


def curves(path: Path, sizes: list[int], draws: int, methods: list[str], out: Path) -> None:
    """The learning curves of all methods on one cohort."""
    cohort = Cohort.load(path)
    print(f"| own stays | method | {' | '.join(f'F1@{top}, %' for top in TOPS)} |\n{'|---' * 6}|")
    for size in sizes:
        for name in methods:
            runs = [
                kept(
                    out,
                    f"{path.stem}/{size or 'all'}/{name}/{run}",
                    partial(on_curve, cohort, name, size, run),
                )
                for run in range(draws)
            ]
            cells = " | ".join(spread_cells([run["test"] for run in runs]))
            print(f"| {runs[0]['stays']:,} | {name} | {cells} |", flush=True)


def across(cohort: Cohort, region: str) -> dict[str, Any]:
    """Three regions learn, the fourth is the hospital; its own split has its test stays."""
    assert cohort.context is not None
    here = np.array(cohort.context.column("region").to_pylist()) == region
    others, own = cohort.subset(np.flatnonzero(~here)), cohort.subset(np.flatnonzero(here))
    taught = learn(others, CouplingModel(), SplitConfig(by="stay"), threads=1)
    base = Base.of(taught.files(), f"all but {region}", own)
    alone, adapted = (
        learn(base.cohort, AdaptedModel(base, ladder), SplitConfig(by="stay"), threads=1)
        for ladder in ((), LADDER)
    )
    scratch = learn(own, CouplingModel(), SplitConfig(by="stay"), threads=1)
    named = {"base": alone, "scratch": scratch, "adapted": adapted}
    found = {name: f1_of(one.recommender, one.stays("test")) for name, one in named.items()}
    gap = adapted.reliability("test").procedures
    return {
        "version": __version__,
        "stays": len(own),
        **found,
        "gap": {"mean": gap.mean_gap, "by_chance": gap.by_chance, "procedures": len(gap.gaps)},
        "tried": adapted.recommender.settings()["adapted"]["tried"],
    }


def regions(path: Path, names: list[str], out: Path) -> None:
    """Region to region."""
    cohort = Cohort.load(path)
    print(f"| region | stays | model | {' | '.join(f'F1@{top}, %' for top in TOPS)} |\n{'|---' * 7}|")
    for region in names:
        run = kept(out, f"{path.stem}/region/{region}", partial(across, cohort, region))
        for name in ("base", "scratch", "adapted"):
            cells = " | ".join(f"{value:.1f}" for value in run[name])
            print(f"| {region} | {run['stays']:,} | {name} | {cells} |", flush=True)


def visited(path: Path) -> dict[str, Any]:
    """The package's model on foreign stays, as `dx2px evaluate` measures it."""
    model, cohort = Model.load(SHIPPED), Cohort.load(path)
    wider = model.extended(cohort.diagnosis_vocabulary)
    found = measured_part(wider.files, cohort)
    assert wider.files.calibration is not None
    rows = stay_rows(wider.scorer, found.stays)
    metrics = evaluate(wider.scorer.scores, rows, found.stays.procedures)
    trust = reliability(wider.files.calibration, wider.scorer.scores, rows, found.stays.procedures)
    record = travelled(model.files, cohort, found.stays.procedures, metrics, trust).to_dict()
    return {"version": __version__, "test": [round(metrics.mean("f1")[top], 3) for top in TOPS], **record}


def abroad(paths: list[Path], out: Path) -> None:
    """The package's model as it is."""
    print(f"| cohort | stays | {' | '.join(f'F1@{top}, %' for top in TOPS)} | verdict |\n{'|---' * 7}|")
    for path in paths:
        run = kept(out, f"{path.stem}/abroad", partial(visited, path))
        cells = " | ".join(f"{value:.1f}" for value in run["test"])
        print(f"| {path.stem} | {run['stays']:,} | {cells} | {run['verdict']} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("curves", "regions", "abroad"))
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--sizes", nargs="*", type=int, default=[100, 300, 1000, 3000, 0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=["base", "scratch", "linear", "mlp", "adapted"])
    parser.add_argument("--regions", nargs="*", default=["West", "Northeast", "Midwest", "South"])
    parser.add_argument("--out", type=Path, default=Path("results/travel.json"))
    given = parser.parse_args()
    set_threads(1)
    tables: dict[str, Callable[[], None]] = {
        "curves": lambda: curves(given.cohorts[0], given.sizes, given.draws, given.methods, given.out),
        "regions": lambda: regions(given.cohorts[0], given.regions, given.out),
        "abroad": lambda: abroad(given.cohorts, given.out),
    }
    tables[given.what]()


if __name__ == "__main__":
    main()
