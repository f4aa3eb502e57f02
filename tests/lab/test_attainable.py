"""The planted rates rank as well as can be: checked by hand on a stay, and against chance and other rankings."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.cohort.splits import split_cohort
from dx2px.lab.attainable import attainable, planted_rates
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.lab.synthetic.lexicon import REALMS, realm_of
from dx2px.methods import recommender
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import evaluate


def test_rates_are_the_sums_of_the_planted_links() -> None:
    cohort, truth = generate(SyntheticConfig(stays=300))
    stay = cohort.diagnoses[7]
    codes = [cohort.diagnosis_vocabulary[index] for index in stay.tolist()]
    realm = REALMS[realm_of(codes[0].partition(":")[2])]
    [found] = planted_rates(cohort, truth.links)(Ragged.from_lists([stay.tolist()]))
    for place, procedure in enumerate(cohort.procedure_vocabulary):
        rates = {
            link["diagnosis"]: link["strength"]
            for link in truth.links.to_pylist()
            if link["procedure"] == procedure and link["realm"] == realm
        }
        assert found[place] == pytest.approx(sum(rates.get(code, 0.0) for code in (None, *codes)))


def test_no_ranking_does_better() -> None:
    cohort, truth = generate(SyntheticConfig(stays=6000), seed=3)
    split = split_cohort(cohort, by="stay")
    best = attainable(cohort, truth.links, split.test)
    method = recommender("linear")
    method.fit(cohort, split.training(0), split.validation(0), seed=0)
    stays = [part.take(split.test) for part in (cohort.diagnoses, cohort.procedures)]
    learned = evaluate(method.scores, *stays)
    rates = planted_rates(cohort, truth.links)
    rng = np.random.default_rng(0)
    blurred = evaluate(lambda rows: rates(rows) * rng.lognormal(0, 0.7, (len(rows), 75)), *stays)
    for name in ("recall", "precision", "f1"):
        top = np.array(list(best.mean(name).values()))
        assert (top > list(learned.mean(name).values())).all()
        assert (top > list(blurred.mean(name).values())).all()
