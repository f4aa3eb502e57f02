"""What a benchmark consists of: one job for each cohort, method and fold, and the file that keeps its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dx2px.cohort import SplitBy
from dx2px.errors import InputError
from dx2px.evaluation.methods import METHODS, VARIANTS
from dx2px.evaluation.run import SplitConfig


@dataclass(frozen=True)
class BenchmarkConfig:
    """The paper's protocol: 80/20 by stay, ten folds inside the 80; every model is tested on the same 20."""

    methods: tuple[str, ...] = tuple(METHODS)
    folds: int = 10
    run_folds: int | None = None  # only the first so many of the folds
    split_by: SplitBy | None = "stay"
    seed: int = 0
    # Settings of the paper's model that differ from its defaults, by the names of `ModelConfig`: for sweeps.
    model: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise InputError(f"There is no method {', '.join(unknown)}; choose from {', '.join(METHODS)}.")
        if self.model and set(self.methods) - set(VARIANTS):
            raise InputError("Model settings apply to the paper's model and its variants only.")
        if self.run_folds is not None and not 1 <= self.run_folds <= self.folds:
            raise InputError(f"Of {self.folds} folds, 1 to {self.folds} can be run, not {self.run_folds}.")


@dataclass(frozen=True)
class Job:
    """One run of a benchmark."""

    cohort: str  # path of the cohort file
    name: str  # what the cohort is called in tables
    method: str
    split: SplitConfig
    seed: int
    model: Mapping[str, Any]
    file: Path  # where the result goes

    @property
    def failure(self) -> Path:
        """Where the reason goes when the run fails."""
        return self.file.with_suffix(".failed")

    @property
    def details(self) -> Path:
        """Hits of every test stay, for paired comparisons."""
        return self.file.with_suffix(".npz")

    def key(self) -> dict[str, Any]:
        """What must be the same for a kept result to stand for this job."""
        return {
            "method": self.method,
            "split": asdict(self.split),
            "seed": self.seed,
            "model": dict(self.model),
        }

    def result(self) -> dict[str, Any] | None:
        """The kept result, if there is one of this very job."""
        try:
            found: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if found.get("key") == self.key() else None


def plan(cohorts: Sequence[Path], config: BenchmarkConfig, out: Path) -> list[Job]:
    """All jobs, fold by fold, so that an interrupted benchmark has whole folds of every method first."""
    names = [path.stem for path in cohorts]
    if len(set(names)) != len(names):
        raise InputError(f"Two cohorts have the same name: {', '.join(names)}. Rename one file.")
    folds = config.run_folds or config.folds
    return [
        Job(
            cohort=str(path),
            name=path.stem,
            method=method,
            split=SplitConfig(by=config.split_by, folds=config.folds, fold=fold),
            seed=config.seed + fold,
            model=config.model,
            file=out / "runs" / path.stem / method / f"fold{fold}.json",
        )
        for path in cohorts
        for fold in range(folds)
        for method in config.methods
    ]
