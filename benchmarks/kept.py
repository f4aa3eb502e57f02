"""Runs of a study, each kept as a small JSON file, so that an interrupted study goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dx2px.storage import write_text

Runs = dict[tuple[str, str], list[dict[str, Any]]]  # by cohort and name


def kept(file: Path, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the file holds; a run fills it where it is not there."""
    if not file.is_file():
        write_text(file, json.dumps(run(), indent=1))
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def spread_cells(runs: ArrayLike) -> list[str]:
    """Mean over the runs (rows) ± the sample's standard deviation, a text a column; the mean alone of one run."""
    values = np.asarray(runs, float)
    means = [f"{mean:.1f}" for mean in values.mean(0)]
    if len(values) == 1:
        return means
    return [f"{mean} ± {spread:.1f}" for mean, spread in zip(means, values.std(0, ddof=1), strict=True)]


def over_seeds(
    cohorts: Iterable[Path],
    names: Iterable[str],
    seeds: int,
    out: Path,
    run: Callable[[Path, str, int], dict[str, Any]],
) -> Runs:
    """Every name on every cohort with every seed, from OUT/cohort/name-seedN.json."""
    chosen = list(names)
    return {
        (path.stem, name): [
            kept(
                out / path.stem / f"{name.replace(' ', '-')}-seed{seed}.json", partial(run, path, name, seed)
            )
            for seed in range(seeds)
        ]
        for path in cohorts
        for name in chosen
    }
