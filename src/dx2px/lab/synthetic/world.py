"""The world that a configuration and a seed define: codes, their co-morbidity, and the planted relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.synthetic.comorbidity import Comorbidity, diagnosis_groups, long_tail
from dx2px.lab.synthetic.config import SyntheticConfig
from dx2px.lab.synthetic.core import core_diagnoses
from dx2px.lab.synthetic.lexicon import Lexicon, lexicon
from dx2px.lab.synthetic.relation import Relation, plant
from dx2px.lab.synthetic.urn import Floats, Urns

WORLD, STAYS = 0, 1  # the two uses of a seed


@dataclass(frozen=True, eq=False)
class World:
    """All that stays are drawn from. It does not depend on the number of stays."""

    words: Lexicon
    comorbidity: Comorbidity
    relation: Relation
    significance: Floats  # (D,) mean number of calls of a diagnosis in a stay
    calls: Urns  # one urn of procedures per diagnosis
    unexplained: Urns  # one urn of procedures per realm
    strength: NDArray[np.float32]  # (D, P)

    @classmethod
    def create(cls, config: SyntheticConfig, seed: int) -> World:
        """Draw the world's own random choices from the seed."""
        rng = generator(seed, WORLD)
        words = lexicon(config.diagnoses, config.procedures)
        order = words.diagnosis_order.copy()
        order[len(core_diagnoses()) :] = rng.permutation(order[len(core_diagnoses()) :])
        aim = long_tail(order, config.rarest_diagnosis, config.diagnoses_per_stay)
        comorbidity = diagnosis_groups(config, words, aim, rng)
        relation = plant(config, words, comorbidity.share, comorbidity.realms, rng)
        strength = np.zeros((len(words.diagnoses), len(words.procedures)), np.float32)
        strength[relation.diagnosis, relation.procedure] = relation.strength
        # Without unexplained procedures this urn is used only for stays in which no diagnosis calls for anything.
        leftover = relation.background if config.unexplained else relation.possible.astype(np.float64)
        realm, procedure = np.indices(leftover.shape)
        return cls(
            words=words,
            comorbidity=comorbidity,
            relation=relation,
            significance=relation.significance(len(words.diagnoses)),
            calls=Urns.of(relation.diagnosis, relation.procedure, relation.strength),
            unexplained=Urns.of(realm.ravel(), procedure.ravel(), leftover.ravel()),
            strength=strength,
        )


def generator(seed: int, *use: int) -> np.random.Generator:
    """The generator of one use of the seed: independent of all other uses."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=use)))
