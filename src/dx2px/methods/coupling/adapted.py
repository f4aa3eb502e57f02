"""The default method, adapted: it starts from a trained model and learns on from the stays of another hospital.

First the levels of the procedures move to how common they are there (`levels`). From there on all may move. How far is
chosen on validation stays, from `ladder`: by a rung, each of which goes further than the one before, and by the share
that is taken of the way from its start to its end. Few stays support a part of the first rung, many thousand all of the
last; the climb ends with the first rung that does worse than the one before. The base alone is a candidate, too: where
nothing does better, its weights are kept.

A few dozen validation stays would choose by chance. So the training stays are then cut into parts; each part validates
what is learned from the others, and all stays that validated choose together. The model is the mean of what these runs
have learned, since the mean has less of the chance of each. Where the validation stays are enough to choose, the climb
begins higher, and the parts get their runs afterwards, on the chosen rung: probabilities are fitted on stays that a run
has not learned from, and the validation stays are too few for that. Where they are enough for that as well, there are
no more runs, and the probabilities are fitted as those of any other model.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from dx2px.cohort import Cohort
from dx2px.methods.coupling import levels
from dx2px.methods.coupling.ladder import (
    CUTS,
    ENOUGH,
    LADDER,
    PLENTY,
    SHARES,
    Lessons,
    Part,
    Run,
    Rung,
    mean,
    parts,
)
from dx2px.methods.coupling.model import CouplingModel
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.methods.coupling.warm_start import NEVER, RARER, Base
from dx2px.scoring.beside import CodedLevels
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.metrics import BATCH, evaluate
from dx2px.scoring.points import evenly_spread
from dx2px.scoring.scorer import Scorer
from dx2px.training.adam import AdamConfig
from dx2px.training.batches import Rows
from dx2px.training.loop import Outcome, Weights
from dx2px.training.recommender import Say, silent
from dx2px.training.stays import Counts, TrainingStays

WATCHED = 1000  # stays, at most, that are measured after each epoch: this is recorded, and chooses nothing


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
        self.share = 1.0  # of the way
        self.tried: list[dict[str, Any]] = []
        self._plain = self.asked
        self._home = None if checkpoint is None else Path(checkpoint)
        self._from: Weights = {}  # what the current run starts from
        self._tests: list[tuple[Scorer, Cohort]] = []

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Climb the ladder, and keep what does best on the stays that validate."""
        cuts, self._tests = parts(cohort, training, validation, seed), []
        choosing, rungs = (cuts, self.ladder) if len(validation) < ENOUGH else (cuts[:1], self._upper)
        say("the base alone")
        kept = [self._unmoved(part) for part in choosing]
        best = self._measured(kept, choosing, None, seed, 1.0)
        self.tried, self.chosen, self.share, before = [{"f1": best}], None, 1.0, 0.0
        starts = [self._level(part.lessons, seed) for part in choosing]
        for place, rung in enumerate(rungs):
            say(f"{place + 1} of {len(rungs)}: {rung}")
            runs = []
            for number, (part, start) in enumerate(zip(choosing, starts, strict=True)):
                runs.append(self._run(part, rung, start, number, seed))
                if not runs[-1].outcome.finished:
                    return self
            found = {share: self._measured(runs, choosing, rung, seed, share) for share in SHARES}
            self.tried += [{"f1": f1, **asdict(rung), "share": share} for share, f1 in found.items()]
            share = max(found, key=found.__getitem__)
            say(f"mean F1 {found[share]:.2f} % on the validation stays, after {share:.0%} of the way")
            if found[share] > best:
                kept, best, self.chosen, self.share = runs, found[share], rung, share
            if found[share] < before:
                break  # the stays do not support more
            before = found[share]
        if len(validation) < PLENTY:
            others = self._others(cuts, len(choosing), seed, say)
            if others is None:
                return self
            self._tests = self._scorers([*kept, *others], cuts, self.chosen, seed, self.share)
        self._settle(cuts[0].lessons, self.chosen, mean(kept, self.share), seed)
        return self

    @property
    def _upper(self) -> Sequence[Rung]:
        """Where the climb begins with many stays: the second rung did better in every such run that was measured."""
        return self.ladder[1:] or self.ladder

    def _others(self, cuts: Sequence[Part], chose: int, seed: int, say: Say) -> list[Run] | None:
        """The runs of the cuts that did not choose; None if they were stopped."""
        if self.chosen is None:
            return [self._unmoved(part) for part in cuts[chose:]]
        found: list[Run] = []
        for number, part in enumerate(cuts[chose:], chose):
            say(f"to fit probabilities, without part {number} of {CUTS}")
            found.append(self._run(part, self.chosen, self._level(part.lessons, seed), number, seed))
            if not found[-1].outcome.finished:
                return None
        return found

    def _unmoved(self, part: Part) -> Run:
        """The base alone."""
        return Run.unmoved(self._begun(part.lessons, NEVER))

    def _measured(
        self, runs: Sequence[Run], cuts: Sequence[Part], rung: Rung | None, seed: int, share: float
    ) -> float:
        """After a share of the way, the mean F1 over the top 1, 3, 5 and 10 of all stays that validate."""
        found = [
            evaluate(scorer.scores, stay_rows(scorer, held_out), held_out.procedures).f1
            for scorer, held_out in self._scorers(runs, cuts, rung, seed, share)
        ]
        return float(100 * np.concatenate(found).mean())

    def _scorers(
        self, runs: Sequence[Run], cuts: Sequence[Part], rung: Rung | None, seed: int, share: float
    ) -> list[tuple[Scorer, Cohort]]:
        """After a share of the way, the scorer of each run, and the stays that it has not learned from."""
        found = []
        for run, part in zip(runs, cuts, strict=True):
            self._settle(part.lessons, rung, run.after(share), seed)
            found.append((self.scorer(), part.held_out))
        return found

    def tests(self) -> Sequence[tuple[Scorer, Cohort]]:
        """The runs, with the stays that each has not learned from: together all but the test stays, or none."""
        return self._tests

    def _level(self, lessons: Lessons, seed: int) -> Weights:
        """The base with the levels of some stays."""
        weights = self._begun(lessons)
        self._settle(lessons, None, Run.unmoved(weights).outcome, seed)
        scorer, places = self.scorer(), evenly_spread(len(lessons), len(weights["b"]), levels.MOST_PAIRS)
        some = lessons.cohort.subset(lessons.rows[places])
        scores = np.concatenate([scorer.scores(block) for block in stay_rows(scorer, some).blocks(BATCH)])
        worth = levels.worth(self.base.procedures.known)
        moved = levels.moved_levels(scores, some.procedures, worth, self._on(None).model.balance)
        return weights | {"b": (weights["b"] + moved).astype(np.float32)}

    def _run(self, part: Part, rung: Rung, start: Weights, number: int, seed: int) -> Run:
        """What is learned on a rung without the part of this number."""
        self.asked, self._from = self._on(rung), start
        if self._home is not None:
            place = self.ladder.index(rung) + 1
            self.checkpoint = self._home.with_name(f"{self._home.name}.{place}.{number}")
        watched = part.held_out.subset(evenly_spread(len(part.held_out), 1, WATCHED))
        self.fit_stays(part.lessons, watched, seed=seed)
        return Run(start, self._learned)

    def _on(self, rung: Rung | None) -> CouplingTraining:
        """The settings of a rung."""
        assert isinstance(self._plain, CouplingTraining)
        if rung is None:
            return self._plain
        model = replace(self._plain.model, pull=rung.pull)
        return replace(self._plain, epochs=rung.epochs, adam=AdamConfig(lr=rung.rate), model=model)

    def _settle(self, stays: TrainingStays, rung: Rung | None, outcome: Outcome, seed: int) -> None:
        """Be the model that an outcome is of."""
        self.asked = self._on(rung)
        self.config, self.vocabularies = self.asked.for_stays(len(stays)).with_seed(seed), stays.vocabularies
        self.layout, self.outcome, self.levels = self._layout(stays), outcome, self.base.levels

    def _fitted_levels(self, stays: TrainingStays, held_out: Cohort) -> CodedLevels | None:
        """Those of the base: which procedures go together is much the same everywhere, and few stays say it."""
        return self.base.levels

    def _layout(self, stays: TrainingStays) -> Any:
        return stays.layout() if self.base.takes_evidence else None

    def _begun(self, stays: TrainingStays, new: float = -RARER) -> Weights:
        """The base on the codes of the stays."""
        sizes = len(stays.vocabularies[0]), len(stays.vocabularies[1])
        categories = stays.vocabularies[0].categories, stays.vocabularies[1].categories
        network = CouplingNetwork(*sizes, self._on(None).model, categories, self._layout(stays))
        return self.base.weights(network, new)

    def _initial(self, stays: TrainingStays) -> Weights:
        return self._from

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
            "share": self.share,
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
            f"The probabilities are fitted to this cohort. {self.base.warning}".rstrip()
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
            f"to {best:.1f} % ({self.chosen}; {self.share:.0%} of the way)."
        )

    def remove_checkpoints(self) -> None:
        """Remove the files that a finished run no longer needs."""
        for file in [] if self._home is None else checkpoints(self._home):
            file.unlink()


def checkpoints(home: Path) -> list[Path]:
    """The checkpoints of the runs of an adapted model, given the name they begin with."""
    return sorted(home.parent.glob(f"{glob.escape(home.name)}.[0-9]*.[0-9]*"))
