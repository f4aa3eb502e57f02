"""The whole study of some models on one cohort: planted truth if there is one, deletion, stability.

All models are asked about diagnoses alone. One that takes more evidence also has the background, whose share of the
procedures is recorded; only diagnoses count as causes.

The stays are a sample, fixed by the seed, of those that no model learned from. Another cohort than the models' own is
reduced to their vocabularies, and its planted truth is not used.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Split
from dx2px.cohort.projection import project
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import InputError
from dx2px.lab.bootstrap import LEVEL, RESAMPLES, Resamples
from dx2px.lab.faithfulness.attributions import Background, attribute, attributions
from dx2px.lab.faithfulness.background import WithBackground
from dx2px.lab.faithfulness.deletion import MOST, Targets, curves, deletions
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.faithfulness.planted import Planted
from dx2px.lab.faithfulness.stability import families, penalties, plan_settings, steadiness
from dx2px.lab.faithfulness.subject import PAPER, Subject
from dx2px.lab.synthetic import Truth
from dx2px.lab.synthetic.truth import causes_path
from dx2px.scoring.measured import in_codes_of, learned_from, validation_fold
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles
from dx2px.training.recommender import Say, silent
from dx2px.version import __version__

FORMAT = 1
DECIMALS = 6
Record = dict[str, Any]


@dataclass(frozen=True)
class StudyConfig:
    """How many stays are sampled, and the seed of all draws."""

    samples: int = 2000  # stays
    seed: int = 0

    def __post_init__(self) -> None:
        if self.samples < 1 or self.seed < 0:
            raise InputError(
                f"The number of stays must be at least 1 and the seed not negative, not {self.samples} and {self.seed}."
            )


@dataclass(frozen=True, eq=False)
class Stays:
    """The stays that all models explain, over the models' vocabularies."""

    cohort: Cohort
    rows: NDArray[np.int64]  # the sample
    learned: NDArray[np.int64] | None  # rows that the first model learned from; None in another cohort
    set_aside: Record | None  # what was left out of another cohort

    @classmethod
    def of(cls, subjects: Sequence[Subject], cohort: Cohort, config: StudyConfig) -> Stays:
        """Draw the sample; models of different vocabularies or of different cohorts cannot be compared."""
        _check_alike(subjects, cohort)
        first = subjects[0].files
        if not learned_from(first, cohort):
            seen = project(cohort, *(Vocabulary(codes) for codes in (first.diagnoses, first.procedures)))
            rows = _sample(np.arange(len(seen.cohort)), config)
            return cls(seen.cohort, rows, None, seen.counts.to_dict())
        splits = [_split(subject) for subject in subjects]
        unseen = reduce(np.intersect1d, [split.test for split in splits])
        if not len(unseen):
            raise InputError("Every stay was learned from by one of the models: use models of one split.")
        learned = splits[0].training(validation_fold(first))
        return cls(in_codes_of(first, cohort), _sample(unseen, config), learned, None)

    @property
    def pairs(self) -> Pairs:
        return Pairs(self.cohort.diagnoses.take(self.rows), self.cohort.procedures.take(self.rows))

    @cached_property
    def background(self) -> Background | None:
        if self.learned is None:
            return None
        sizes = len(self.cohort.diagnosis_vocabulary), len(self.cohort.procedure_vocabulary)
        taught = self.cohort.diagnoses.take(self.learned), self.cohort.procedures.take(self.learned)
        return Background.of(*taught, sizes)


def study(
    subjects: Sequence[Subject],
    cohort_path: str | os.PathLike[str],
    config: StudyConfig | None = None,
    say: Say = silent,
) -> Record:
    """All measures, as plain data for JSON."""
    config = config or StudyConfig()
    cohort = Cohort.load(cohort_path)
    stays = Stays.of(subjects, cohort, config)
    truth = (
        Truth.load(cohort_path) if stays.learned is not None and causes_path(cohort_path).exists() else None
    )
    planted = None if truth is None else Planted.of(truth, cohort, stays.rows)
    resamples = Resamples.draw(len(stays.rows), config.seed)
    record = _head(subjects, stays, cohort, config)
    for subject in subjects:
        say(f"{subject.name} ({subject.method})")
        record["models"][subject.name] |= _one(subject, stays, planted, resamples, config.seed)
    say("stability")
    record["stability"] = {
        name: asdict(steadiness(members, stays.pairs)) for name, members in families(subjects).items()
    }
    found: Record = _rounded(record)
    return found


def _one(subject: Subject, stays: Stays, planted: Planted | None, resamples: Resamples, seed: int) -> Record:
    pairs = stays.pairs
    named = attributions(subject, stays.background, seed)
    values = attribute(named, pairs)
    record: Record = {"accuracy": _f1(subject, pairs), "deletion": {}, "curves": {}}
    if isinstance(subject.scorer, WithBackground):
        record["background"] = _background(subject.scorer, pairs, values["shares"])
    if planted is not None:
        found = planted.recovery(values, resamples)
        weights = {"significance": subject.scorer.significance(pairs.diagnoses).astype(np.float64)}
        first = {k: planted.causes_first(w, resamples) for k, w in (weights | planted.yardsticks()).items()}
        record |= {"planted": _plain(found), "causes_first": _plain(first)}
    first_targets = Targets.ranked_first(subject, pairs.diagnoses)
    asked = {
        "coded": (Targets(pairs, pairs.widths > 1), values),
        "ranked first": (first_targets, attribute(named, first_targets.pairs)),
    }
    for name, (targets, blamed) in asked.items():
        if targets.measured.any():
            record["deletion"][name] = _plain(deletions(blamed, targets, resamples))
            record["curves"][name] = _plain(curves(subject, blamed, targets))
    if subject.method in PAPER and not subject.transport.penalised:
        record["plan_settings"] = [asdict(one) for one in plan_settings(subject, pairs, planted)]
        if planted is not None:
            record["penalties"] = penalties(subject, planted)
    return record


def _head(subjects: Sequence[Subject], stays: Stays, cohort: Cohort, config: StudyConfig) -> Record:
    return {
        "kind": "dx2px faithfulness",
        "format": FORMAT,
        "version": __version__,
        "settings": asdict(config) | {"resamples": RESAMPLES, "level": LEVEL, "most_removed": MOST},
        "scale": "log softmax of the scores over all procedures",
        "cohort": {
            "stays": len(cohort),
            "diagnoses": len(cohort.diagnosis_vocabulary),
            "procedures": len(cohort.procedure_vocabulary),
            "asked": len(stays.rows),
            "asked_procedures": int(stays.cohort.procedures.lengths[stays.rows].sum()),
            "own": stays.learned is not None,
            "set_aside": stays.set_aside,
        },
        "models": {
            subject.name: {"method": subject.method, "family": subject.family, **_run(subject)}
            for subject in subjects
        },
    }


def _run(subject: Subject) -> Record:
    settings = subject.files.settings
    split = settings.get("split")
    return {"seed": settings.get("seed"), "fold": split.get("fold") if isinstance(split, dict) else None}


def _f1(subject: Subject, pairs: Pairs) -> dict[str, float]:
    found = evaluate(subject.scorer.scores, pairs.diagnoses, pairs.procedures)
    return {f"f1@{at}": value for at, value in found.mean("f1").items()}


def _background(scorer: Scorer, pairs: Pairs, shares: Doubles) -> dict[str, float]:
    """The background's mean significance, and its mean share of the coded procedures."""
    of_diagnoses = np.add.reduceat(shares, pairs.offsets[:-1])
    weights = np.add.reduceat(
        scorer.significance(pairs.diagnoses).astype(np.float64), pairs.diagnoses.offsets[:-1]
    )
    return {"significance": float(1 - weights.mean()), "share": float(1 - of_diagnoses.mean())}


def _rounded(value: Any) -> Any:
    """Numbers to six decimals: further ones differ between machines."""
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return round(value, DECIMALS) if isinstance(value, float) else value


def _plain(named: dict[str, Any]) -> Record:
    return {name: asdict(value) for name, value in named.items()}


def _split(subject: Subject) -> Split:
    if subject.files.split is None:
        raise InputError(
            f"The model {subject.name} does not say how its cohort was split: unseen stays are unknown."
        )
    return Split.from_bytes(subject.files.split)


def _sample(rows: NDArray[np.int64], config: StudyConfig) -> NDArray[np.int64]:
    """So many rows, in order; the seed decides which."""
    if len(rows) <= config.samples:
        return rows
    return np.sort(np.random.default_rng(config.seed).choice(rows, config.samples, replace=False))


def _check_alike(subjects: Sequence[Subject], cohort: Cohort) -> None:
    if not subjects:
        raise InputError("Name at least one model.")
    if len({subject.name for subject in subjects}) < len(subjects):
        raise InputError(
            "Two of the models have the same folder name, which results are listed by: rename one."
        )
    first = subjects[0]
    for other in subjects[1:]:
        if tuple(other.files.diagnoses) != tuple(first.files.diagnoses) or tuple(
            other.files.procedures
        ) != tuple(first.files.procedures):
            raise InputError(
                f"The models {first.name} and {other.name} know different codes: study them separately."
            )
    if len({learned_from(subject.files, cohort) for subject in subjects}) > 1:
        raise InputError(
            "Some of the models learned from this cohort and some did not: study them separately."
        )
