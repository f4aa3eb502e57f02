"""The planted relation: which diagnosis calls for which procedure, and how often.

A link's strength λ_dp is the mean number of calls for procedure p that diagnosis d makes in a stay of ordinary
intensity. The curated links are always present; the others are drawn from the seed among those that make medical sense
(`sense.fits`), mostly from acute diagnoses. Links of one procedure are then scaled together so that the procedure
reaches its intended share of the stays.

Calls that no diagnosis makes (ε_p) come for every procedure, for routine ones more readily, but only in the realms
where some diagnosis calls for it: a newborn's tubal ligation is not an unexplained procedure but a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import System
from dx2px.lab.synthetic.comorbidity import long_tail
from dx2px.lab.synthetic.config import SyntheticConfig
from dx2px.lab.synthetic.core import core_links
from dx2px.lab.synthetic.lexicon import REALMS, Lexicon
from dx2px.lab.synthetic.urn import Floats, Ints

INTENSITY = 3.0  # shape of the gamma factor by which the calls of a stay vary together
STRONGEST = 3.0  # calls per stay of one link, at most
CHRONIC = 0.05  # weight of a chronic diagnosis's link relative to an acute one's
ORDINARY = 3.0  # median weight of a drawn link; curated ones range from 1 to 9
UNLIKE = 1.2  # spread of the logarithms of drawn weights
OUTSHONE = 0.5  # largest drawn weight relative to the largest curated one
REACH = 0.7  # the largest intended share of a procedure, relative to the stays of its possible causes
MORE_ROUTINE = 20.0  # odds that a routine procedure is unexplained, relative to the odds of others
CORRECTIONS = 60


@dataclass(frozen=True, eq=False)
class Relation:
    """Links sorted by diagnosis, then procedure."""

    diagnosis: Ints  # (L,)
    procedure: Ints  # (L,)
    strength: Floats  # (L,)
    core: NDArray[np.bool_]  # (L,)
    background: Floats  # (3, P) mean number of calls that no diagnosis makes in a stay of each realm
    possible: NDArray[np.bool_]  # (3, P) whether a procedure comes in a realm at all

    def significance(self, diagnoses: int) -> Floats:
        """Mean number of calls of each diagnosis in a stay."""
        return np.bincount(self.diagnosis, self.strength, minlength=diagnoses).astype(np.float64)


def plant(
    config: SyntheticConfig, words: Lexicon, share: Floats, realms: Floats, rng: np.random.Generator
) -> Relation:
    """Draw the links, given the shares of stays with each diagnosis and of each realm, and scale them."""
    aim = long_tail(words.procedure_order, config.rarest_procedure, config.procedures_per_stay)
    diagnosis, procedure, weight, core = _links(config, words, share, aim, rng)
    explained = 1 - _unexplained(config.unexplained, words.routine, aim)
    reachable = REACH * np.bincount(procedure, share[diagnosis], minlength=len(aim)) / explained
    aim = long_tail(
        words.procedure_order,
        config.rarest_procedure,
        config.procedures_per_stay,
        np.maximum(reachable[words.procedure_order], config.rarest_procedure),
    )
    called = _called(words.realm[diagnosis], procedure, len(aim))
    background = called * (_unexplained(config.unexplained, words.routine, aim) * aim / (realms @ called))
    strength = _scaled(diagnosis, procedure, weight, share, aim, background, realms)
    order = np.lexsort((procedure, diagnosis))
    return Relation(diagnosis[order], procedure[order], strength[order], core[order], background, called)


def _unexplained(whole: float, routine: NDArray[np.bool_], aim: Floats) -> Floats:
    """The share of each procedure that no diagnosis causes, if it is `whole` of all of them."""
    ease = np.where(routine, MORE_ROUTINE, 1.0)
    low, high = 0.0, 1e6
    for _ in range(80):
        odds = (low + high) / 2
        share: Floats = odds * ease / (1 + odds * ease)
        low, high = (low, odds) if share @ aim >= whole * aim.sum() else (odds, high)
    return share if whole else np.zeros_like(aim)


def _called(realm: Ints, procedure: Ints, procedures: int) -> NDArray[np.bool_]:
    """In which realms some diagnosis calls for each procedure: (3, P). Where none calls, everywhere."""
    called = np.zeros((len(REALMS), procedures), bool)
    called[realm, procedure] = True
    called[:, ~called.any(axis=0)] = True
    called[~called.any(axis=1)] = True
    return called


def _links(
    config: SyntheticConfig, words: Lexicon, share: Floats, aim: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats, NDArray[np.bool_]]:
    """The curated links and, for each procedure, as many drawn ones as it needs."""
    weights = _curated(words)
    curated = frozenset(weights)
    causes: list[list[int]] = [[d for d, p in sorted(curated) if p == number] for number in range(len(aim))]
    linked = np.zeros(len(share), bool)
    linked[[d for d, _ in curated]] = True
    wanted = 1 + rng.poisson(config.sharing - 1, len(aim))
    for p in words.procedure_order.tolist():
        readiness = words.fits[:, p] * np.where(words.acute, 1.0, 0.1) * np.sqrt(share)
        readiness[causes[p]] = 0.0
        # No drawn link is stronger than the curated ones of its procedure.
        limit = max((OUTSHONE * weights[d, p] for d in causes[p]), default=np.inf)
        while len(causes[p]) < wanted[p] or REACH * share[causes[p]].sum() < config.rarest_procedure:
            # Diagnoses without procedures come first, and frequent ones for the first cause.
            ready = readiness * np.where(linked, 0.3, 1.0)
            if not ready.any():
                break
            if not causes[p]:
                frequent = ready * (share * REACH >= aim[p])
                ready = frequent if frequent.any() else ready * (share >= share[ready > 0].max())
            d = int(np.searchsorted(np.cumsum(ready), rng.random() * ready.sum(), side="right"))
            causes[p].append(d)
            readiness[d], linked[d] = 0.0, True
            drawn = min(ORDINARY * np.exp(UNLIKE * rng.standard_normal()), limit)
            weights[d, p] = drawn if words.acute[d] else CHRONIC * drawn
    pairs = sorted(weights)
    return (
        np.array([d for d, _ in pairs]),
        np.array([p for _, p in pairs]),
        np.array([weights[pair] for pair in pairs]),
        np.array([pair in curated for pair in pairs]),
    )


def _curated(words: Lexicon) -> dict[tuple[int, int], float]:
    """The weights of the curated links whose two codes are in the vocabularies."""
    weights = {}
    for link in core_links():
        d = words.diagnoses.get(f"{System.ICD9CM}:{link.diagnosis}")
        p = words.procedures.get(f"{System.ICD9PCS}:{link.procedure}")
        if d is not None and p is not None:
            weights[d, p] = link.weight
    return weights


def _scaled(
    diagnosis: Ints,
    procedure: Ints,
    weight: Floats,
    share: Floats,
    aim: Floats,
    background: Floats,
    realms: Floats,
) -> Floats:
    """Strengths proportional to the weights, at which each procedure reaches its intended share.

    The share is computed as if diagnoses occurred independently, which is near enough and needs no trial run.
    """
    x, w = np.polynomial.laguerre.laggauss(12)
    intensity, chance = x / INTENSITY, w * x**2 / 2  # the density of gamma(3) is x² e⁻ˣ / 2
    scale = np.full(len(aim), 0.1)
    for _ in range(CORRECTIONS):
        strength = np.minimum(scale[procedure] * weight, STRONGEST)
        absent = np.zeros(len(aim))
        for h, c in zip(intensity.tolist(), chance.tolist(), strict=True):
            spared = np.log1p(-share[diagnosis] * -np.expm1(-h * strength))
            without = realms @ np.exp(-h * background)
            absent += c * np.exp(np.bincount(procedure, spared, minlength=len(aim))) * without
        scale *= np.clip(aim / (1.0 - absent), 0.5, 2.0)
    return strength
