"""Planted mistakes that an audit finds on test stays, for each method, and whether findings keep the stated precision.

Run: python benchmarks/audit.py COHORT… [--methods coupling,linear] [--stays 5000] [--models FOLDER] [--out FOLDER]
80/20 by stay or patient (split seed 0), fold 0 of ten validates and calibrates. With --models, models are kept there
and taken from there when they are present. Writes COHORT.json to --out and prints Markdown: recall at 1, 5 and 10
findings per 100 stays for four kinds of mistake, with 95 % intervals; then stated and measured precision. With
--plain, each method is also measured with strengths that follow the probability alone, not how frequent a code is.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from dx2px import Cohort, Model
from dx2px.cohort import Split
from dx2px.evaluation.audit import Audited, AuditStudy, audit_study
from dx2px.evaluation.methods import method_named
from dx2px.evaluation.run import SplitConfig, learn
from dx2px.model.folder import ModelFiles

METHODS = "coupling,mlp,linear,e+sa+ma,cooccurrence,popularity"


def model_of(cohort: Cohort, method: str, folder: Path | None, threads: int) -> Model:
    """The model of a method for a cohort, learned where it is not kept."""
    if folder is not None and folder.is_dir():
        return Model.load(folder)
    trained = learn(cohort, method_named(method), threads=threads)
    if folder is not None:
        trained.save(folder)
    files: ModelFiles = trained.files()
    return Model(files)


def study(cohort: Cohort, split: Split, model: Model, stays: int, plain: bool = False) -> AuditStudy:
    """One method on some of the test stays."""
    files = model.files
    assert files.calibration is not None
    name, counts = (f"{files.method}, plain", None) if plain else (files.method, files.procedure_counts)
    rows = np.sort(np.random.default_rng(0).permutation(split.test)[:stays])
    audited = Audited(name, model.scorer.scores, files.calibration, counts)
    return audit_study(audited, cohort.subset(rows), cohort.subset(split.training(0)))


def show_recalls(name: str, studies: list[AuditStudy]) -> None:
    print(f"\n| {name} | mistake | 1 per 100 | 5 per 100 | 10 per 100 |\n|---|---|---|---|---|")
    for one in studies:
        for defect in dict.fromkeys(recall.defect for recall in one.recalls):
            cells = [f"{r.recall:.1f} ({r.low:.1f}–{r.high:.1f})" for r in one.recalls if r.defect == defect]
            print(f"| {one.method} | {defect} | {' | '.join(cells)} |")


def show_precisions(name: str, studies: list[AuditStudy]) -> None:
    print(f"\n| {name} | kind | stated | measured | findings per 100 stays |\n|---|---|---|---|---|")
    for one in studies:
        for p in one.precisions:
            measured = "–" if p.measured is None else f"{p.measured:.2f}"
            print(f"| {one.method} | {p.kind} | {p.stated:.2f} | {measured} | {p.per_100:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--stays", type=int, default=5000)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/audit"))
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for path in options.cohorts:
        cohort, studies = Cohort.load(path), []
        split = SplitConfig().split(cohort)
        for method in options.methods.split(","):
            folder = options.models / f"{path.stem}.{method}" if options.models else None
            model = model_of(cohort, method, folder, options.threads)
            ways = (False, True) if options.plain else (False,)
            studies += [study(cohort, split, model, options.stays, plain) for plain in ways]
        options.out.mkdir(parents=True, exist_ok=True)
        record = {"cohort": path.stem, "seed": 0, "studies": [one.to_dict() for one in studies]}
        (options.out / f"{path.stem}.json").write_text(json.dumps(record, indent=1) + "\n")
        show_recalls(path.stem, studies)
        show_precisions(path.stem, studies)


if __name__ == "__main__":
    main()
