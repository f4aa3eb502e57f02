"""The default method, adapted: it starts from a trained model and learns on from the stays of another hospital.

How far it may go from its start is chosen on validation stays, from `LADDER`: each rung has a higher learning rate than
the one before, and in the end a weaker pull back to the start. A few hundred stays support the first rungs, many
thousand the last; the climb ends with the first rung that does worse than the one before. The base alone is a
candidate, too: where no rung does better, its weights are kept.

A few dozen validation stays would choose by chance. Below `ENOUGH` of them, the training stays are cut into parts; each
part validates what is learned from the others, and all stays that validated choose together.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from dx2px.cohort import Cohort
from dx2px.methods.coupling.model import CouplingModel
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.methods.coupling.warm_start import NEVER, Base
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.segments import Doubles
from dx2px.training.adam import AdamConfig
from dx2px.training.batches import Rows
from dx2px.training.loop import Outcome, Weights
from dx2px.training.recommender import Say, silent
from dx2px.training.stays import Counts, HeldStays, TrainingStays

ENOUGH = 300  # validation stays that choose by themselves
CUTS = 4  # parts of the training stays that validate, too, where there are fewer

Part = tuple[Rows, Rows]  # stays to learn from, stays that validate


@dataclass(frozen=True)
class Rung:
    """How far an adapted model may go from its start.

    Attributes:
        rate: Learning rate of Adam.
        pull: Pull towards the start, per unit of learning rate.
        epochs: Passes over the training stays.
    """

    rate: float
    pull: float
    epochs: int

    def __str__(self) -> str:
        return f"rate {self.rate:g}, pull {self.pull:g}, {self.epochs} epochs"


LADDER = (Rung(0.0005, 1.0, 8), Rung(0.002, 1.0, 8), Rung(0.004, 0.3, 12), Rung(0.008, 0.3, 12))


class AdaptedModel(CouplingModel):
    """A base model that learns on from the stays of `base.cohort`.

    With a checkpoint, each run has a file of its own beside it (`MODEL.checkpoint.2.0`: rung 2, part 0). With `resume`,
    finished runs are read from there, and the interrupted one goes on.
    """

    def __init__(
        self,
        base: Base,
        ladder: Sequence[Rung] = LADDER,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        **run: Any,
    ) -> None:
        model = CouplingConfig(dim=base.dim, evidence="stay" if base.takes_evidence else "codes")
        super().__init__(CouplingTraining(model=model), **run)
        self.base, self.ladder = base, tuple(ladder)
        self.chosen: Rung | None = None  # None: the base alone
        self.tried: list[dict[str, Any]] = []
        self._plain = self.asked
        self._home = None if checkpoint is None else Path(checkpoint)

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Climb the ladder, and keep what does best on the stays that validate."""
        parts = list(_parts(training, validation, seed))
        self.tried, self.chosen = [], None
        kept: Outcome | None = None
        for place, rung in enumerate([None, *self.ladder]):
            say("the base alone" if rung is None else f"{place} of {len(self.ladder)}: {rung}")
            f1, outcome = self._measured(cohort, parts, rung, place, seed)
            if not outcome.finished:
                return self
            if kept is None or f1 > max(one["f1"] for one in self.tried):
                kept, self.chosen = outcome, rung
            self.tried.append({"f1": f1, **({} if rung is None else asdict(rung))})
            say(f"mean F1 {f1:.2f} % on the validation stays")
            if rung is not None and place > 1 and f1 < self.tried[-2]["f1"]:
                break  # the stays do not support more
        assert kept is not None
        self._settle(HeldStays(cohort, training), self.chosen, kept, seed)
        return self

    def _measured(
        self, cohort: Cohort, parts: Sequence[Part], rung: Rung | None, place: int, seed: int
    ) -> tuple[float, Outcome]:
        """The mean F1 over the top 1, 3, 5 and 10 of all stays that validate; what was learned from the first part."""
        found: list[Doubles] = []
        first: Outcome | None = None
        for number, (lessons, others) in enumerate(parts):
            stays, held_out = HeldStays(cohort, lessons), cohort.subset(others)
            outcome = self._learned_by(stays, held_out, rung, f"{place}.{number}", seed)
            first = first or outcome
            if not outcome.finished:
                return 0.0, outcome
            scorer = self.scorer()
            rows = stay_rows(scorer, held_out)
            found.append(100 * evaluate(scorer.scores, rows, held_out.procedures).f1)
        assert first is not None
        return float(np.concatenate(found).mean()), first

    def _learned_by(
        self, stays: HeldStays, held_out: Cohort, rung: Rung | None, mark: str, seed: int
    ) -> Outcome:
        """What one run learns; without a rung, what the base knows."""
        if rung is None:
            self._settle(stays, None, Outcome(self._initial(stays, NEVER), [], 0, finished=True), seed)
        else:
            self.asked = self._on(rung)
            self.checkpoint = (
                None if self._home is None else self._home.with_name(f"{self._home.name}.{mark}")
            )
            self.fit_stays(stays, held_out, seed=seed)
        return self._learned

    def _on(self, rung: Rung | None) -> CouplingTraining:
        """The settings of a rung."""
        assert isinstance(self._plain, CouplingTraining)
        if rung is None:
            return self._plain
        model = replace(self._plain.model, pull=rung.pull)
        return replace(self._plain, epochs=rung.epochs, adam=AdamConfig(lr=rung.rate), model=model)

    def _settle(self, stays: HeldStays, rung: Rung | None, outcome: Outcome, seed: int) -> None:
        """Be the model that an outcome is of."""
        self.asked = self._on(rung)
        self.config, self.vocabularies = self.asked.for_stays(len(stays)).with_seed(seed), stays.vocabularies
        self.layout, self.outcome = self._layout(stays), outcome

    def _layout(self, stays: TrainingStays) -> Any:
        return stays.layout() if self.base.takes_evidence else None

    def _initial(self, stays: TrainingStays, new: float | None = None) -> Weights:
        sizes = len(stays.vocabularies[0]), len(stays.vocabularies[1])
        categories = stays.vocabularies[0].categories, stays.vocabularies[1].categories
        network = CouplingNetwork(*sizes, self._on(None).model, categories, self._layout(stays))
        return self.base.weights(network) if new is None else self.base.weights(network, new)

    def stays_behind(self, diagnoses: Counts, procedures: Counts) -> tuple[Counts, Counts]:
        """With the stays that the base learned from."""
        before = self.base.stays_behind
        return diagnoses + before[0], procedures + before[1]

    def settings(self) -> dict[str, Any]:
        """With the base, what it knew of the cohort's codes, and what was tried."""
        adapted = {
            "base": self.base.name,
            "fingerprint": fingerprint(self.base.files),
            "kept": "base" if self.chosen is None else "adapted",
            "tried": self.tried,
            **self.base.counts,
        }
        return super().settings() | {"adapted": adapted}

    @property
    def notes(self) -> str:
        """The head of the model card."""
        files, counts = self.base.files, self.base.counts
        sizes = f"{len(files.diagnoses):,} diagnoses, {len(files.procedures):,} procedures"
        told = "; ".join(
            f"of the cohort's {one['codes']:,} {kind} the base knows {one['known']:,}, relatives stood in for "
            f"{one['stood_in']:,}, and {one['lost']:,} have none"
            for kind, one in counts.items()
        )
        return (
            f"**Adapted** by `dx2px adapt` from the model `{self.base.name}` ({sizes}; fingerprint "
            f"{fingerprint(files)[:12]}) to the cohort below: {told}. {self.verdict} "
            "The probabilities are fitted to this cohort."
        )

    @property
    def verdict(self) -> str:
        """Whether adapting helped on the stays that validate."""
        alone = f"{self.tried[0]['f1']:.1f} %"
        if self.chosen is None:
            return (
                f"On the stays that validate, no setting did better than the base alone (mean F1 {alone}), "
                "so the base's weights were kept."
            )
        best = max(one["f1"] for one in self.tried)
        return (
            f"On the stays that validate, the mean F1 over the top 1, 3, 5 and 10 rose from {alone} (the base alone) "
            f"to {best:.1f} % ({self.chosen})."
        )

    def remove_checkpoints(self) -> None:
        """Remove the files that a finished run no longer needs."""
        for file in [] if self._home is None else checkpoints(self._home):
            file.unlink()


def checkpoints(home: Path) -> list[Path]:
    """The checkpoints of the runs of an adapted model, given the name they begin with."""
    return sorted(home.parent.glob(f"{glob.escape(home.name)}.[0-9]*.[0-9]*"))


def _parts(training: Rows, validation: Rows, seed: int) -> Iterator[Part]:
    """The split as it is and, where few stays validate, cuts of the training stays."""
    yield training, validation
    if len(validation) < ENOUGH:
        order = np.random.default_rng(seed).permutation(training)
        for cut in range(CUTS):
            others = order[cut::CUTS]
            yield np.setdiff1d(training, others), np.sort(others)
