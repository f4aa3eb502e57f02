"""How a model does on stays of another hospital, in one sentence and the numbers behind it.

Codes: which of the entries the model knows, for which of its codes could stand in, and which are lost. Ranking: F1@5 on
the stays that it can answer, beside the most frequent procedures of those very stays. Probabilities: those of 30 % and
more, which a user notices, against the share that was coded, all together and procedure by procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dx2px.codes import Kind
from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.metrics import Metrics, evaluate
from dx2px.scoring.origins import origins
from dx2px.scoring.reliability import Noticed, Reliability

TOP = 5
RIGHT = 0.05  # a smaller difference between predicted and observed is not worth a warning
MANY_LOST = 0.1  # of the procedure entries
SURE = 1.96  # standard errors


@dataclass(frozen=True)
class CodeShares:
    """The entries of one kind of code in a cohort; `known` + `stood_in` + `lost` is 1."""

    entries: int
    known: float
    stood_in: float  # relatives of the code are known; the model stands them in where it is asked to
    lost: float


@dataclass(frozen=True)
class Travel:
    """What became of a model among foreign stays.

    Attributes:
        stays: Stays of the cohort.
        answered: Those that keep a diagnosis and a procedure that the model knows.
        diagnoses: What it knows of the diagnoses.
        procedures: What it knows of the procedures; no other procedure stands in for one that is to be found.
        f1: F1@5 on the stays that are answered, in per cent.
        popular: The same for the most frequent procedures of these stays.
        useful: Whether the model is ahead of them beyond chance.
        noticed: Its probabilities of 30 % and more; None for a model without calibration.
        gap: How far these are from the share coded, procedure by procedure on average; None where none was measured.
        gap_by_chance: What this would be if they were right.
    """

    stays: int
    answered: int
    diagnoses: CodeShares
    procedures: CodeShares
    f1: float
    popular: float
    useful: bool
    noticed: Noticed | None
    gap: float | None = None
    gap_by_chance: float | None = None

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.useful:
            return (
                f"It does not rank better here than the most frequent procedures do (F1@{TOP} {self.f1:.1f} and "
                f"{self.popular:.1f} %): learn from these stays (dx2px adapt)."
            )
        parts = [part for part in (self._trust(), self._loss()) if part]
        remedy = ": adapt it (dx2px adapt) before you rely on it" if self._amiss else ""
        return f"It ranks usefully here{''.join(f'; {part}' for part in parts)}{remedy}."

    @property
    def _amiss(self) -> bool:
        off = self.noticed is not None and self.noticed.off(RIGHT)
        return off or self._uneven or self.procedures.lost + self.procedures.stood_in > MANY_LOST

    @property
    def _uneven(self) -> bool:
        """Whether single procedures are further off than chance explains, even if all together are right."""
        return self.gap is not None and self.gap - (self.gap_by_chance or 0.0) > RIGHT

    def _trust(self) -> str:
        if self.noticed is None:
            return "it has no probabilities"
        if not self.noticed.pairs:
            return "no probability reaches 30 %"
        if not self.noticed.off(RIGHT):
            if self._uneven and self.gap is not None:
                return (
                    "probabilities of 30 % and more hold on average, but are off by "
                    f"{100 * self.gap:.0f} points procedure by procedure"
                )
            return "probabilities of 30 % and more hold"
        points = 100 * (self.noticed.predicted - self.noticed.observed)
        return f"probabilities of 30 % and more are {abs(points):.0f} points too {'high' if points > 0 else 'low'}"

    def _loss(self) -> str:
        unknown = self.procedures.lost + self.procedures.stood_in
        return f"it cannot name {unknown:.0%} of the procedures" if unknown > MANY_LOST else ""

    def to_dict(self) -> dict[str, Any]:
        """As `dx2px evaluate --json` prints it under "travel"."""
        return {**asdict(self), "verdict": self.verdict}


def travelled(
    files: ModelFiles, cohort: Cohort, answered: Ragged, metrics: Metrics, trust: Reliability | None
) -> Travel:
    """From a model's metrics on the stays of a cohort that it can answer, and the procedures of these stays."""
    counts = answered.counts(len(files.procedures)).astype(np.float32)
    popular = evaluate(lambda rows: np.tile(counts, (len(rows), 1)), answered, answered, at=(TOP,))
    own, theirs = metrics.f1[:, metrics.at.index(TOP)], popular.f1[:, 0]
    gain = own - theirs
    single = None if trust is None else trust.procedures
    return Travel(
        stays=len(cohort),
        answered=len(answered),
        diagnoses=_shares(files, "diagnosis", cohort.diagnosis_vocabulary.codes, cohort.diagnoses),
        procedures=_shares(files, "procedure", cohort.procedure_vocabulary.codes, cohort.procedures),
        f1=float(100 * own.mean()),
        popular=float(100 * theirs.mean()),
        useful=bool(gain.mean() > SURE * gain.std() / np.sqrt(len(gain))),
        noticed=None if trust is None else trust.noticed,
        gap=None if single is None else single.mean_gap,
        gap_by_chance=None if single is None else single.by_chance,
    )


def _shares(files: ModelFiles, kind: Kind, codes: Sequence[str], entries: Ragged) -> CodeShares:
    sorts = np.array(origins(files, codes, kind).sorts)[entries.values]
    known, lost = float((sorts == "known").mean()), float((sorts == "none").mean())
    return CodeShares(len(sorts), known, max(0.0, 1 - known - lost), lost)
