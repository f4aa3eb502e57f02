"""Each attribution is what its name says: a second route to the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.lab.faithfulness.attributions import Background, attributions, one_scale, plan
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.methods.paper.transport import ConvergenceWarning, TransportConfig
from dx2px.ragged import Ragged
from dx2px.scoring import transport
from dx2px.scoring.coupling import CouplingScorer

PAIRS = Pairs(Ragged.from_lists([[3, 1, 0], [2, 5], [4]]), Ragged.from_lists([[0, 2], [1, 4, 5], [3]]))


def rows(values, entry):
    return values[PAIRS.offsets[entry] : PAIRS.offsets[entry + 1]]


def test_the_default_models_shares_are_the_parts_of_its_score(coupling) -> None:
    subject = coupling()
    shares = attributions(subject, None, 0)["shares"](PAIRS)
    pi = CouplingScorer(subject.files.arrays).coupling(PAIRS.diagnoses)  # (n, p)
    for entry, (stay, p) in enumerate(zip(PAIRS.stay, PAIRS.procedures.values, strict=True)):
        column = pi[PAIRS.diagnoses.offsets[stay] : PAIRS.diagnoses.offsets[stay + 1], p]
        np.testing.assert_allclose(rows(shares, entry), column / column.sum(), rtol=1e-5)


def test_with_more_evidence_the_background_has_what_is_missing_from_the_diagnoses_shares(coupling) -> None:
    subject = coupling(evidence=True)
    shares = attributions(subject, None, 0)["shares"](PAIRS)
    scorer = subject.files.scorer()
    evidence = scorer.layout.rows(PAIRS.diagnoses)
    pi = scorer.coupling(evidence)  # (n, p)
    for entry, (stay, p) in enumerate(zip(PAIRS.stay, PAIRS.procedures.values, strict=True)):
        column = pi[evidence.offsets[stay] : evidence.offsets[stay + 1], p]
        np.testing.assert_allclose(rows(shares, entry), (column / column.sum())[:-1], rtol=1e-4)
        assert evidence.values[evidence.offsets[stay + 1] - 1] == scorer.layout.background


def test_with_more_evidence_gradients_are_those_of_the_diagnoses_vectors(coupling) -> None:
    """Where context does not matter, a score grows with u_d·v_p times the diagnosis's share."""
    subject = coupling(context=False, evidence=True)
    named = attributions(subject, None, 0)
    U, V = (subject.files.arrays[name].astype(np.float64) for name in "UV")
    d, p = PAIRS.diagnoses.values[PAIRS.source], PAIRS.procedures.values[PAIRS.entry]
    expected = named["shares"](PAIRS) * (U[d] * V[p]).sum(axis=1)
    np.testing.assert_allclose(named["gradient × input"](PAIRS), expected, atol=2e-3)


@pytest.mark.parametrize("evidence", [False, True])
def test_contrast_is_the_fall_itself_where_context_does_not_matter(coupling, evidence) -> None:
    named = attributions(coupling(context=False, evidence=evidence), None, 0)
    several = np.repeat(PAIRS.widths, PAIRS.widths) > 1
    np.testing.assert_allclose(
        named["contrast"](PAIRS)[several], named["leave-one-out"](PAIRS)[several], atol=1e-5
    )


def test_additive_scores_have_known_gradients_and_falls(additive) -> None:
    W = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    named = attributions(additive(W), None, 0)
    expected = W[PAIRS.diagnoses.values[PAIRS.source], PAIRS.procedures.values[PAIRS.entry]]
    np.testing.assert_allclose(named["gradient × input"](PAIRS), expected, atol=1e-4)
    fall = named["leave-one-out"](PAIRS)
    whole, without = W[[3, 1, 0]].sum(0), W[[1, 0]].sum(0)
    log_softmax = [float(x[0] - np.log(np.exp(x).sum())) for x in (whole, without)]
    assert fall[0] == pytest.approx(log_softmax[0] - log_softmax[1], abs=1e-5)
    assert rows(fall, 5).tolist() == [0.0]  # a stay's only diagnosis is not removed


def test_a_plan_that_did_not_converge_warns(attention) -> None:
    with pytest.warns(ConvergenceWarning, match="2 of 3 transport problems unconverged"):
        plan(attention, PAIRS, TransportConfig(max_steps=1))
    plan(attention, PAIRS, TransportConfig(fixed_steps=1))  # a warning would be an error here


def test_plans_are_those_that_an_explanation_shows(attention) -> None:
    named = attributions(attention, None, 0)
    for name, penalties in (("plan", None), ("semi-relaxed plan", transport.Penalties())):
        found = named[name](PAIRS)
        for i in range(2):
            D, P = PAIRS.diagnoses[i], PAIRS.procedures[i]
            U, V = (attention.files.arrays[k] for k in "UV")
            mu = attention.scorer.significance(Ragged.from_lists([D])).astype(np.float64)
            C, nu = transport.cosine_costs(U[D], V[P]), np.full(len(P), 1 / len(P))
            solved = transport.solve(C, mu / mu.sum(), nu, penalties)
            first = PAIRS.procedures.offsets[i]
            shares = np.array([rows(found, first + j) for j in range(len(P))]).T
            np.testing.assert_allclose(shares, solved.shares, atol=2e-3, err_msg=name)


def test_the_parts_of_the_papers_score_sum_to_it(attention) -> None:
    parts = attributions(attention, None, 0)["parts"](PAIRS)
    scores = attention.scorer.scores(PAIRS.diagnoses)[PAIRS.stay, PAIRS.procedures.values]
    np.testing.assert_allclose(np.add.reduceat(parts, PAIRS.offsets[:-1]), scores, rtol=1e-4, atol=1e-5)


def test_lift_counts_what_goes_together() -> None:
    diagnoses = Ragged.from_lists([[0]] * 50 + [[1]] * 50)
    procedures = Ragged.from_lists([[0]] * 40 + [[1]] * 60)
    background = Background.of(diagnoses, procedures, (2, 2))
    assert background.lift[0, 0] == pytest.approx((40 + 5) / (50 * 40 / 100 + 5))
    assert background.lift[1, 0] == pytest.approx(5 / 25)
    assert background.diagnoses.tolist() == [50, 50]


def test_every_attribution_comes_to_one_scale(attention) -> None:
    taught = Ragged.from_lists([[0, 1], [2, 3, 8]]), Ragged.from_lists([[0], [1, 6]])
    named = attributions(attention, Background.of(*taught, (9, 7)), 0)
    assert set(named) == {
        "plan", "semi-relaxed plan", "cosine", "parts", "significance", "gradient × input", "leave-one-out",
        "lift", "most frequent", "random",
    }  # fmt: skip
    for name, attribution in named.items():
        scaled = one_scale(name, attribution(PAIRS), PAIRS)
        np.testing.assert_allclose(np.add.reduceat(scaled, PAIRS.offsets[:-1]), 1, err_msg=name)
        assert (scaled >= 0).all()
