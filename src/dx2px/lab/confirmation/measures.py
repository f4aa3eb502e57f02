"""What a confirmation measures of each model, on one set of stays and with one set of resamples.

All differences are paired: the same stays, the same resamples, and for completion the same removed procedures.

Axes: i stays, p procedures, L lengths of a ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.lab.bootstrap import Resamples
from dx2px.lab.confirmation.removal import Removal
from dx2px.scoring.cohort_evidence import known_of, stay_rows
from dx2px.scoring.evidence import Evidence, layout_of
from dx2px.scoring.known import Known
from dx2px.scoring.metrics import AT, BATCH, Metrics, evaluate_ranking
from dx2px.scoring.per_procedure import per_procedure
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Doubles
from dx2px.training.run import Trained

FIRST = (1, 3, 5)  # places that a removed procedure is looked for in
TOO_MUCH = 1.05  # a sum of two alternatives' probabilities that nobody can call rounding
# A diagnosis, and two procedures for it of which a stay has one, hardly ever both.
PAIRS = (
    ("icd9cm:82021", ("icd9pcs:7935", "icd9pcs:7915")),  # broken hip: open or closed reduction
    ("icd9cm:5409", ("icd9pcs:4701", "icd9pcs:4709")),  # appendicitis: laparoscopic or open
)


@dataclass(frozen=True, eq=False)
class Asked:
    """A model, and the evidence that it is asked with; a model that takes only diagnoses ignores the latter."""

    name: str
    trained: Trained
    evidence: Evidence = "stay"
    opponent: bool = False

    def scores(self, stays: Cohort) -> Doubles:
        """Of every procedure, (i, p)."""
        return self._scores(stay_rows(self.trained.scorer, stays, self.evidence))

    def completing(self, stays: Cohort, shown: Ragged) -> Doubles:
        """Of every procedure that is not shown, (i, p); −∞ for one that is. A model with evidence is told them."""
        layout = layout_of(self.trained.scorer)
        rows = stays.diagnoses
        if layout is not None:
            known = known_of(layout, stays) if self.evidence == "stay" else Known.nothing(len(stays))
            rows = layout.rows(stays.diagnoses, known.with_coded(shown))
        s = self._scores(rows)
        s[shown.row_of_entry, shown.values] = -np.inf
        return s

    def _scores(self, rows: Ragged) -> Doubles:
        found = [self.trained.scorer.scores(block) for block in rows.blocks(BATCH)]
        return np.concatenate(found).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Confirmed:
    """The numbers of every model, and how far each is ahead of each opponent."""

    models: list[dict[str, Any]]
    differences: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """As a record keeps it."""
        return asdict(self)


def confirmed(asked: Sequence[Asked], stays: Cohort, seed: int = 0) -> Confirmed:
    """Measure each model on the same stays, which must be in the models' codes."""
    if not len(stays):
        raise InputError("There are no stays to confirm anything on.")
    resamples = Resamples.draw(len(stays), seed)
    removal = Removal.draw(stays.procedures, seed)
    models, metrics = [], {}
    for one in asked:
        s = one.scores(stays)
        metrics[one.name] = evaluate_ranking(top_l(s, max(AT)), stays.procedures)
        models.append(
            {"name": one.name, "opponent": one.opponent}
            | {"f1": _f1(metrics[one.name].f1, resamples)}
            | _probabilities(one, s, stays)
            | {"removed": _removed(one, stays, removal, resamples)}
        )
    opponents = [one.name for one in asked if one.opponent]
    own = [one.name for one in asked if not one.opponent]
    return Confirmed(models, _differences(metrics, own, opponents, resamples))


def _f1(per_stay: Doubles, resamples: Resamples) -> dict[str, Any]:
    """Mean of numbers from 0 to 1 per stay, (i, L), in per cent, with its interval, for each L."""
    every = np.arange(len(per_stay))
    columns = zip(AT, per_stay.T, strict=True)
    return {str(L): asdict(resamples.mean(100 * column, every)) for L, column in columns}


def _differences(
    metrics: Mapping[str, Metrics], own: Sequence[str], opponents: Sequence[str], resamples: Resamples
) -> list[dict[str, Any]]:
    """F1 of each of our models minus that of each opponent, in points."""
    return [
        {"model": name, "opponent": other, "f1": _f1(metrics[name].f1 - metrics[other].f1, resamples)}
        for name in own
        for other in opponents
    ]


def _probabilities(one: Asked, s: Doubles, stays: Cohort) -> dict[str, Any]:
    """How right the probabilities are, procedure by procedure, and what alternatives add up to."""
    p = one.trained.calibration.probability(s)
    procedures = per_procedure(p, stays.procedures.indicator(p.shape[1])).to_dict()
    sums = [_sums(p, stays, diagnosis, pair) for diagnosis, pair in PAIRS]
    return {
        "log_loss": procedures.pop("log_loss"),
        "procedures": procedures,
        "alternatives": [found for found in sums if found is not None],
    }


def _sums(p: Doubles, stays: Cohort, diagnosis: str, pair: tuple[str, str]) -> dict[str, Any] | None:
    """The sums of two procedures' probabilities in the stays with a diagnosis; None where there are none."""
    at = stays.diagnosis_vocabulary.get(diagnosis)
    places = [stays.procedure_vocabulary.get(code) for code in pair]
    if at is None or any(place is None for place in places):
        return None
    rows = np.unique(stays.diagnoses.row_of_entry[stays.diagnoses.values == at])
    if not len(rows):
        return None
    columns: NDArray[np.int64] = np.array(places, np.int64)
    sums = p[np.ix_(rows, columns)].sum(axis=1)
    coded = stays.procedures.take(rows).indicator(p.shape[1])[:, columns]
    return {
        "diagnosis": diagnosis,
        "pair": list(pair),
        "stays": len(rows),
        "coded_per_stay": float(coded.sum(axis=1).mean()),
        "mean": float(sums.mean()),
        "p95": float(np.quantile(sums, 0.95)),
        "too_much": float((sums > TOO_MUCH).mean()),
    }


def _removed(one: Asked, stays: Cohort, removal: Removal, resamples: Resamples) -> dict[str, Any]:
    """In how many per cent of the stays the removed procedure is among the first of those not shown."""
    s = one.completing(stays.subset(removal.rows), removal.shown)
    hit = top_l(s, max(FIRST)) == removal.removed[:, None]  # (i, L)
    shares = {str(L): asdict(resamples.mean(100.0 * hit[:, :L].any(axis=1), removal.rows)) for L in FIRST}
    return {"stays": len(removal.rows), "among": shares}
