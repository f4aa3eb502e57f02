"""The runs of a study, kept in one JSON file by name, so that an interrupted study goes on where it stopped.

Shared by the studies; not run by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dx2px.storage import write_text

Record = dict[str, Any]
Runs = dict[tuple[str, str], list[Record]]  # by cohort and name


def kept(file: Path, name: str, run: Callable[[], Record]) -> Record:
    """What the file has under this name; if it has nothing, the run makes it."""
    if name not in (found := _read(file)):
        keep(file, name, run())
        found = _read(file)
    record: Record = found[name]
    return record


def keep(file: Path, name: str, record: Record) -> None:
    """Put a record into the file under this name."""
    records = _read(file) | {name: record}
    write_text(file, json.dumps(dict(sorted(records.items())), indent=1) + "\n")


def over_seeds(
    cohorts: Iterable[Path],
    names: Iterable[str],
    seeds: int,
    out: Path,
    run: Callable[[Path, str, int], Record],
) -> Runs:
    """Every name on every cohort with every seed."""
    chosen = list(names)
    return {
        (path.stem, name): [
            kept(out, f"{path.stem}/{name}/seed {seed}", partial(run, path, name, seed))
            for seed in range(seeds)
        ]
        for path in cohorts
        for name in chosen
    }


def spread_cells(runs: ArrayLike) -> list[str]:
    """Mean over the runs (rows) ± the sample's standard deviation, one text per column; of one run, the value alone."""
    values = np.asarray(runs, float)
    means = [f"{mean:.1f}" for mean in values.mean(0)]
    if len(values) == 1:
        return means
    return [f"{mean} ± {spread:.1f}" for mean, spread in zip(means, values.std(0, ddof=1), strict=True)]


def _read(file: Path) -> Record:
    if not file.is_file():
        return {}
    records: Record = json.loads(file.read_text(encoding="utf-8"))
    return records
