"""Every other method behind the `Recommender` protocol: what the paper's model is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from dx2px.baselines.bpr import Bpr, BprConfig
from dx2px.baselines.cooccurrence import Cooccurrence, CooccurrenceConfig
from dx2px.baselines.dwl import Dwl, DwlConfig
from dx2px.baselines.gwl import Gwl, GwlConfig
from dx2px.baselines.linear import Linear, LinearConfig
from dx2px.baselines.mlp import Mlp, MlpConfig
from dx2px.baselines.popularity import Popularity
from dx2px.baselines.word2vec import Word2Vec, Word2VecConfig
from dx2px.training.recommender import Recommender

__all__ = [
    "BASELINES",
    "Bpr",
    "BprConfig",
    "Cooccurrence",
    "CooccurrenceConfig",
    "Dwl",
    "DwlConfig",
    "Gwl",
    "GwlConfig",
    "Linear",
    "LinearConfig",
    "Mlp",
    "MlpConfig",
    "Popularity",
    "Word2Vec",
    "Word2VecConfig",
]

BASELINES: Mapping[str, Callable[[], Recommender]] = MappingProxyType(
    {
        "popularity": Popularity,
        "cooccurrence": Cooccurrence,
        "word2vec": Word2Vec,
        "bpr": Bpr,
        "dwl": Dwl,
        "gwl": Gwl,
        "linear": Linear,
        "mlp": Mlp,
    }
)
