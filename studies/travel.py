"""How does a model travel, and what does adapting bring? Test F1, mean ± spread over draws of the hospital's own stays.

Run: python studies/travel.py curves mdcr_icd9.parquet [--sizes 100 300 1000 3000] [--draws 3] [--base nhds2010]
     python studies/travel.py regions nhds_small.parquet [--regions West Northeast]
     python studies/travel.py abroad COHORT… [--card MODEL]
     python studies/travel.py time mdcr_icd9.parquet [--sizes 100000]
     python studies/travel.py tables
`curves`: run k has fold k of the cohort as its validation stays (80/20 by stay). It draws that many training stays and
a ninth as many validation stays; all methods learn from the same ones and are tested on the whole test part. A
procedure that a method does not know counts as missed. Size 0 takes all training stays.
`regions`: three regions of NHDS make the base, the fourth is the hospital: the base alone, a model of its own, and the
adapted one, on the test stays of the fourth region. `abroad`: the package's model as it is, on foreign stays; with
--card, the figures go into that model's folder and card. `time`: how long adapting takes, on a cohort repeated until
it has so many stays.
Runs are kept in results/travel.json, so an interrupted table goes on where it stopped; what starts from a model is
measured again once the model is another. `tables` makes the tables of docs/travel.md from them. Every setting is chosen
on validation stays; the confirmation file of NHDS is not read.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dx2px import Cohort, Model, SplitConfig, __version__
from dx2px.answers.cohort_reading import read_by
from dx2px.lab.benchmark.settings import method_with
from dx2px.lab.blocks import with_blocks
from dx2px.lab.tables import table
from dx2px.methods.coupling import CouplingModel
from dx2px.methods.coupling.adapted import AdaptedModel
from dx2px.methods.coupling.ladder import LADDER
from dx2px.methods.coupling.warm_start import Base
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.folder import write_folder
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.measured import measured_part
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.per_procedure import PerProcedure
from dx2px.scoring.reliability import reliability
from dx2px.scoring.travel import travelled
from dx2px.storage import write_text
from dx2px.training.calibrating import calibrated
from dx2px.training.card import with_external
from dx2px.training.loop import set_threads
from dx2px.training.recommender import Recommender
from dx2px.training.run import learn
from kept import keep, kept, spread_cells

TOPS = (1, 3, 5, 10)
SHIPPED = "nhds2010"
PAGE = Path("docs/travel.md")
NAMES = {"base": "the base alone", "scratch": "from scratch", "adapted": "**adapted**"}
COHORTS = {
    "mdcr_icd9": "mdcr, ICD-9 (synthetic, paediatric)",
    "mdcr_icd10": "mdcr, ICD-10 (synthetic, paediatric)",
    "mimic3demo": "MIMIC-III demo",
    "mimic4demo_icd9": "MIMIC-IV demo, ICD-9",
    "synpuf": "DE-SynPUF (synthetic claims)",
}
Rows = np.ndarray[Any, np.dtype[np.int64]]


def f1_of(method: Recommender, stays: Cohort) -> list[float]:
    """Mean F1 at 1, 3, 5 and 10, in per cent."""
    scorer = method.scorer()
    found = evaluate(scorer.scores, stay_rows(scorer, stays), stays.procedures).mean("f1")
    return [round(found[top], 3) for top in TOPS]


def of_model(out: Path, name: str, model: Model, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is kept under this name, if it is of this very model; else it is measured again."""
    record = kept(out, name, run)
    if record.get("model") != fingerprint(model.files)[:12]:
        keep(out, name, record := run())
    return record


def drawn(cohort: Cohort, size: int, run: int) -> tuple[Rows, Rows, Rows]:
    """Training, validation and test rows of a draw; a size of 0 takes all."""
    parts = SplitConfig(by="stay").split(cohort)
    rng = np.random.default_rng(run)
    training, validation = (rng.permutation(rows) for rows in (parts.training(run), parts.validation(run)))
    if size:
        training, validation = training[:size], validation[: -(-size // 9)]
    return np.sort(training), np.sort(validation), parts.test


def on_curve(cohort: Cohort, start: str, name: str, size: int, run: int) -> dict[str, Any]:
    """One method, taught by one draw."""
    training, validation, test = drawn(cohort, size, run)
    record: dict[str, Any] = {"version": __version__, "stays": len(training)}
    if name in ("base", "adapted"):
        files = Model.load(start).files
        record |= {"model": fingerprint(files)[:12]}
        base = Base.of(files, start, cohort)
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
    return gap_record(found)


def gap_record(found: PerProcedure) -> dict[str, Any]:
    """The mean gap, what chance alone would give, and how much that would vary from one test part to the next."""
    squares = [one.predicted * (1 - one.predicted) / one.stays for one in found.gaps]
    varies = float(np.sqrt((1 - 2 / np.pi) * sum(squares)) / len(squares)) if squares else None
    shown = {"mean": found.mean_gap, "by_chance": found.by_chance, "varies": varies}
    return {**shown, "procedures": len(found.gaps)}


def curves(path: Path, start: str, sizes: list[int], draws: int, methods: list[str], out: Path) -> None:
    """The learning curves of all methods on one cohort."""
    cohort, model = Cohort.load(path), Model.load(start)
    print(f"| own stays | method | {' | '.join(f'F1@{top}, %' for top in TOPS)} |\n{'|---' * 6}|")
    for size in sizes:
        for name in methods:
            keeping = partial(of_model, model=model) if name in ("base", "adapted") else kept
            runs = [
                keeping(
                    out,
                    f"{path.stem}/{size or 'all'}/{name}/{run}",
                    run=partial(on_curve, cohort, start, name, size, run),
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
        "gap": gap_record(gap),
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


def visited(path: Path, model: Model) -> dict[str, Any]:
    """A model on foreign stays, as `dx2px evaluate --back-off` measures it."""
    cohort = read_by(model, Cohort.load(path), True).cohort
    wider = model.extended(cohort.diagnosis_vocabulary)
    found = measured_part(wider.files, cohort)
    assert wider.files.calibration is not None
    rows = stay_rows(wider.scorer, found.stays)
    metrics = evaluate(wider.scorer.scores, rows, found.stays.procedures)
    trust = reliability(wider.files.calibration, wider.scorer.scores, rows, found.stays.procedures)
    record = travelled(model.files, cohort, found.stays.procedures, metrics, trust).to_dict()
    measured = {str(top): round(metrics.mean("f1")[top], 3) for top in TOPS}
    return {"version": __version__, "model": fingerprint(model.files)[:12], **record, "f1": measured}


def abroad(paths: list[Path], folder: Path | None, out: Path) -> None:
    """A model as it is, by default the package's; what was measured goes into its card where that is asked for."""
    model, lines = Model.load(folder or SHIPPED), []
    for path in paths:
        name = f"{path.stem}/abroad"
        run = of_model(out, name, model, partial(visited, path, model))
        lines.append({"cohort": COHORTS.get(path.stem, path.stem), **run})
    print(_abroad(lines))
    if folder is not None:
        files = model.files
        assert files.measured is not None
        known = {"external": lines} | {
            name: value for name, value in files.measured.items() if name != "external"
        }
        half = all(np.array_equal(array, array.astype(np.float16)) for array in files.weights.values())
        write_folder(folder, replace(files, measured=known, card=with_external(files.card, lines)), half=half)


def timed(path: Path, start: str, stays: int) -> dict[str, Any]:
    """How long adapting takes, to its probabilities, on a cohort repeated until it has so many stays."""
    cohort = Cohort.load(path)
    cohort = cohort.subset(np.arange(stays) % len(cohort))
    base = Base.of(Model.load(start).files, start, cohort)
    began = perf_counter()
    model = learn(base.cohort, AdaptedModel(base), SplitConfig(by="stay"))
    learned = perf_counter()
    assert model.calibration is not None
    done = perf_counter()
    return {
        "version": __version__,
        "stays": stays,
        "learning": round(learned - began),
        "probabilities": round(done - learned),
        "tried": len({run.get("rate") for run in model.recommender.settings()["adapted"]["tried"]}) - 1,
    }


def times(path: Path, start: str, sizes: list[int], out: Path) -> None:
    """Seconds of learning, and of fitting probabilities."""
    for size in sizes:
        print(kept(out, f"{path.stem}/time/{size}", partial(timed, path, start, size)))


def tables(out: Path, page: Path) -> None:
    """Make the tables of the document again."""
    made = blocks(json.loads(out.read_text(encoding="utf-8")))
    write_text(page, with_blocks(page.read_text(encoding="utf-8"), made))


def blocks(runs: dict[str, Any]) -> dict[str, str]:
    """The tables of the document, from the kept runs."""
    elsewhere = {name: runs.get(f"{stem}/abroad") for stem, name in COHORTS.items()}
    return {
        **{stem: _curves(runs, stem) for stem in ("mdcr_icd9", "mdcr_icd10")},
        "regions": _regions(runs),
        "abroad": _abroad({"cohort": name} | run for name, run in elsewhere.items() if run is not None),
    }


def _curves(runs: dict[str, Any], stem: str) -> str:
    lines = []
    for size in ("100", "300", "1000", "3000", "all"):
        for name in ("base", "scratch", "linear", "mlp", "adapted"):
            found = [run for key, run in runs.items() if key.startswith(f"{stem}/{size}/{name}/")]
            if found:
                stays = f"{found[0]['stays']:,}{', all' if size == 'all' else ''}"
                shown = [stays, NAMES.get(name, f"`{name}`"), str(len(found))]
                lines.append([*shown, *spread_cells([run["test"] for run in found]), _gap(found)])
    return _table(["own stays", "model", "draws"], lines)


def _regions(runs: dict[str, Any]) -> str:
    lines = []
    for key, run in runs.items():
        if "/region/" in key:
            for name in ("base", "scratch", "adapted"):
                shown = [key.rsplit("/", 1)[1], f"{run['stays']:,}", NAMES[name]]
                gap = _gap([run]) if name == "adapted" else "–"
                lines.append([*shown, *spread_cells([run[name]]), gap])
    return _table(["region", "stays", "model"], lines)


def _gap(runs: list[dict[str, Any]]) -> str:
    """Mean over the draws ± their spread and, in brackets, what chance alone would give."""
    gaps = [run["gap"] for run in runs if run.get("gap", {}).get("mean") is not None]
    if not gaps:
        return "–"
    found, chance = ([[100 * one[name]] for one in gaps] for name in ("mean", "by_chance"))
    return f"{spread_cells(found)[0]} ({np.mean(chance):.1f})"


def _table(heads: list[str], lines: list[list[str]]) -> str:
    return table([*heads, *(f"F1@{top}, %" for top in TOPS), "gap, points (by chance)"], lines, right=5)


def _abroad(lines: Iterable[dict[str, Any]]) -> str:
    heads = ["cohort", "stays", *(f"F1@{top}, %" for top in TOPS), "verdict"]
    rows = [
        [run["cohort"], f"{run['stays']:,}", *spread_cells([list(run["f1"].values())]), run["verdict"]]
        for run in lines
    ]
    return table(heads, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("curves", "regions", "abroad", "time", "tables"))
    parser.add_argument("cohorts", nargs="*", type=Path)
    parser.add_argument("--base", default=SHIPPED)
    parser.add_argument("--sizes", nargs="*", type=int, default=[100, 300, 1000, 3000, 0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="*", default=["base", "scratch", "linear", "mlp", "adapted"])
    parser.add_argument("--regions", nargs="*", default=["West", "Northeast", "Midwest", "South"])
    parser.add_argument("--card", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/travel.json"))
    given = parser.parse_args()
    if given.what != "tables" and not given.cohorts:
        parser.error(f"{given.what} needs a cohort")
    if given.what != "time":
        set_threads(1)
    kinds: dict[str, Callable[[], None]] = {
        "curves": lambda: curves(
            given.cohorts[0], given.base, given.sizes, given.draws, given.methods, given.out
        ),
        "time": lambda: times(given.cohorts[0], given.base, given.sizes, given.out),
        "tables": lambda: tables(given.out, PAGE),
        "regions": lambda: regions(given.cohorts[0], given.regions, given.out),
        "abroad": lambda: abroad(given.cohorts, given.card, given.out),
    }
    kinds[given.what]()


if __name__ == "__main__":
    main()
