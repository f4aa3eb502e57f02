from __future__ import annotations

import pytest
import torch

from dx2px.methods.paper import attention
from dx2px.methods.paper.network import PaperConfig
from dx2px.ragged import Ragged
from dx2px.training.batch import Batch

CONFIG = PaperConfig("e+sa", dim=12, heads=3)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize(
    "config",
    [CONFIG, PaperConfig("e+pooling", dim=12), PaperConfig("e+pooling", dim=12, pooling="mean")],
    ids=lambda c: c.fusion,
)
def test_significance_and_fusion_are_the_equations(batch, make_network, equations, config, dtype, near):
    network = make_network(config, dtype)
    expected = equations(network, batch, None)
    mu = network.significance(batch.diagnoses)
    torch.testing.assert_close(mu, torch.cat(expected.mu), rtol=0, atol=near)
    f = network.fuse(batch.diagnoses, mu)
    torch.testing.assert_close(f, torch.stack(expected.f), rtol=0, atol=near)


@pytest.mark.parametrize("variant", ["e+sa", "e+pooling"])
def test_the_order_of_diagnoses_changes_nothing(batch, make_network, variant):
    network = make_network(PaperConfig(variant, dim=12, heads=3))
    turned = Ragged.from_lists([batch.diagnoses[i][::-1] for i in range(len(batch))])
    torch.testing.assert_close(network(turned), network(batch.diagnoses), rtol=0, atol=1e-12)


def test_significance_is_a_distribution_in_every_stay(batch, make_network):
    mu = make_network(CONFIG).significance(batch.diagnoses)
    stay = torch.from_numpy(batch.diagnoses.row_of_entry)
    total = attention.segment_sum(mu, stay, len(batch))
    torch.testing.assert_close(total, torch.ones_like(total))
    assert (mu > 0).all()


def test_a_single_diagnosis_has_all_the_weight_and_is_its_own_fusion(make_network):
    network = make_network(CONFIG)
    alone = Ragged.from_lists([[4], [7]])
    mu = network.significance(alone)
    assert mu.tolist() == [1.0, 1.0]
    torch.testing.assert_close(network.fuse(alone, mu), network.U[[4, 7]])


def test_one_head_still_has_the_second_layer(batch, make_network):
    """docs/paper.md: with K = 1 eq 4 stays, so no weight exceeds another of its stay by more than exp(|b| tanh|B|).

    It keeps the head's order of the diagnoses, or turns it around.
    """
    network = make_network(PaperConfig("e+sa", dim=12, heads=1))
    stay = torch.from_numpy(batch.diagnoses.row_of_entry)
    code = torch.from_numpy(batch.diagnoses.values).long()
    w = attention.segment_softmax(
        attention.head_scores(network.U[code], network.A, network.a), stay, len(batch)
    )
    mu = network.significance(batch.diagnoses)
    by_hand = attention.segment_softmax(network.b * torch.tanh(network.B[0] * w[:, 0]), stay, len(batch))
    torch.testing.assert_close(mu, by_hand)
    assert not torch.allclose(mu, w[:, 0])
    limit = network.b.abs() * torch.tanh(network.B.abs())
    for i in range(len(batch)):
        assert mu[stay == i].log().max() - mu[stay == i].log().min() <= limit + 1e-12
        order = w[stay == i, 0].argsort(descending=bool(network.b * network.B < 0))
        assert mu[stay == i].argsort().equal(order)


def test_softmax_survives_scores_that_overflow_the_exponential():
    x = torch.tensor([1000.0, 1000.0, -1000.0, 5.0])
    softmax = attention.segment_softmax(x, torch.tensor([0, 0, 0, 1]), 2)
    assert softmax.tolist() == [0.5, 0.5, 0.0, 1.0]


def test_among_equal_values_max_pooling_lets_the_first_count():
    U = torch.tensor([[1.0, 0.0], [1.0, 2.0], [1.0, 2.0]], requires_grad=True)
    attention.max_pooling(U, torch.zeros(3, dtype=torch.int64), 1).sum().backward()
    assert U.grad.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]


def test_gradients_of_the_attention_by_finite_differences(batch: Batch, make_network):
    network = make_network(PaperConfig("e+sa", dim=4, heads=2))
    few = batch.diagnoses.take([0, 2, 6, 9])
    code, stay = torch.from_numpy(few.values).long(), torch.from_numpy(few.row_of_entry)

    def mu(U, A, a, B, b):
        return attention.significance(attention.head_scores(U[code], A, a), stay, len(few), B, b)

    assert torch.autograd.gradcheck(mu, (network.U, network.A, network.a, network.B, network.b))
