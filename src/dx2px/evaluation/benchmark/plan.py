"""What a benchmark consists of: one job for each cohort, method and fold, and the file that keeps its result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from dx2px.cohort import Cohort, SplitBy
from dx2px.errors import InputError
from dx2px.evaluation.benchmark.settings import configured, method_with, same_settings, unsaid
from dx2px.evaluation.methods import METHODS, VARIANTS
from dx2px.evaluation.run import SplitConfig
from dx2px.training.checkpoint import fingerprint


@dataclass(frozen=True)
class BenchmarkConfig:
    """The paper's protocol: 80/20 by stay, ten folds inside the 80; every model is tested on the same 20."""

    methods: tuple[str, ...] = tuple(METHODS)
    folds: int = 10
    run_folds: int | None = None  # only the first so many of the folds
    split_by: SplitBy | None = "stay"
    seed: int = 0  # of the models: that of fold f is seed + f; the split is always the one of its own seed 0
    # Settings of the paper's model that differ from its defaults, by the names of `ModelConfig`: for sweeps.
    model: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in METHODS]
        if not self.methods:
            raise InputError("A benchmark needs at least one method.")
        if len(set(self.methods)) < len(self.methods):
            raise InputError("A method is named twice: name each once.")
        if unknown:
            raise InputError(f"There is no method {', '.join(unknown)}; choose from {', '.join(METHODS)}.")
        if self.model and set(self.methods) - set(VARIANTS):
            raise InputError("Model settings apply to the paper's model and its variants only.")
        for method in self.methods if self.model else ():
            method_with(method, self.model)  # says what is wrong with a setting, before any process starts
        if self.folds < 2:
            raise InputError(f"A benchmark needs at least 2 folds, not {self.folds}.")
        if self.run_folds is not None and not 1 <= self.run_folds <= self.folds:
            raise InputError(f"Of {self.folds} folds, 1 to {self.folds} can be run, not {self.run_folds}.")


@dataclass(frozen=True)
class CohortId:
    """A cohort as jobs know it; the fingerprint of its stays' codes is what makes it the same cohort."""

    name: str  # what it is called in tables
    path: str
    data: str

    @classmethod
    def of(cls, path: Path) -> CohortId:
        """That of a cohort file, which is read once for as long as it does not change."""
        if not path.is_file():
            Cohort.load(path)  # says what is wrong
        status = path.stat()
        return cls(path.stem, str(path), _fingerprint(str(path), status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=32)
def _fingerprint(path: str, changed: int, size: int) -> str:
    return fingerprint(Cohort.load(path))


@dataclass(frozen=True)
class Job:
    """One run of a benchmark."""

    cohort: CohortId
    method: str
    split: SplitConfig
    seed: int
    model: Mapping[str, Any]
    file: Path  # where the result goes

    @property
    def name(self) -> str:
        """What the cohort is called in tables."""
        return self.cohort.name

    @property
    def label(self) -> str:
        """The method, with the settings that a sweep gives it."""
        return " ".join([self.method, *(f"{name} {value}" for name, value in self.model.items())])

    @property
    def failure(self) -> Path:
        """Where the reason goes when the run fails."""
        return self.file.with_suffix(".failed")

    @property
    def details(self) -> Path:
        """Hits of every test stay, for paired comparisons."""
        return self.file.with_suffix(".npz")

    def key(self) -> dict[str, Any]:
        """What a record says of the job it is of."""
        return {
            "method": self.method,
            "split": asdict(self.split),
            "seed": self.seed,
            "model": dict(self.model),
        }

    def result(self) -> dict[str, Any] | None:
        """The kept result, if there is one of this very job: same split and seed, same stays, same settings."""
        try:
            found: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if self._is_of_this(found) else None

    def _is_of_this(self, record: dict[str, Any]) -> bool:
        if record.get("key") != self.key() or record.get("data") != self.cohort.data:
            return False
        asked = configured(self.method, self.model, self.seed)
        return same_settings(asked, unsaid(self.method, self.seed), record.get("settings", {}))


def plan(cohorts: Iterable[Path | CohortId], config: BenchmarkConfig, out: Path) -> list[Job]:
    """All jobs, fold by fold, so that an interrupted benchmark has whole folds of every method first."""
    known = [found if isinstance(found, CohortId) else CohortId.of(found) for found in _distinct(cohorts)]
    return [
        Job(
            cohort=cohort,
            method=method,
            split=SplitConfig(by=config.split_by, folds=config.folds, fold=fold),
            seed=config.seed + fold,
            model=config.model,
            file=out / "runs" / cohort.name / method / f"fold{fold}.json",
        )
        for cohort in known
        for fold in range(config.run_folds or config.folds)
        for method in config.methods
    ]


def _distinct(cohorts: Iterable[Path | CohortId]) -> Sequence[Path | CohortId]:
    """The cohorts, if no two would share their results."""
    found = list(cohorts)
    names = [one.stem if isinstance(one, Path) else one.name for one in found]
    if len(set(names)) != len(names):
        raise InputError(f"Two cohorts have the same name: {', '.join(names)}. Rename one file.")
    return found
