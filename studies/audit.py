"""How many planted mistakes does an audit find on test stays, and do its findings keep the stated precision?

Run: python studies/audit.py COHORT… [--methods coupling,linear] [--stays 5000] [--models FOLDER] [--out FILE]
80/20 by stay or patient (split seed 0), fold 0 of ten validates and calibrates. With --models, models are kept there
and read from there when they are present. Keeps the numbers in --out and prints Markdown: recall at 1, 5 and 10
findings per 100 stays for six kinds of mistake, with 95 % intervals; then stated and measured precision, and what else
was measured. With --alone, a model that takes coded procedures is also measured from the diagnoses alone; with --part
validation, on the stays that chose and calibrated it. With --groups, nothing is planted: it prints what is found in
all test stays. docs/audit.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dx2px import AuditSettings, Cohort, Model, audit_file
from dx2px.answers.defects import KINDS
from dx2px.cohort import Split
from dx2px.lab.audit_study import AuditStudy, audit_study
from dx2px.methods import recommender
from dx2px.training.run import SplitConfig, learn
from kept import keep

LEAST = 11  # stays of a group that is printed
SHOWN = 10  # procedures of which most removed ones are found
METHODS = "coupling,mlp,linear,e+sa+ma,cooccurrence,popularity"


def model_of(cohort: Cohort, method: str, folder: Path | None, threads: int) -> Model:
    """The model of a method for a cohort, trained unless it is kept."""
    if folder is not None and folder.is_dir():
        return Model.load(folder)
    trained = learn(cohort, recommender(method), threads=threads)
    if folder is not None:
        trained.save(folder)
    return Model(trained.files())


def study(cohort: Cohort, split: Split, model: Model, options: argparse.Namespace, alone: bool) -> AuditStudy:
    """One model on some of the test stays."""
    part = split.test if options.part == "test" else split.validation(0)
    rows = np.sort(np.random.default_rng(0).permutation(part)[: options.stays])
    return audit_study(model, cohort.subset(rows), cohort.subset(split.training(0)), alone=alone)


def show_recalls(name: str, studies: list[AuditStudy]) -> None:
    print(f"\n| {name} | mistake | recall, %, at 1 finding per 100 stays | at 5 per 100 | at 10 per 100 |")
    print("|---|---|---|---|---|")
    for one in studies:
        for defect in dict.fromkeys(recall.defect for recall in one.recalls):
            cells = [f"{r.recall:.1f} ({r.low:.1f}–{r.high:.1f})" for r in one.recalls if r.defect == defect]
            print(f"| {one.method} | {defect} | {' | '.join(cells)} |")


def show_precisions(name: str, studies: list[AuditStudy]) -> None:
    print(
        f"\n| {name} | kind | stated precision | measured precision | findings per 100 stays |\n|---|---|---|---|---|"
    )
    for one in studies:
        for p in one.precisions:
            measured = "–" if p.measured is None else f"{p.measured:.2f}"
            print(f"| {one.method} | {p.kind} | {p.stated:.2f} | {measured} | {p.per_100:.2f} |")


def show_others(name: str, studies: list[AuditStudy]) -> None:
    print(f"\n| {name} | suggested, % | swaps among omitted, % | calibration gap, % |\n|---|---|---|---|")
    for one in studies:
        cells = (one.suggested, one.swaps_among_omitted, one.calibration_gap)
        print(f"| {one.method} | {' | '.join(f'{cell:.1f}' for cell in cells)} |")
        for found in one.procedures[:SHOWN]:
            print(f"|  {found.code} | {found.found} of {found.removed} | | |")


def show_found(name: str, stays: Cohort, model: Model) -> None:
    """What an audit finds in all test stays as they are: counts and groups, none of fewer than `LEAST` stays."""
    with TemporaryDirectory() as folder:
        stays.save(Path(folder) / "stays.parquet")
        found = audit_file(model, Path(folder) / "stays.parquet", AuditSettings(kinds=KINDS))
    print(f"\n{name}: {found.counts.stays:,} stays, {found.counts.stays_with_findings:,} with findings")
    print("\n| kind | procedure | stays | probability |\n|---|---|---|---|")
    for kind, number in found.counts.by_kind.items():
        print(f"| {kind} | all | {number if number >= LEAST else f'under {LEAST}'} | |")
    for group in found.groups():
        if group.stays >= LEAST:
            print(f"| {group.kind} | {group.code} {group.title} | {group.stays} | {group.probability:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--stays", type=int, default=5000)
    parser.add_argument("--part", choices=("test", "validation"), default="test")
    parser.add_argument("--models", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/audit.json"))
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for path in options.cohorts:
        cohort, studies = Cohort.load(path), []
        split = SplitConfig().split(cohort)
        for method in options.methods.split(","):
            folder = options.models / f"{path.stem}.{method}" if options.models else None
            model = model_of(cohort, method, folder, options.threads)
            if options.groups:
                show_found(f"{path.stem}, {method}", cohort.subset(split.test), model)
                continue
            ways = (False, True) if options.alone and model.layout is not None else (False,)
            studies += [study(cohort, split, model, options, alone) for alone in ways]
        if options.groups:
            continue
        if options.part == "test":
            record = {"cohort": path.stem, "seed": 0, "studies": [one.to_dict() for one in studies]}
            keep(options.out, path.stem, record)
        show_recalls(path.stem, studies)
        show_precisions(path.stem, studies)
        show_others(path.stem, studies)


if __name__ == "__main__":
    main()
