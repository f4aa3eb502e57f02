"""Does the finished method keep its lead on stays that chose nothing? Run once per version.

Run: python studies/confirm.py [--data ../shared/data] [--threads 1]
     python studies/confirm.py --dry-run 0.125        the same with a part of the sample held out, to test the script
     python studies/confirm.py --table                makes the tables of the two pages of results from the kept record
Every model learns from the NHDS sample (codes of at least 100 stays; nine folds of ten, the tenth chooses settings
and calibrates). Only then are the stays of the confirmation file read, and each model is measured on them once. The
numbers are kept under results/confirm/, one file per version, before any is shown; a second run of a version is
refused. A dry run never opens the confirmation file, and keeps its numbers under build/confirm/.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dx2px import Cohort
from dx2px.cohort import prepare
from dx2px.cohort.projection import project
from dx2px.errors import Dx2pxError, InputError
from dx2px.lab.blocks import blocks_of, with_blocks
from dx2px.lab.confirmation import (
    Asked,
    check_first,
    confirmation_blocks,
    confirmed,
    keep_once,
    provenance,
    record_markdown,
)
from dx2px.methods import recommender
from dx2px.scoring.evidence import Evidence
from dx2px.storage import write_text
from dx2px.training.recommender import Recommender
from dx2px.training.run import SplitConfig, learn

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
KEPT = ROOT / "results" / "confirm"
PAGES = (ROOT / "docs" / "results.md", ROOT / "docs" / "results-tables.md")
DRY = ROOT / "build" / "confirm" / "dry-run.json"
SAMPLE, CONFIRMATION = "nhds2010/NHDS10.sample.txt.bz2", "nhds2010/NHDS10.confirm.txt.bz2"
MIN_COUNT = 100
SPLIT = SplitConfig(by="stay", test_share=0.0, folds=10, fold=0)
SEED = 0


@dataclass(frozen=True)
class Entrant:
    """A model to train, and each way to ask it: the name of its line, and the evidence."""

    method: Callable[[], Recommender]
    asked: tuple[tuple[str, Evidence], ...]
    opponent: bool = False


def opponent(name: str) -> Entrant:
    """A method that takes only diagnoses, with its defaults."""
    return Entrant(lambda: recommender(name), ((name, "codes"),), opponent=True)


ENTRANTS = (
    Entrant(
        lambda: recommender("coupling"),
        (("coupling", "stay"), ("coupling, asked with diagnoses alone", "codes")),
    ),
    Entrant(
        lambda: recommender("coupling", evidence="codes"),
        (("coupling, trained on diagnoses alone", "codes"),),
    ),
    *map(opponent, ("mlp", "linear", "e+sa+ma", "bpr")),
)


def run(
    learning: Cohort, held_out: Callable[[], Cohort], entrants: Sequence[Entrant], threads: int
) -> dict[str, Any]:
    """Train and calibrate every model, then read the held-out stays and measure each model on them once."""
    asked: list[Asked] = []
    costs = []
    for entrant in entrants:
        start = time.process_time()
        trained = learn(learning, entrant.method(), SPLIT, seed=SEED, threads=threads)
        _ = trained.calibration  # fitted here, before any held-out stay is read
        costs.append(
            {
                "asked_as": [name for name, _ in entrant.asked],
                "cpu_seconds": round(time.process_time() - start, 1),
                "settings": trained.recommender.settings(),
            }
        )
        asked += [Asked(name, trained, evidence, entrant.opponent) for name, evidence in entrant.asked]
        print(f"{entrant.asked[0][0]}: trained in {costs[-1]['cpu_seconds']} CPU seconds", file=sys.stderr)
    split = SPLIT.split(learning)
    projected = project(held_out(), learning.diagnosis_vocabulary, learning.procedure_vocabulary)
    return {
        "seed": SEED,
        "training": {
            "stays": len(split.training(SPLIT.fold)),
            "validation": len(split.validation(SPLIT.fold)),
            "diagnoses": len(learning.diagnosis_vocabulary),
            "procedures": len(learning.procedure_vocabulary),
            "runs": costs,
        },
        "projection": projected.counts.to_dict(),
        **confirmed(asked, projected.cohort, SEED).to_dict(),
    }


def confirm(data: Path, folder: Path, entrants: Sequence[Entrant], threads: int) -> dict[str, Any]:
    """The one confirmation of this version: its record is kept before anyone sees a number."""
    check_first(folder)
    files = {"sample": source(data, SAMPLE), "confirmation": source(data, CONFIRMATION)}
    learning = prepared(files["sample"], MIN_COUNT)
    made = provenance(files) | {"dry_run": None}
    record = made | run(learning, lambda: prepared(files["confirmation"], 1), entrants, threads)
    keep_once(folder, record)
    return record


def dry_run(data: Path, part: float, entrants: Sequence[Entrant], threads: int) -> dict[str, Any]:
    """The same with a part of the sample held out; the confirmation file is not touched."""
    check_part(part)
    file = source(data, SAMPLE)
    learning, held_out = divided(prepared(file, MIN_COUNT), prepared(file, 1), part)
    return (
        provenance({"sample": file}) | {"dry_run": part} | run(learning, lambda: held_out, entrants, threads)
    )


def divided(narrow: Cohort, wide: Cohort, part: float) -> tuple[Cohort, Cohort]:
    """A random part of the wide cohort's stays, and the narrow cohort without them."""
    chosen = np.random.default_rng(SEED).permutation(len(wide))[: round(part * len(wide))]
    held_out = wide.subset(np.sort(chosen))
    is_held_out = pc.is_in(narrow.stay_ids, value_set=held_out.stay_ids.combine_chunks())
    return narrow.subset(np.flatnonzero(~is_held_out.to_numpy())), held_out


def check_part(part: float) -> None:
    if not 0 < part < 1:
        raise InputError(f"The part of the sample to hold out must lie between 0 and 1, not {part}.")


def source(data: Path, name: str) -> Path:
    """A file of the open data."""
    if not (path := data / name).is_file():
        raise InputError(f"{path} is absent. Name the folder of the open data: --data FOLDER.")
    return path


def prepared(file: Path, min_count: int) -> Cohort:
    """The stays of an NHDS file with the codes that enough of them have."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "cohort.parquet"
        prepare("nhds", file, out, min_count=min_count)
        return Cohort.load(out)


def write_section(page: Path, folder: Path) -> str:
    """Regenerate what a page shows of the confirmation from the kept records."""
    document = page.read_text(encoding="utf-8")
    made = confirmation_blocks(folder)
    page.write_text(with_blocks(document, blocks_of(document) | made), encoding="utf-8")
    return "\n".join(text for name, text in made.items() if name in blocks_of(document))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--dry-run", type=float, metavar="PART")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    try:
        if options.dry_run is not None:
            record = dry_run(options.data, options.dry_run, ENTRANTS, options.threads)
            DRY.parent.mkdir(parents=True, exist_ok=True)
            write_text(DRY, json.dumps(record, indent=1) + "\n")
            print(record_markdown(record))
            return
        if not options.table:
            confirm(options.data, KEPT, ENTRANTS, options.threads)
        print("\n".join(write_section(page, KEPT) for page in PAGES))
    except Dx2pxError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
