"""What a benchmark consists of: one job for each cohort, method and fold, and the folder that keeps its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from dx2px.cohort import Cohort, SplitBy
from dx2px.cohort.fingerprint import fingerprint
from dx2px.errors import InputError
from dx2px.lab.benchmark.records import Record, RunId
from dx2px.lab.benchmark.settings import configured, method_with, same_settings, unsaid
from dx2px.lab.benchmark.store import RunStore
from dx2px.scoring.methods import METHODS, Method, Settings, declared
from dx2px.scoring.metrics import Metrics
from dx2px.training.run import SplitConfig


@dataclass(frozen=True)
class BenchmarkConfig:
    """The paper's protocol: 80/20 by stay, ten folds inside the 80; every model is tested on the same 20."""

    methods: tuple[str, ...] = field(default_factory=lambda: tuple(METHODS))
    folds: int = 10
    run_folds: int | None = None  # only the first so many of the folds
    split_by: SplitBy | None = "stay"
    seed: int = 0  # of the models: that of fold f is seed + f; the split is always the one of its own seed 0
    # Settings that differ from the method's defaults, by the names of its options: for sweeps.
    model: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""  # what tables add to a method's name, such as "tuned"

    def __post_init__(self) -> None:
        if not self.methods:
            raise InputError("A benchmark needs at least one method.")
        if len(set(self.methods)) < len(self.methods):
            raise InputError("A method is named twice: name each once.")
        for name in self.methods:
            declared(name)  # says what is wrong
        for method in self.methods if self.model else ():
            method_with(method, self.model)  # says what is wrong with a setting, before any process starts
        if self.folds < 2:
            raise InputError(f"A benchmark needs at least 2 folds, not {self.folds}.")
        if self.run_folds is not None and not 1 <= self.run_folds <= self.folds:
            raise InputError(f"Of {self.folds} folds, 1 to {self.folds} can be run, not {self.run_folds}.")


@dataclass(frozen=True)
class CohortId:
    """A cohort as jobs know it. Two cohorts are the same if the fingerprints of their stays' codes are equal."""

    name: str  # what it is called in tables
    path: str
    data: str

    @classmethod
    def of(cls, path: Path) -> CohortId:
        """That of a cohort file. It is read once, and again only after it has changed."""
        if not path.is_file():
            Cohort.load(path)  # says what is wrong
        status = path.stat()
        return cls(path.stem, str(path), _fingerprint(str(path), status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=32)
def _fingerprint(path: str, changed: int, size: int) -> str:
    return fingerprint(Cohort.load(path))


@dataclass(frozen=True)
class Job:
    """One run of a benchmark. It goes to a process of its own, so it brings the declaration of its method along."""

    cohort: CohortId
    declaration: Method
    split: SplitConfig
    seed: int
    model: Mapping[str, Any]
    folder: Path  # that keeps the result
    remark: str = ""

    @property
    def name(self) -> str:
        """What the cohort is called in tables."""
        return self.cohort.name

    @property
    def method(self) -> str:
        """What the method is called."""
        return self.declaration.name

    @property
    def row(self) -> str:
        """What the method is called in tables."""
        return f"{self.method}, {self.remark}" if self.remark else self.method

    @property
    def label(self) -> str:
        """The method, with the settings that a sweep gives it."""
        return " ".join([self.method, *(f"{name} {value}" for name, value in self.model.items())])

    @property
    def title(self) -> str:
        """What the run is called in messages."""
        return f"{self.name} {self.label} fold {self.split.fold}"

    @property
    def store(self) -> RunStore:
        """The runs among which the result is kept."""
        return RunStore(self.folder)

    @cached_property
    def id(self) -> RunId:
        """What tells the run from the others in its folder."""
        return RunId.of(self.name, self.key)

    @property
    def place(self) -> tuple[Path, RunId]:
        """What tells the run from all others."""
        return self.folder, self.id

    @cached_property
    def key(self) -> dict[str, Any]:
        """What a record says of the job it belongs to. Do not modify."""
        return {
            "method": self.method,
            "split": asdict(self.split),
            "seed": self.seed,
            "model": dict(self.model),
        }

    def kept(self) -> Record | None:
        """The run that is kept under this job's id, even if it had other stays or settings."""
        return self.store.records().get(self.id)

    def result(self) -> Record | None:
        """The kept result, if there is one of this very job: same split and seed, same stays, same settings."""
        found = self.kept()
        return found if found is not None and self._is_of_this(found) else None

    def hits(self) -> Metrics | None:
        """What the kept result found for each test stay."""
        found = self.result()
        return None if found is None else self.store.hits(found)

    def _is_of_this(self, record: Record) -> bool:
        if record.get("key") != self.key or record.get("data") != self.cohort.data:
            return False
        model = tuple(sorted(self.model.items()))
        asked, unsaid = _settings(self.method, model, self.seed, self._learned_from(record))
        return same_settings(asked, unsaid, record.get("settings", {}))

    def _learned_from(self, record: Record) -> int:
        """The number of training stays; nearly so for a record from before it was kept."""
        folds, learning = self.split.folds, record["sizes"][0] * (1 - self.split.test_share)
        found: int = record.get("training_stays", round(learning * (folds - 1) / folds))
        return found


@lru_cache(maxsize=1024)
def _settings(
    method: str, model: tuple[tuple[str, Any], ...], seed: int, stays: int
) -> tuple[Settings, Settings]:
    """The settings that a job asks for, and those of a record that does not name them."""
    return configured(method, dict(model), seed, stays), unsaid(method, seed, stays)


def plan(cohorts: Iterable[Path | CohortId], config: BenchmarkConfig, out: Path) -> list[Job]:
    """All jobs, fold by fold, so that an interrupted benchmark has whole folds of every method first."""
    known = [found if isinstance(found, CohortId) else CohortId.of(found) for found in _distinct(cohorts)]
    return [
        Job(
            cohort=cohort,
            declaration=declared(method),
            split=SplitConfig(by=config.split_by, folds=config.folds, fold=fold),
            seed=config.seed + fold,
            model=config.model,
            folder=out,
            remark=config.remark,
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
