"""Fitting probabilities given the rest of a stay: its other procedures are exactly the coded ones.

An audit asks two questions (`dx2px.answers.questions`), and the fit asks the same. Of each stay, every absent procedure
is asked given all that are coded: it does not belong. Of each stay with several, every coded procedure is asked given
the others: it belongs. Taken together in these numbers, the share that belongs is the probability that is wanted. A
stay's only procedure is not asked, since no stay of a cohort has none.

Like the head (`fit_head`), the arrays are fitted on training stays by Adam, with a ridge towards the completion that
they start from; the last slope and shift come from validation stays, and so does the decision to keep them.

Axes: i stays, e coded procedures of stays with several, laid flat, p procedures, f factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.ragged import offsets_of
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import halved
from dx2px.scoring.head import single_sigmoid
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.points import MOST_PAIRS, evenly_spread
from dx2px.scoring.rest import MOST, REST, Rest
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training.descent import Weights, descend
from dx2px.training.fit_calibration import log_loss, slope_and_shift

FACTORS, STEPS = 16, 600
_RIDGE = {"k": 5.0, "a": 0.5, "A": 1.0, "B": 1.0}
_SPREAD = 0.3  # deviation of A at the start

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Stays with their coded procedures, and the log odds that the completion gives."""

    coded: Marks  # (i, p)
    absent: Floats  # (i, p) given all that are coded; those of coded ones are not used
    stay: Indices  # (e,)
    procedure: Indices  # (e,)
    belonging: Floats  # (e,) given the others

    @classmethod
    def of(cls, stage: Calibration, layout: EvidenceLayout, scores: Scores, stays: Cohort) -> _Asked:
        coded, rows = stays.procedures, layout.rows(stays.diagnoses, known_of(layout, stays))
        stay, procedure = coded.row_of_entry, coded.values.astype(np.int64)
        several = np.flatnonzero(coded.lengths[stay] > 1)
        stay, procedure, others = stay[several], procedure[several], coded.each_left_out().take(several)
        absent = _log_odds(stage, layout, scores, layout.with_coded(rows, coded))
        belonging = _log_odds(stage, layout, scores, layout.with_coded(rows.take(stay), others), procedure)
        return cls(coded.indicator(layout.procedures), absent, stay, procedure, belonging)

    def log_odds(self, rest: Rest | None = None) -> Doubles:
        """Of all that is asked, laid flat, before the last slope and shift of the rest."""
        absent, belonging = self.absent.astype(np.float64), self.belonging.astype(np.float64)
        if rest is not None:
            others = self.coded[self.stay]
            others[np.arange(len(others)), self.procedure] = False
            absent = rest.own(absent, self.coded)
            belonging = rest.own(belonging[:, None], others, self.procedure[:, None])[:, 0]
        return np.concatenate([absent[~self.coded], belonging])

    @property
    def belongs(self) -> Marks:
        """Whether what is asked belongs to its stay, laid flat likewise."""
        absent = int(np.count_nonzero(~self.coded))
        return np.arange(absent + len(self.stay)) >= absent


def fit_rest(
    stage: Calibration,
    layout: EvidenceLayout,
    learned: tuple[Scores, Cohort],
    validation: tuple[Scores, Cohort],
    *,
    half: bool = False,
) -> Rest | None:
    """What an audit needs besides the completion of a stage; None if it does not help on the validation stays.

    Args:
        stage: The stage with its completion.
        layout: The model's rows of evidence.
        learned: How to score training stays, and these stays.
        validation: How to score stays that the method did not learn from, and these stays.
        half: Round the arrays to half precision, as the folder will.
    """
    scores, stays = validation
    some = stays.subset(evenly_spread(len(stays), layout.procedures, MOST_PAIRS))
    held_out = _Asked.of(stage, layout, scores, some)
    z, belongs = held_out.log_odds(), held_out.belongs
    if not belongs.any():  # every stay has one procedure
        return None
    arrays = _fitted(_Asked.of(stage, layout, *learned), _better(z, belongs))
    rest = Rest.of(halved(arrays) if half else arrays)
    y = held_out.log_odds(rest)
    slope, shift = _better(y, belongs)
    rest = replace(rest, slope=slope, shift=shift)
    better = log_loss(sigmoid(slope * y + shift), belongs) < log_loss(sigmoid(z), belongs)
    return rest if better else None  # None also if it is not a number


def _better(z: Doubles, belongs: Marks) -> tuple[float, float]:
    """The likeliest slope and shift; 1 and 0 if the fit did not converge to something better."""
    slope, shift = slope_and_shift(z, belongs)
    fitted, unchanged = (log_loss(sigmoid(x), belongs) for x in (slope * z + shift, z))
    return (slope, shift) if fitted < unchanged else (1.0, 0.0)


def _log_odds(
    stage: Calibration, layout: EvidenceLayout, scores: Scores, rows: Ragged, procedure: Indices | None = None
) -> Floats:
    """The completion's log odds of all procedures, (i, p), or of one per stay, (i,)."""
    parts, start = [np.empty((0, layout.procedures if procedure is None else 1), np.float32)], 0
    for block in rows.blocks(BATCH) if len(rows) else ():
        found = scores(block)
        places = None if procedure is None else procedure[start : start + len(block), None]
        z = stage.rest_log_odds(found, np.isneginf(found), places)
        parts.append(np.clip(z, -MOST, MOST).astype(np.float32))
        start += len(block)
    every = np.concatenate(parts)
    return every if procedure is None else every[:, 0]


def _fitted(lessons: _Asked, start: tuple[float, float], seed: int = 0) -> dict[str, Floats]:
    """The arrays."""
    generator = torch.Generator().manual_seed(seed)
    stays, procedures = lessons.absent.shape
    offsets = offsets_of(np.bincount(lessons.stay, minlength=stays))
    entries = Ragged(offsets, np.arange(len(lessons.stay), dtype=np.int32))

    def of_some(weights: Weights, rows: Indices) -> Weights:
        return gradient(weights, lessons, rows, entries.take(rows))

    origin = {"k": start[0], "a": start[1], "A": 0.0, "B": 0.0}
    ridge = {name: (weight, origin[name]) for name, weight in _RIDGE.items()}
    found = descend(_start(procedures, start, generator), of_some, ridge, stays, STEPS, generator)
    return dict(zip(REST, (found[name] for name in "kaAB"), strict=True))


def _start(procedures: int, start: tuple[float, float], generator: torch.Generator) -> Weights:
    """The completion with a slope and a shift; beside which procedures others stand has no say yet."""
    return {
        "k": np.full(procedures, start[0], np.float32),
        "a": np.full(procedures, start[1], np.float32),
        "A": (_SPREAD * torch.randn(procedures, FACTORS, generator=generator)).numpy(),
        "B": np.zeros((procedures, FACTORS), np.float32),
    }


def gradient(weights: Weights, lessons: _Asked, rows: Indices, entries: Ragged) -> Weights:
    """Of the cross-entropy of all that is asked about some stays; `entries` are their places in `lessons.belonging`."""
    k, a, A, B = (weights[name] for name in "kaAB")
    coded, z = lessons.coded[rows].astype(np.float32), lessons.absent[rows]
    beside = coded @ A  # (i, f)
    wrong = single_sigmoid(beside @ B.T + a + k * z) * (1 - coded)  # (i, p) what is coded is not asked here
    back = wrong @ B  # (i, f) to `beside`
    found = {"k": np.einsum("ip,ip->p", wrong, z), "a": wrong.sum(axis=0), "B": wrong.T @ beside}
    p, stay = lessons.procedure[entries.values], entries.row_of_entry
    others, own = beside[stay] - A[p], lessons.belonging[entries.values]  # (e, f) (e,)
    doubt = single_sigmoid(k[p] * own + a[p] + (others * B[p]).sum(axis=1)) - 1  # (e,)
    away = doubt[:, None] * B[p]  # (e, f) to `others`
    np.add.at(found["k"], p, doubt * own)
    np.add.at(found["a"], p, doubt)
    np.add.at(found["B"], p, doubt[:, None] * others)
    np.add.at(back, stay, away)
    found["A"] = coded.T @ back
    np.subtract.at(found["A"], p, away)
    return found
