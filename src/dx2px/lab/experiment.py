"""A whole set of results as data: a TOML file that names cohorts, methods, folds and sweeps.

Cohorts are identified by their fingerprints, so tables can be made from kept runs even where the stays are absent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dx2px.errors import InputError
from dx2px.lab.benchmark import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.sweep import SweepConfig, plan_sweep
from dx2px.training.recipe import record_of


@dataclass(frozen=True)
class CohortSpec:
    """A cohort: where it comes from, a file of NHDS or a synthetic preset, and the fingerprint it must have."""

    name: str
    group: str  # whose tables it stands in
    data: str
    file: str | None = None  # of NHDS, inside the folder of the data
    min_count: int = 1
    preset: str | None = None
    run_folds: Mapping[str, int] = field(default_factory=dict)  # methods that run fewer folds here

    def __post_init__(self) -> None:
        if (self.file is None) == (self.preset is None):
            raise InputError(f"The cohort {self.name} needs either a file or a preset.")

    def at(self, folder: Path) -> Path:
        """Where the cohort file lies once it is made."""
        return folder / f"{self.name}.parquet"


@dataclass(frozen=True)
class Experiment:
    """Benchmarks by group, and sweeps."""

    config: BenchmarkConfig
    cohorts: tuple[CohortSpec, ...]
    sweeps: tuple[tuple[CohortSpec, SweepConfig], ...]
    against: str

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of cohorts, each with tables of its own."""
        return tuple(dict.fromkeys(cohort.group for cohort in self.cohorts))

    def jobs(self, group: str, cohorts: Path, results: Path) -> list[Job]:
        """The runs of a group."""
        specs = {spec.name: spec for spec in self.cohorts if spec.group == group}
        jobs = plan([_id(spec, cohorts) for spec in specs.values()], self.config, results / group)
        fewer = {name: spec.run_folds for name, spec in specs.items()}
        return [job for job in jobs if job.split.fold < fewer[job.name].get(job.method, self.config.folds)]

    def sweep_jobs(self, cohorts: Path, results: Path) -> dict[str, dict[float, list[Job]]]:
        """The runs of each sweep, by its setting and the value of it."""
        return {
            config.over: plan_sweep(_id(spec, cohorts), config, results / "sweeps")
            for spec, config in self.sweeps
        }


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read an experiment; an error says in one sentence what is wrong with it."""
    file = Path(path)
    record = record_of(file)
    try:
        settings = record["benchmark"] | {"methods": tuple(record["benchmark"]["methods"])}
        cohorts = tuple(CohortSpec(**entry) for entry in record["cohort"])
        sweeps = tuple(_sweep(entry, cohorts) for entry in record.get("sweep", []))
        return Experiment(BenchmarkConfig(**settings), cohorts, sweeps, record["compare"]["against"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} is not an experiment: {error}.") from None


def _sweep(entry: Mapping[str, Any], cohorts: tuple[CohortSpec, ...]) -> tuple[CohortSpec, SweepConfig]:
    specs = {spec.name: spec for spec in cohorts}
    settings = {name: value for name, value in entry.items() if name != "cohort"}
    return specs[entry["cohort"]], SweepConfig(**settings)


def _id(spec: CohortSpec, cohorts: Path) -> CohortId:
    return CohortId(spec.name, str(spec.at(cohorts)), spec.data)
