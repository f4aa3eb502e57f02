"""How one setting changes the paper's model: a small benchmark for each of its values, as in the paper's figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dx2px.errors import InputError
from dx2px.lab.benchmark.plan import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.settings import configured
from dx2px.methods import learner_class

GRIDS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"dim": (20, 50, 100, 200, 300), "alpha": (0.01, 0.1, 1, 10), "heads": (1, 4, 8, 12, 16)}
)


@dataclass(frozen=True)
class SweepConfig:
    """The setting that varies, and its values: those of the paper, unless others are given."""

    over: str
    method: str = "e+sa+ma"
    values: tuple[float, ...] = ()
    folds: int = 10
    run_folds: int = 3

    def __post_init__(self) -> None:
        if self.over not in GRIDS:
            raise InputError(f"A sweep is over {', '.join(GRIDS)}, not {self.over!r}.")
        if self.over not in learner_class(self.method).options_of(self.method):
            raise InputError(f"The setting {self.over} has no effect on the method {self.method}.")

    @property
    def grid(self) -> tuple[float, ...]:
        """The values that are tried."""
        return self.values or GRIDS[self.over]


def plan_sweep(cohort: Path | CohortId, config: SweepConfig, out: Path) -> dict[float, list[Job]]:
    """The jobs of each value; one folder keeps them all.

    Where the value is the method's own, the run is the one with nothing changed: sweeps over other settings share it.
    """
    usual = configured(config.method, {}, seed=0, stays=0)["model"][config.over]
    planned = {}
    for value in config.grid:
        model = {} if value == usual else {config.over: value}
        benchmark = BenchmarkConfig((config.method,), config.folds, config.run_folds, model=model)
        planned[value] = plan([cohort], benchmark, out)
    return planned
