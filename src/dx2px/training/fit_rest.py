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
from torch import Tensor
from torch.nn.functional import softplus

from dx2px.cohort import Cohort, Ragged
from dx2px.ragged import offsets_of
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.completion import MOST, REST, Rest
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import halved
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training.fit_calibration import log_loss, slope_and_shift

MOST_PAIRS = 5_000_000  # of validation stay and procedure; with more, evenly spread stays are used
FACTORS, STEPS, STAYS, RATE = 16, 600, 500, 0.02
_RIDGE = {"k": 5.0, "a": 0.5, "A": 1.0, "B": 1.0}  # per unit², against the loss of all stays together
_SPREAD = 0.3  # deviation of A at the start


Weights = dict[str, Tensor]
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
    most = max(1, MOST_PAIRS // layout.procedures)
    some = stays.subset(np.linspace(0, len(stays) - 1, min(len(stays), most)).astype(np.int64))
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
    """The arrays. The learning rate is even at first and falls to 0 in the second half of the steps."""
    generator = torch.Generator().manual_seed(seed)
    stays, procedures = lessons.absent.shape
    weights = _start(procedures, start, generator)
    origin = {name: weights[name].detach().clone() for name in "ka"}
    adam = torch.optim.Adam(weights.values(), fused=True)
    entries = Ragged(
        offsets_of(np.bincount(lessons.stay, minlength=stays)), np.arange(len(lessons.stay), dtype=np.int32)
    )
    size, order = min(STAYS, stays), np.empty(0, np.int64)
    for step in range(STEPS):
        if len(order) < size:
            order = torch.randperm(stays, generator=generator).numpy()
        rows, order = order[:size], order[size:]
        loss = _surprise(weights, lessons, rows, entries.take(rows)) / size
        loss = loss + _ridge(weights, origin) / stays
        adam.param_groups[0]["lr"] = RATE * min(1.0, 2 * (1 - step / STEPS))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return dict(zip(REST, (weights[name].detach().numpy() for name in "kaAB"), strict=True))


def _start(procedures: int, start: tuple[float, float], generator: torch.Generator) -> Weights:
    """The completion with a slope and a shift; beside which procedures others stand has no say yet."""
    weights = {
        "k": torch.full((procedures,), start[0]),
        "a": torch.full((procedures,), start[1]),
        "A": _SPREAD * torch.randn(procedures, FACTORS, generator=generator),
        "B": torch.zeros(procedures, FACTORS),
    }
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def _surprise(weights: Weights, lessons: _Asked, rows: Indices, entries: Ragged) -> Tensor:
    """The cross-entropy of all that is asked about some stays; `entries` are their places in `lessons.belonging`."""
    k, a, A, B = (weights[name] for name in "kaAB")
    coded = torch.from_numpy(lessons.coded[rows])
    beside = coded.float() @ A  # (i, f)
    y = torch.addmm(a, beside, B.T) + k * torch.from_numpy(lessons.absent[rows])
    absent = softplus(y).sum() - softplus(y[coded]).sum()  # few are coded: the others need not be picked out
    p = torch.from_numpy(lessons.procedure[entries.values])
    others = beside[torch.from_numpy(entries.row_of_entry)] - A[p]  # (e, f)
    z = torch.from_numpy(lessons.belonging[entries.values])
    return absent + softplus(-(k[p] * z + a[p] + (others * B[p]).sum(dim=1))).sum()


def _ridge(weights: Weights, origin: Weights) -> Tensor:
    moved = {name: weight - origin[name] if name in origin else weight for name, weight in weights.items()}
    return torch.stack([ridge * moved[name].square().sum() for name, ridge in _RIDGE.items()]).sum()
