"""`dx2px train --tune`: choose learning rate, start and epochs on validation before the run itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dx2px.cli.console import remark, working
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.cli.training_run import Run
    from dx2px.cohort import Cohort
    from dx2px.methods.tuning import Trial

Known = dict["Trial", float]  # what each trial is judged by


def tuned(run: Run, options: Mapping[str, Any], resume: bool) -> tuple[dict[str, Any], str]:
    """The options with those that validation chose, and what the model card says about the choice.

    Trials that have ended are kept beside the model folder, so that `resume` does not repeat them.
    """
    from dx2px.cohort import Cohort
    from dx2px.methods.tuning import best_trial, next_trial

    cohort = Cohort.load(run.cohort)
    kept = KeptTrials(run, cohort, options)
    known = kept.read() if resume else {}
    while (trial := next_trial(known)) is not None:
        known[trial] = _f1(run, cohort, options, trial)
        kept.write(known)
        remark(f"{_named(trial)}: mean validation F1 {known[trial]:.2f} %")
    best = best_trial(known)
    remark(f"Chosen on validation: {_named(best)}.")
    return {**options, **best.options}, _notes(known, best)


class KeptTrials:
    """The trials of one run in a file: of the same stays, split, seed and options."""

    def __init__(self, run: Run, cohort: Cohort, options: Mapping[str, Any]) -> None:
        from dx2px.cohort.fingerprint import fingerprint

        self.file: Path = run.out.with_name(f"{run.out.name}.tuning.json")
        chosen = {name: value for name, value in options.items() if name not in ("resume", "save_every")}
        self.of = {"method": run.method, "data": fingerprint(cohort), "seed": run.seed, "options": chosen}
        self.of["split"] = asdict(run.split)

    def read(self) -> Known:
        """Those that are kept of this very run; none if the file is absent or of another."""
        from dx2px.methods.tuning import Trial

        try:
            record = json.loads(self.file.read_text(encoding="utf-8"))
            if record["of"] != self.of:
                return {}
            return {Trial(**one["trial"]): float(one["f1"]) for one in record["tried"]}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{self.file} cannot be read: delete it, and its trials are run again."
            ) from None

    def write(self, known: Known) -> None:
        """Replace the file."""
        from dx2px.storage import write_text

        tried = [{"trial": trial._asdict(), "f1": f1} for trial, f1 in known.items()]
        write_text(self.file, json.dumps({"of": self.of, "tried": tried}, indent=1) + "\n")


def _f1(run: Run, cohort: Cohort, options: Mapping[str, Any], trial: Trial) -> float:
    """What a run with these settings is judged by, in per cent."""
    from dx2px.methods import recommender
    from dx2px.methods.tuning import judged
    from dx2px.training.run import learn

    with working(f"{run.method}, {_named(trial)}") as say:
        model = recommender(run.method, **{**options, **trial.options, "resume": None})
        trained = learn(cohort, model, run.split, seed=run.seed, threads=run.threads, say=say)
        return judged(trained.evaluate("validation").mean("f1"))


def _named(trial: Trial) -> str:
    return f"learning rate {trial.lr:g}, start {trial.start:g}"


def _notes(known: Known, best: Trial) -> str:
    """For the model card."""
    tried = "; ".join(f"{_named(trial)}: {f1:.2f} %" for trial, f1 in known.items())
    return (
        "Learning rate and start were chosen by the mean of F1@1, 3, 5 and 10 on the validation stays: "
        f"{_named(best)}. "
        f"The epoch with the best validation F1@5 was kept. Tried: {tried}."
    )
