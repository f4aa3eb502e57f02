from __future__ import annotations

import pytest
import torch

from dx2px.errors import InputError
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.ragged import Ragged


def test_the_defaults_are_the_papers():
    config = PaperConfig()
    assert (config.variant, config.dim, config.heads, config.alpha) == ("e+sa+ma", 200, 8, 0.1)


@pytest.mark.parametrize(
    ("variant", "fusion", "mutual"),
    [
        ("e+pooling", "max", False),
        ("e+sa", "self-attention", False),
        ("e+ma", "max", True),
        ("e+sa+ma", "self-attention", True),
    ],
)
def test_a_variant_names_its_fusion_and_regulariser(variant, fusion, mutual):
    config = PaperConfig(variant)
    assert (config.fusion, config.mutual_attention) == (fusion, mutual)
    names = {name for name, _ in PaperNetwork(3, 2, config).named_parameters()}
    assert names == ({"U", "V", "A", "a", "B", "b"} if fusion == "self-attention" else {"U", "V"})


def test_all_bad_settings_are_named_at_once():
    with pytest.raises(InputError, match=r"variant.*e\+ot.*dim.*0.*alpha"):
        PaperConfig("e+ot", dim=0, alpha=-1.0)
    with pytest.raises(InputError, match="scheme"):
        InitConfig("xavier")
    with pytest.raises(InputError, match="positive"):
        InitConfig(scale=0.0)


def test_probability_of_a_procedure_by_hand():
    network = PaperNetwork(2, 2, PaperConfig("e+pooling", dim=2))
    with torch.no_grad():
        network.U.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        network.V.copy_(torch.tensor([[1.0, 1.0], [0.0, -1.0]]))
    # the maximum over both diagnoses is (1, 2)
    expected = torch.sigmoid(torch.tensor([[3.0, -2.0], [1.0, 0.0]]))
    torch.testing.assert_close(network(Ragged.from_lists([[0, 1], [0]])), expected)


def test_initialisation_follows_its_settings_and_its_generator_alone():
    config = PaperConfig(dim=50, heads=2)

    def drawn(seed: int, init: InitConfig | None = None) -> PaperNetwork:
        return PaperNetwork(300, 100, config).init(torch.Generator().manual_seed(seed), init)

    assert drawn(0).V.std().item() == pytest.approx(0.1, rel=0.05)
    uniform = drawn(0, InitConfig("uniform", None))
    assert 0.9 / 50 < uniform.U.abs().max() <= 1 / 50
    normal = drawn(0, InitConfig("normal", 0.3, attention_scale=2.0))
    assert normal.V.std().item() == pytest.approx(0.3, rel=0.05)
    assert normal.A.std().item() == pytest.approx(2.0 / 50**0.5, rel=0.05)
    again = drawn(0, InitConfig("uniform", None))
    assert all(torch.equal(x, y) for x, y in zip(uniform.parameters(), again.parameters(), strict=True))
    assert not torch.equal(drawn(0).U, drawn(1).U)
