"""The attributions that are compared: each says how much of a procedure comes from each diagnosis.

shares              the default model's own: the parts that its score is the sum of. In a model that takes more evidence
                    than diagnoses the background is one more part
contrast            log (1 − μ_d)/(1 − share_dp): the fall on deletion that the default model's share predicts if the
                    stay's context did not change
plan                the paper's transport plan T between the stay's diagnoses and procedures, column by column
own plan            the plan that a model was trained with, if a marginal of it may give way
semi-relaxed plan   the same costs and significance, with the procedures' marginal alone
cosine              no plan at all: the cosine of the two vectors
parts               μ_d u_d·v_p, the terms of the paper's score if fusion is a weighted sum
significance        μ_d, the same for every procedure (attention alone)
gradient × input    derivative of the score along the vector of the diagnosis
leave-one-out       fall of the log probability when the diagnosis is removed
lift                how much more often the two occur together in the training stays than by chance
most frequent       the number of training stays with the diagnosis
random              numbers drawn at random

For most measures only the order within a procedure counts. ROC and PR areas compare across procedures, so there all
attributions are brought to one scale: shares that sum to 1 for each procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.faithfulness.background import WithBackground
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.faithfulness.subject import PAPER, Subject
from dx2px.methods.paper.transport import TransportConfig, TransportResult, solve
from dx2px.ragged import Ragged
from dx2px.scoring.scorer import CouplingScores, Scorer
from dx2px.scoring.segments import Doubles, directions

Attribution = Callable[[Pairs], Doubles]
SEMI_RELAXED = TransportConfig.semi_relaxed()
LIFT_PRIOR = 5.0  # stays added to both counts, which smooths lift
_LEAST_LEFT = 1e-9


@dataclass(frozen=True, eq=False)
class Background:
    """Counts over the training stays."""

    diagnoses: NDArray[np.int64]  # (d,) stays with each diagnosis
    lift: Doubles  # (d, p)

    @classmethod
    def of(cls, diagnoses: Ragged, procedures: Ragged, sizes: tuple[int, int]) -> Background:
        """Count the training stays; lift is (n_dp + δ) / (n_d n_p / N + δ)."""
        together = np.zeros(sizes, np.float64)
        for block in np.array_split(np.arange(len(diagnoses)), -(-len(diagnoses) // 4096) or 1):
            D, P = (x.take(block).indicator(n) for x, n in ((diagnoses, sizes[0]), (procedures, sizes[1])))
            together += D.T.astype(np.float64) @ P
        n_d, n_p = diagnoses.counts(sizes[0]), procedures.counts(sizes[1])
        expected = np.outer(n_d, n_p) / max(len(diagnoses), 1)
        return cls(n_d, (together + LIFT_PRIOR) / (expected + LIFT_PRIOR))


def attributions(subject: Subject, background: Background | None, seed: int) -> Mapping[str, Attribution]:
    """The attributions that this model has, and the controls."""
    found: dict[str, Attribution] = {}
    if isinstance(subject.scorer, CouplingScores):
        found["shares"] = lambda pairs: own_shares(subject.scorer, pairs)
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
    """Attributions that do not look at the model."""
    found: dict[str, Attribution] = {}
    if background is not None:
        lift, counts = background.lift, background.diagnoses
        found["lift"] = lambda pairs: pairs.pick(lambda rows: lift[rows.values])
        found["most frequent"] = lambda pairs: counts[pairs.diagnoses.values][pairs.source].astype(np.float64)
    found["random"] = lambda pairs: np.random.default_rng(seed).random(pairs.offsets[-1])
    return found


def one_scale(name: str, values: Doubles, pairs: Pairs) -> Doubles:
    """Any attribution as shares that sum to 1 for each procedure; negative numbers count as 0."""
    if name == "cosine":
        return pairs.softmax(values / SEMI_RELAXED.entropy)
    return pairs.shares(np.maximum(values, 0))


def attribute(named: Mapping[str, Attribution], pairs: Pairs) -> dict[str, Doubles]:
    """The numbers of each attribution."""
    return {name: attribution(pairs) for name, attribution in named.items()}


def own_shares(scorer: Scorer, pairs: Pairs) -> Doubles:
    """The diagnoses' terms of each score as shares; they sum to 1, less the background's if there is one."""
    if isinstance(scorer, WithBackground):
        return np.exp(pairs.pick(scorer.log_shares))
    assert isinstance(scorer, CouplingScores)
    return pairs.softmax(pairs.pick(scorer.pairs))


def contrast(shares: Doubles, mu: Doubles) -> Doubles:
    """The fall of log Σ_d π(d,p) / Σ π when the terms of one diagnosis are removed and the others do not change."""
    left, all_left = (np.maximum(1 - x, _LEAST_LEFT) for x in (shares, mu))
    return np.log(all_left) - np.log(left)


def significance(subject: Subject, pairs: Pairs) -> Doubles:
    return subject.scorer.significance(pairs.diagnoses).astype(np.float64)[pairs.source]


def costs(subject: Subject, pairs: Pairs) -> Doubles:
    """1 − cos(u_d, v_p) (eq 5), (c,)."""
    U, V = (directions(subject.files.arrays[name]) for name in "UV")
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
    found = solve(C, mu, np.repeat(1 / m, m), n, m, config)
    if (
        config.fixed_steps is None
    ):  # plans of so many steps are measured for how far they are from convergence
        found.warn_unconverged()
    return found


def plan_shares(subject: Subject, pairs: Pairs, config: TransportConfig) -> Doubles:
    """The columns of the plan, each scaled to sum 1, (c,)."""
    found = plan(subject, pairs, config).plan[pairs.by_diagnosis()]
    return pairs.shares(found.astype(np.float64))
