"""How many of a code's nearest neighbours share its chapter, category or CCS group? For every method with vectors.

Run: python studies/neighbours.py COHORT… [--methods coupling,e+sa+ma] [--models FOLDER] [--seed 0] [--out FOLDER]
80/20 by stay or patient (split seed 0), fold 0 of ten validates. With --models, models are kept there as COHORT/METHOD
and read from there when they are present. Prints Markdown: the share of the 1, 5 and 10 nearest codes of the same
kind, by cosine, that carry the same label, the share expected by chance, and the most that is possible. Random
vectors are the control: they do as well as chance. With --out, also COHORT.json and the figure COHORT.svg.
docs/report.md has the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

from dx2px import Cohort
from dx2px.lab.benchmark.settings import method_with
from dx2px.lab.neighbourhood_figure import save_neighbourhoods
from dx2px.report.neighbourhoods import Sharing, neighbourhoods
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.storage import write_text
from dx2px.training.run import learn

METHODS = "coupling,e+pooling,e+sa,e+ma,e+sa+ma,word2vec,bpr,dwl,gwl"
CONTROL = "random"


def files_of(cohort: Cohort, method: str, folder: Path | None, seed: int) -> ModelFiles:
    """The model of a method, trained unless it is kept."""
    if folder is not None and folder.is_dir():
        return read_folder(folder)
    trained = learn(cohort, method_with(method, {}), seed=seed)
    if folder is not None:
        trained.save(folder)
    files: ModelFiles = trained.files()
    return files


def control(cohort: Cohort, seed: int, dim: int = 200) -> list[Sharing]:
    """Vectors that know nothing."""
    rng = np.random.default_rng(seed)
    sides = (cohort.diagnosis_vocabulary.codes, cohort.procedure_vocabulary.codes)
    dx, px = ((codes, rng.standard_normal((len(codes), dim))) for codes in sides)
    return neighbourhoods(*dx, *px)


def measured(cohort: Cohort, name: str, given: argparse.Namespace) -> dict[str, list[Sharing]]:
    """Every method on one cohort."""
    found = {}
    for method in given.methods.split(","):
        kept = None if given.models is None else given.models / name / method
        files = files_of(cohort, method, kept, given.seed)
        if not {"U", "V"} <= files.arrays.keys():
            raise SystemExit(f"{method} has no vectors of codes.")
        found[method] = neighbourhoods(
            files.diagnoses, files.arrays["U"], files.procedures, files.arrays["V"]
        )
        show(name, method, found[method])
    found[CONTROL] = control(cohort, given.seed)
    show(name, CONTROL, found[CONTROL])
    return found


def show(name: str, method: str, found: list[Sharing]) -> None:
    for one in found:
        shares = " | ".join(f"{100 * share:.1f}" for share in one.share)
        possible = ", ".join(f"{100 * most:.0f}" for most in one.possible)
        sizes = f"{one.codes:,} | {shares} | {100 * one.chance:.1f} | {possible}"
        print(f"| {name} | {method} | {one.kind} | {one.label} | {sizes} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    print("| cohort | method | kind | same | codes | 1 nearest, % | 5, % | 10, % | chance, % | possible, % |")
    print("|---" * 10 + "|")
    for path in given.cohorts:
        found = measured(Cohort.load(path), path.stem, given)
        if given.out is not None:
            record = {method: [one.to_dict() for one in many] for method, many in found.items()}
            write_text(given.out / f"{path.stem}.json", json.dumps(record, indent=1))
            save_neighbourhoods(found, given.out / f"{path.stem}.svg")


if __name__ == "__main__":
    main()
