"""How each method learns. `dx2px.scoring.methods` declares the methods; here a name becomes its learner.

`coupling/` is the default method, `paper/` the paper's model and its variants. The others are the methods that these
are compared with, one file or folder each.
"""

from __future__ import annotations

from typing import Any

from dx2px.scoring.methods import declared, resolved
from dx2px.training.recommender import Recommender

__all__ = ["learner_class", "recommender"]


def learner_class(name: str) -> type[Recommender]:
    """The class that learns a method."""
    found: type[Recommender] = resolved(declared(name).learner)
    return found


def recommender(name: str, **options: Any) -> Recommender:
    """A method that has not learned yet. Options that are not given, or None, have its defaults."""
    return learner_class(name).named(name, **options)
