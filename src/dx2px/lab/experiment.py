"""A whole set of results as data: a TOML file that names cohorts, methods, folds, variants of methods and sweeps.

Cohorts are identified by their fingerprints, so tables can be made from kept runs even where the stays are absent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dx2px.errors import InputError
from dx2px.lab.benchmark import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.sweep import SweepConfig, plan_sweep
from dx2px.lab.benchmark.tuned import TUNED, TunedRow
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
    # Rows of tables that have fewer folds here; under "*", the folds of all that are not named.
    run_folds: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.file is None) == (self.preset is None):
            raise InputError(f"The cohort {self.name} needs either a file or a preset.")

    def folds_of(self, row: str, usual: int) -> int:
        """How many folds a row of tables has here."""
        return self.run_folds.get(row, self.run_folds.get("*", usual))

    def at(self, folder: Path) -> Path:
        """Where the cohort file lies once it is made."""
        return folder / f"{self.name}.parquet"


@dataclass(frozen=True)
class VariantSpec:
    """A row of its own for a method with other settings; `remark` tells it from the method's usual row."""

    method: str
    remark: str
    model: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """Benchmarks by group, and sweeps. The `tuned` methods have a second row, with settings that validation chose."""

    config: BenchmarkConfig
    cohorts: tuple[CohortSpec, ...]
    sweeps: tuple[tuple[CohortSpec, SweepConfig], ...]
    against: str
    variants: tuple[VariantSpec, ...] = ()
    tuned: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of cohorts, each with tables of its own."""
        return tuple(dict.fromkeys(cohort.group for cohort in self.cohorts))

    @property
    def rows(self) -> tuple[str, ...]:
        """What the rows of its tables are called: methods, variants and tuned ones, the rows of a method together."""
        found = []
        for method in self.config.methods:
            variants = [f"{method}, {one.remark}" for one in self.variants if one.method == method]
            found += [method, *variants, *([f"{method}, {TUNED}"] if method in self.tuned else [])]
        return tuple(found)

    def jobs(self, group: str, cohorts: Path, results: Path) -> list[Job]:
        """The runs of a group, the rows of a method together; of a tuned row once its settings are chosen."""
        order = {method: place for place, method in enumerate(self.config.methods)}
        jobs = []
        for spec in self._of(group):
            found = self._planned(spec, cohorts, results)
            jobs += sorted(found, key=lambda job: (job.split.fold, order[job.method]))
        return jobs

    def trial_jobs(self, group: str, cohorts: Path, results: Path) -> list[Job]:
        """The trials that lead to the settings of the tuned rows, as far as they are known."""
        return [job for row in self.tuned_rows(group, cohorts, results) for job in row.trials()]

    def tuned_rows(self, group: str, cohorts: Path, results: Path) -> list[TunedRow]:
        """The tuned rows of a group, cohort by cohort."""
        return [row for spec in self._of(group) for row in self._tuned(spec, cohorts, results)]

    def _tuned(self, spec: CohortSpec, cohorts: Path, results: Path) -> list[TunedRow]:
        rows = [TunedRow(_id(spec, cohorts), method, self.config, results / TUNED) for method in self.tuned]
        return [row for row in rows if spec.folds_of(row.name, self.config.folds)]

    def _of(self, group: str) -> list[CohortSpec]:
        return [spec for spec in self.cohorts if spec.group == group]

    def _planned(self, spec: CohortSpec, cohorts: Path, results: Path) -> Iterator[Job]:
        cohort, out = _id(spec, cohorts), results / spec.group
        plans = [plan([cohort], self.config, out)]
        for one in self.variants:
            config = replace(self.config, methods=(one.method,), model=one.model, remark=one.remark)
            plans.append(plan([cohort], config, out))
        plans += [row.folds() for row in self._tuned(spec, cohorts, results)]
        for job in (job for jobs in plans for job in jobs):
            if job.split.fold < spec.folds_of(job.row, self.config.folds):
                yield job

    def sweep_jobs(self, cohorts: Path, results: Path) -> dict[str, list[dict[float, list[Job]]]]:
        """By setting, its sweeps, one per cohort: the runs of each value."""
        found: dict[str, list[dict[float, list[Job]]]] = {}
        for spec, config in self.sweeps:
            planned = plan_sweep(_id(spec, cohorts), config, results / "sweeps")
            found.setdefault(config.over, []).append(planned)
        return found


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read an experiment; an error says in one sentence what is wrong with it."""
    file = Path(path)
    record = record_of(file)
    try:
        settings = record["benchmark"] | {"methods": tuple(record["benchmark"]["methods"])}
        cohorts = tuple(CohortSpec(**entry) for entry in record["cohort"])
        sweeps = tuple(_sweep(entry, cohorts) for entry in record.get("sweep", []))
        variants = tuple(VariantSpec(**entry) for entry in record.get("variant", []))
        tuned = tuple(record.get("tuned", {}).get("methods", []))
        against = record["compare"]["against"]
        return Experiment(BenchmarkConfig(**settings), cohorts, sweeps, against, variants, tuned)
    except (KeyError, TypeError) as error:
        raise InputError(f"{file} is not an experiment: {error}.") from None


def _sweep(entry: Mapping[str, Any], cohorts: tuple[CohortSpec, ...]) -> tuple[CohortSpec, SweepConfig]:
    specs = {spec.name: spec for spec in cohorts}
    settings = {name: value for name, value in entry.items() if name != "cohort"}
    settings["values"] = tuple(settings.get("values", ()))
    return specs[entry["cohort"]], SweepConfig(**settings)


def _id(spec: CohortSpec, cohorts: Path) -> CohortId:
    return CohortId(spec.name, str(spec.at(cohorts)), spec.data)
