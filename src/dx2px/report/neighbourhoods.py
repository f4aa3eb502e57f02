"""Whether codes with similar vectors are related: how many of a code's nearest codes share its ICD chapter, its
category or its group of the Clinical Classifications Software (CCS).

For every code with at least one other of its label, among the codes of its kind:

    share@k   = mean over codes of (nearest k by cosine with the same label) / k
    chance    = mean over codes of (others with the same label) / (all others)
    possible@k = mean over codes of min(k, others with the same label) / k

`possible` matters for small groups: a category of three codes cannot fill ten places. Labels come from ICD, not from
patients: a high share means that the vectors found the order of ICD, not that they are right.

In the default method, codes of one category share part of their vectors during training, so it knows some of that
order. `chapter beyond category` is free of this: it does not count codes of the same category as neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import category, chapter, split
from dx2px.codes.catalogue import ccs
from dx2px.codes.systems import System
from dx2px.errors import InputError
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import directions

BEYOND = "chapter beyond category"
AT = (1, 5, 10)
BLOCK = 1024  # rows of cosines in memory at a time
Labels = Sequence[str | None]  # None: the code has no label and is left out
Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Sharing:
    """How well one kind's neighbours share one label; shares from 0 to 1, in the order of `at`."""

    kind: str
    label: str
    codes: int  # whose label another code shares
    left_out: int  # without a label, or the only one with it
    at: tuple[int, ...]
    share: tuple[float, ...]
    chance: float
    possible: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _ccs(code: str) -> str | None:
    system, bare = split(code)
    return ccs().get(bare) if system is System.ICD9CM else None


LABELS: Mapping[str, Callable[[str], str | None]] = {"chapter": chapter, "category": category, "CCS": _ccs}


def neighbourhoods(
    diagnoses: Sequence[str], U: Vectors, procedures: Sequence[str], V: Vectors, at: Sequence[int] = AT
) -> list[Sharing]:
    """Every label of both kinds; CCS only for ICD-9-CM diagnoses, because the open list holds no procedures."""
    found = []
    for kind, codes, X in (("diagnosis", diagnoses, U), ("procedure", procedures, V)):
        labels = {name: [label_of(code) for code in codes] for name, label_of in LABELS.items()}
        found += [sharing(X, own, at, kind=kind, label=name) for name, own in labels.items()]
        apart = labels["category"]
        found.append(sharing(X, labels["chapter"], at, apart=apart, kind=kind, label=BEYOND))
    return [one for one in found if one is not None]


def sharing(
    X: Vectors,
    labels: Labels,
    at: Sequence[int] = AT,
    *,
    apart: Labels | None = None,
    kind: str = "",
    label: str = "",
) -> Sharing | None:
    """One label over one set of vectors; None if no two codes share a label.

    Codes that also agree in `apart`, if it is given, do not count as neighbours.
    """
    if len(X) != len(labels):
        raise InputError(f"{len(X)} vectors cannot have {len(labels)} labels.")
    kept = np.array([place for place, one in enumerate(labels) if one is not None], np.int64)
    numbers = _numbered([labels[place] for place in kept])
    # Without `apart` each code is a group of its own.
    groups = np.arange(len(kept)) if apart is None else _numbered([apart[place] for place in kept])
    both = _numbered(zip(numbers.tolist(), groups.tolist(), strict=True))
    others = _members(numbers) - _members(both)  # (n,) with the same label, not of the same group
    candidates = len(kept) - _members(groups)
    asked = np.flatnonzero(others > 0)
    if not len(asked):
        return None
    near = nearest(X[kept], asked, min(max(at), len(kept) - 1), groups)
    same = (numbers[near] == numbers[asked, None]) & (groups[near] != groups[asked, None])  # (asked, k)
    return Sharing(
        kind=kind,
        label=label,
        codes=len(asked),
        left_out=len(labels) - len(asked),
        at=tuple(at),
        share=tuple(float(same[:, :k].sum() / (k * len(asked))) for k in at),
        chance=float((others[asked] / candidates[asked]).mean()),
        possible=tuple(float(np.minimum(others[asked], k).mean() / k) for k in at),
    )


def nearest(
    X: Vectors,
    rows: NDArray[np.integer[Any]],
    count: int,
    groups: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """(rows, count) the other vectors by cosine, nearest first; those of the own group come last."""
    unit = directions(X).astype(np.float32)
    own = np.arange(len(X)) if groups is None else groups
    found = np.empty((len(rows), count), np.int32)
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        cosines = unit[some] @ unit.T
        cosines[own[some][:, None] == own[None, :]] = -2
        found[start : start + BLOCK] = top_l(cosines, count)
    return found


def _numbered(labels: Iterable[Hashable]) -> NDArray[np.int64]:
    """A number for each label, the same for equal ones."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in labels], np.int64)


def _members(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each number, how many times it occurs."""
    found: NDArray[np.int64] = np.bincount(numbers, minlength=1)[numbers]
    return found
