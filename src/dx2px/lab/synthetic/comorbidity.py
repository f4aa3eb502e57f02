"""Which diagnoses occur together: co-morbidity groups and long-tailed frequencies.

A stay has a group. Each of its diagnoses is drawn from the group with probability `comorbidity`, otherwise from the
whole realm: adult patients share one realm, deliveries and newborns have their own. Acute diagnoses are drawn for the
stay, chronic ones for the patient. Repeated draws are merged.

Weights are chosen so that each code reaches an intended share of the stays, whatever the co-morbidity. With f_d the
share of code d among all draws, π_g the weight of group g and F_g the sum of f over it, group draws happen with
probability o_g = c · min(1, F_g / π_g) and give code d with probability f_d / F_g; the realm makes up the difference,
f_d − π_g o_g f_d / F_g, which is never negative. Merging repeats costs the common codes some draws; a few rounds of
proportional correction of f make up for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dx2px.lab.synthetic.config import MOST_DIAGNOSES, SyntheticConfig
from dx2px.lab.synthetic.lexicon import REALMS, Lexicon
from dx2px.lab.synthetic.urn import Floats, Ints, Urns

GROUP_SIZE = 16
SPREAD = 2.5  # shape of the gamma factor by which the numbers of diagnoses vary between stays
ACUTE_OUTSIDE_ADULT = 4.5  # acute diagnoses of a delivery or newborn, on average
MOST_COMMON = 0.8  # share of a realm's stays that its most frequent diagnosis may have
CORRECTIONS = 25


@dataclass(frozen=True, eq=False)
class Pool:
    """Where the acute, or the chronic, diagnoses come from."""

    own: Urns  # one urn per group
    own_chance: Floats  # (G,)
    realm: Urns  # one urn per realm
    draws: Floats  # (3,) mean number of draws in each realm


@dataclass(frozen=True, eq=False)
class Comorbidity:
    """Everything the diagnoses of a stay are drawn from."""

    realm_of_group: Ints  # (G,)
    realms: Floats  # (3,) share of the stays that are of each realm
    groups: Urns  # one urn
    acute: Pool
    chronic: Pool
    share: Floats  # (D,) expected share of the stays that have the diagnosis
    intended: Floats  # (D,) the share that was asked for


def long_tail(order: Ints, rarest: float, total: float, most: Floats | float = 0.45) -> Floats:
    """Shares of stays that fall like 1/rank to `rarest`, none above `most`, and sum to `total`.

    `order` lists the codes, and `most` their limits, from common to rare.
    """
    steep = 1.0 / (np.arange(len(order)) + 3.0)
    steep -= steep[-1]
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        enough = np.minimum(rarest + middle * steep, most).sum() >= total
        low, high = (low, middle) if enough else (middle, high)
    shares = np.empty(len(order))
    shares[order] = np.minimum(rarest + high * steep, most)
    return shares


def diagnosis_groups(
    config: SyntheticConfig, words: Lexicon, aim: Floats, rng: np.random.Generator
) -> Comorbidity:
    """Divide the diagnoses into groups, with weights that let each reach its intended share of stays."""
    group, themes = _groups(words, rng)
    realm_of_group = np.array([REALMS.index(theme) if theme in REALMS else 0 for theme in themes])
    acute, chronic = np.flatnonzero(words.acute), np.flatnonzero(~words.acute)
    in_group = np.bincount(group[acute], aim[acute], minlength=len(themes))
    in_realm = np.bincount(realm_of_group, in_group, minlength=3)
    # A realm must be large enough for its most frequent code.
    largest = np.array([aim[acute][realm_of_group[group[acute]] == r].max(initial=0.0) for r in range(3)])
    stays = np.maximum(in_realm / ACUTE_OUTSIDE_ADULT, largest / MOST_COMMON)
    stays[0] = 1.0 - stays[1:].sum()
    layout = _Layout(config.comorbidity, realm_of_group, in_group / in_realm[realm_of_group], stays)
    share = np.empty(len(aim))
    kept, drawn = _replaced(words, aim, stays)
    acute_pool, share[acute] = _pool(layout, acute, group[acute], drawn[acute], sure=1)
    chronic_pool, share[chronic] = _pool(layout, chronic, group[chronic], drawn[chronic], sure=0)
    one_urn = np.zeros(len(themes), np.int64)
    groups = Urns.of(one_urn, np.arange(len(themes)), layout.weight * stays[realm_of_group])
    return Comorbidity(realm_of_group, stays, groups, acute_pool, chronic_pool, share * kept, aim)


@dataclass(frozen=True, eq=False)
class _Layout:
    """How stays are divided among realms and groups."""

    comorbidity: float
    realm_of_group: Ints  # (G,)
    weight: Floats  # (G,) π: share of the realm's stays that have the group
    stays: Floats  # (3,) share of all stays that belong to the realm


def _groups(words: Lexicon, rng: np.random.Generator) -> tuple[Ints, list[str]]:
    """The group of each diagnosis and the theme of each group; acute diagnoses are spread over all groups."""
    group = np.empty(len(words.acute), np.int64)
    themes: list[str] = []
    for theme in np.unique(words.diagnosis_theme).tolist():
        members = rng.permutation(np.flatnonzero(words.diagnosis_theme == theme))
        members = members[np.argsort(~words.acute[members], kind="stable")]
        number = max(round(len(members) / GROUP_SIZE), 1)
        group[members] = len(themes) + np.arange(len(members)) % number
        themes += [theme] * number
    return group, themes


def _replaced(words: Lexicon, aim: Floats, stays: Floats) -> tuple[Floats, Floats]:
    """The chance that a diagnosis is not replaced by a rarer one of its kind, and the share to draw because of it."""
    rarer = (words.kind[:, None] == words.kind) & (words.kind >= 0) & (aim < aim[:, None])
    most = MOST_COMMON * stays[words.realm]
    kept, drawn = np.ones_like(aim), np.minimum(aim, most)
    for _ in range(rarer.sum(axis=1).max()):
        kept = np.exp(rarer @ np.log1p(-drawn / stays[words.realm]))
        drawn = np.minimum(aim / kept, most)
    return kept, drawn


def _pool(layout: _Layout, codes: Ints, group: Ints, aim: Floats, sure: int) -> tuple[Pool, Floats]:
    """The pool of these codes, and the share of all stays that each reaches; `sure` draws are certain."""
    realm = layout.realm_of_group[group]
    aimed = np.bincount(realm, aim, minlength=3)
    draws = np.divide(aimed, layout.stays, out=np.zeros(3), where=aimed > 0)
    f = aim.copy()
    for _ in range(CORRECTIONS):
        f /= np.bincount(realm, f, minlength=3)[realm]
        own_chance, own, rest = _mixture(layout, f, group, realm)
        present = np.zeros(len(codes))
        for g, (mine, chance) in enumerate(zip(layout.realm_of_group, own_chance, strict=True)):
            q = (realm == mine) * (1 - chance) * rest + (group == g) * chance * own
            present += layout.weight[g] * _present(q, draws[mine], sure)
        reached = layout.stays[realm] * present
        f *= aim / reached
        draws *= np.divide(aimed, np.bincount(realm, reached, minlength=3), out=np.ones(3), where=aimed > 0)
        draws = np.minimum(draws, MOST_DIAGNOSES)  # more could not be used
    return Pool(Urns.of(group, codes, own), own_chance, Urns.of(realm, codes, rest), draws), reached


def _mixture(layout: _Layout, f: Floats, group: Ints, realm: Ints) -> tuple[Floats, Floats, Floats]:
    """Chance of a group draw (o), and each code's probability within a group draw and within a realm draw."""
    in_group = np.bincount(group, f, minlength=len(layout.weight))
    ratio = np.divide(in_group, layout.weight, out=np.zeros_like(in_group), where=layout.weight > 0)
    own_chance = layout.comorbidity * np.minimum(1.0, ratio)
    own = f / in_group[group]
    rest = np.maximum(f - (layout.weight * own_chance)[group] * own, 0.0)
    return own_chance, own, rest / np.bincount(realm, rest, minlength=3)[realm]


def _present(q: Floats, draws: float, sure: int) -> Floats:
    """The probability that a code is drawn at all, if each draw gives it with probability q.

    The number of draws beyond the sure ones is Poisson, with a gamma factor on its mean.
    """
    extra: Floats = (1.0 + max(draws - sure, 0.0) / SPREAD * q) ** -SPREAD
    return 1.0 - (1.0 - q) ** sure * extra
