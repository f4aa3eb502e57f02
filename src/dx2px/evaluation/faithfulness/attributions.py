"""All ways of putting a procedure down to diagnoses that are compared, by name.

shares              the default model's own: the parts that its score is the sum of
contrast            log (1 − μ_d)/(1 − share_dp): what the default model's share says of deletion, if the company stayed
plan                the paper's transport plan T between the stay's diagnoses and procedures, column by column
own plan            the plan that a model was trained with, where a marginal of it may give way
semi-relaxed plan   the same costs and significance, with the procedures' marginal alone
cosine              no plan at all: the cosine of the two vectors
parts               μ_d u_d·v_p, the terms of the paper's score where fusion is a weighted sum
significance        μ_d for every procedure alike (attention alone)
gradient × input    derivative of the score along the diagnosis' vector
leave-one-out       fall of the log probability when the diagnosis is taken away
lift                how much oftener the two go together in the training stays than by chance
most frequent       the number of training stays with the diagnosis
random              numbers drawn at random

Only orders within a procedure count for most measures; ROC and PR areas compare across procedures too, so all are
brought to one scale there: shares that sum to 1 for each procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dx2px.evaluation.faithfulness.pairs import Doubles, Pairs
from dx2px.evaluation.faithfulness.subject import PAPER, Subject
from dx2px.model.transport import TransportConfig, TransportResult, solve
from dx2px.ragged import Ragged

Attribution = Callable[[Pairs], Doubles]
SEMI_RELAXED = TransportConfig.semi_relaxed()
LIFT_PRIOR = 5.0  # stays' worth of chance that lift is smoothed with
_NORM_FLOOR = 1e-12
_LEAST_LEFT = 1e-9


@dataclass(frozen=True, eq=False)
class Background:
    """What the training stays say by counting alone."""

    diagnoses: NDArray[np.int64]  # (d,) stays with each diagnosis
    lift: Doubles  # (d, p)

    @classmethod
    def of(cls, diagnoses: Ragged, procedures: Ragged, sizes: tuple[int, int]) -> Background:
        """From the training stays: lift is (n_dp + δ) / (n_d n_p / N + δ)."""
        together = np.zeros(sizes, np.float64)
        for block in np.array_split(np.arange(len(diagnoses)), -(-len(diagnoses) // 4096) or 1):
            D, P = (_indicator(x.take(block), n) for x, n in ((diagnoses, sizes[0]), (procedures, sizes[1])))
            together += D.T @ P
        n_d, n_p = diagnoses.counts(sizes[0]), procedures.counts(sizes[1])
        expected = np.outer(n_d, n_p) / max(len(diagnoses), 1)
        return cls(n_d, (together + LIFT_PRIOR) / (expected + LIFT_PRIOR))


class _Coupled(Protocol):
    def pairs(self, rows: Ragged) -> NDArray[np.float32]: ...


def attributions(subject: Subject, background: Background | None, seed: int) -> Mapping[str, Attribution]:
    """Those that this model has, and those that need none."""
    found: dict[str, Attribution] = {}
    if subject.method == "coupling":
        logits = cast(_Coupled, subject.scorer).pairs
        found["shares"] = lambda pairs: pairs.softmax(pairs.pick(logits))
        found["contrast"] = lambda pairs: contrast(found["shares"](pairs), significance(subject, pairs))
    if subject.method in PAPER:
        found["plan"] = lambda pairs: plan_shares(subject, pairs, TransportConfig())
        if subject.transport.penalised:
            found["own plan"] = lambda pairs: plan_shares(subject, pairs, subject.transport)
        found["semi-relaxed plan"] = lambda pairs: plan_shares(subject, pairs, SEMI_RELAXED)
        found["cosine"] = lambda pairs: 1 - costs(subject, pairs)
    if subject.method == "e+sa+ma":
        found["parts"] = lambda pairs: parts(subject, pairs)
    if subject.method != "e+ma":  # whose significance is uniform by definition
        found["significance"] = lambda pairs: significance(subject, pairs)
    found["gradient × input"] = lambda pairs: pairs.pick(subject.gradient_times_input)
    found["leave-one-out"] = lambda pairs: pairs.pick(subject.fall)
    return found | controls(background, seed)


def controls(background: Background | None, seed: int) -> dict[str, Attribution]:
    """What knows nothing of the model."""
    found: dict[str, Attribution] = {}
    if background is not None:
        lift, counts = background.lift, background.diagnoses
        found["lift"] = lambda pairs: pairs.pick(lambda rows: lift[rows.values])
        found["most frequent"] = lambda pairs: counts[pairs.diagnoses.values][pairs.source].astype(np.float64)
    found["random"] = lambda pairs: np.random.default_rng(seed).random(pairs.offsets[-1])
    return found


def one_scale(name: str, values: Doubles, pairs: Pairs) -> Doubles:
    """Any attribution as shares that sum to 1 for each procedure; negative numbers count as none."""
    if name == "cosine":
        return pairs.softmax(values / SEMI_RELAXED.entropy)
    return pairs.shares(np.maximum(values, 0))


def attribute(named: Mapping[str, Attribution], pairs: Pairs) -> dict[str, Doubles]:
    """Each attribution's numbers."""
    return {name: attribution(pairs) for name, attribution in named.items()}


def contrast(shares: Doubles, mu: Doubles) -> Doubles:
    """The fall of log Σ_d π(d,p) / Σ π when the terms of one diagnosis go and all others stay as they are."""
    left, all_left = (np.maximum(1 - x, _LEAST_LEFT) for x in (shares, mu))
    return np.log(all_left) - np.log(left)


def significance(subject: Subject, pairs: Pairs) -> Doubles:
    return subject.scorer.significance(pairs.diagnoses).astype(np.float64)[pairs.source]


def costs(subject: Subject, pairs: Pairs) -> Doubles:
    """1 − cos(u_d, v_p) (eq 5), (c,)."""
    U, V = (_directions(subject.files.arrays[name]) for name in "UV")
    return 1 - pairs.pick(lambda rows: U[rows.values] @ V.T)


def parts(subject: Subject, pairs: Pairs) -> Doubles:
    U, V = (subject.files.arrays[name].astype(np.float64) for name in "UV")
    return significance(subject, pairs) * pairs.pick(lambda rows: U[rows.values] @ V.T)


def plan(subject: Subject, pairs: Pairs, config: TransportConfig) -> TransportResult:
    """The transport between each stay's diagnoses and its procedures to be explained."""
    places = pairs.by_diagnosis()
    C = np.empty(len(places))
    C[places] = costs(subject, pairs)
    mu = subject.scorer.significance(pairs.diagnoses).astype(np.float64)
    n, m = pairs.diagnoses.lengths, pairs.procedures.lengths
    return solve(C, mu, np.repeat(1 / m, m), n, m, config)


def plan_shares(subject: Subject, pairs: Pairs, config: TransportConfig) -> Doubles:
    """The columns of the plan, each scaled to sum 1, (c,)."""
    found = plan(subject, pairs, config).plan[pairs.by_diagnosis()]
    return pairs.shares(found.astype(np.float64))


def _directions(X: NDArray[np.float32]) -> Doubles:
    doubles = X.astype(np.float64)
    lengths: Doubles = np.linalg.norm(doubles, axis=1, keepdims=True)
    return doubles / np.maximum(lengths, _NORM_FLOOR)


def _indicator(rows: Ragged, size: int) -> Doubles:
    found = np.zeros((len(rows), size))
    found[rows.row_of_entry, rows.values] = 1
    return found
