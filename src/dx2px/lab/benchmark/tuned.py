"""Rows of a benchmark with settings that validation chose, beside those with the printed ones.

All trials are runs of the first fold, kept like any others. Their validation stays choose the settings; then every fold
is run with these. The winning trial is the run of the first fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dx2px.lab.benchmark.plan import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.tables import Row
from dx2px.lab.tables import table
from dx2px.methods.tuning import Trial, best_trial, judged, next_trial

TUNED = "tuned"


class TunedRow:
    """A method on a cohort; `out` keeps its runs."""

    def __init__(self, cohort: CohortId, method: str, config: BenchmarkConfig, out: Path) -> None:
        self.cohort, self.method, self.out = cohort, method, out
        self.config = replace(config, methods=(method,), remark=TUNED)
        self.known: dict[Trial, float] = {}  # what each trial that has been run is judged by
        while (trial := next_trial(self.known)) is not None and (result := self._job(trial).result()):
            self.known[trial] = judged({int(L): one["f1"] for L, one in result["validation"]["top"].items()})
        self.waiting = trial

    @property
    def name(self) -> str:
        """What the row is called in tables."""
        return f"{self.method}, {TUNED}"

    @property
    def chosen(self) -> Trial | None:
        """The settings that the trials led to; None as long as one is waiting."""
        return best_trial(self.known) if self.waiting is None else None

    def trials(self) -> list[Job]:
        """The trials that were run, but for the chosen one, and the one that waits."""
        tried = [*self.known, *([self.waiting] if self.waiting else [])]
        return [self._job(trial) for trial in tried if trial != self.chosen]

    def folds(self) -> list[Job]:
        """All folds with the chosen settings; none before they are."""
        return self._plan(self.chosen) if self.chosen else []

    def _job(self, trial: Trial) -> Job:
        return self._plan(trial)[0]

    def _plan(self, trial: Trial) -> list[Job]:
        return plan([self.cohort], replace(self.config, model=trial.options), self.out)


def tuned_markdown(tuned: Sequence[TunedRow], rows: Sequence[Row]) -> str:
    """For each row whose settings are chosen: these, what validation said of them, and test F1 before and after."""
    found = {(row.cohort, row.method): row for row in rows}
    lines = []
    for one in tuned:
        after = found.get((one.cohort.name, one.name))
        if one.chosen is not None and after is not None:
            before = found[one.cohort.name, one.method]
            gain = f"{one.known[one.chosen] - next(iter(one.known.values())):+.1f}"
            f1 = [f"{before.cells[L, 'f1']} → {after.cells[L, 'f1']}" for L in ("1", "5")]
            chosen = (f"{one.chosen.lr:g}", f"{one.chosen.start:g}")
            lines.append([one.cohort.name, one.method, *chosen, len(one.known), gain, after.folds, *f1])
    head = ["cohort", "method", "learning rate", "start", "trials", "gain on validation", "folds"]
    return table([*head, "test F1@1, %", "test F1@5, %"], lines) if lines else ""
