"""Coding mistakes planted into stays, at most one per stay, to see whether an audit finds them.

removed     one of the procedures is left out, in stays that have several
random      a procedure is added: any that the stay does not have
another     a procedure is added from another stay, drawn at random: frequent ones come more often
plausible   a procedure is added from the training stay with the most similar diagnoses that has a new one
swapped     a procedure is replaced by a sibling of the same ICD category that excludes it (`siblings`)
diagnosis   a diagnosis that explains a procedure is left out (`explaining`), in stays that have several

Every stay of a cohort has at least one procedure, so a stay that lost its only one would be found by that alone.
This is why `removed` takes stays with several. What excludes and what explains is counted in the training stays, so
that it does not depend on the model that is audited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dx2px.answers.defects import Kind
from dx2px.cohort import Cohort
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import BATCH

NEIGHBOURS = 10_000  # training stays among which the most similar is sought
NONE = -1  # no code
LEAST_STAYS = 20  # of each of two siblings
TOGETHER = 0.05  # of the rarer one's stays, the most that may have both
LIFT = 3.0  # how much more often than usual a procedure is coded with a diagnosis that explains it
_DRAWS = 20  # entries drawn per stay until one is new to it

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mistakes:
    """One mistake per stay, and the finding that it should lead to."""

    kind: Kind
    stay: Indices
    procedure: Indices  # of the finding
    left_out: Indices  # a procedure, or `NONE`
    added: Indices  # a procedure, or `NONE`
    diagnosis: Indices  # left out, or `NONE`

    @classmethod
    def of(cls, kind: Kind, stay: Indices, procedure: Indices, **codes: Indices) -> Mistakes:
        """With the codes that are left out or added, by name; the others are none."""
        none = np.full(len(stay), NONE)
        return cls(kind, stay, procedure, *(codes.get(n, none) for n in ("left_out", "added", "diagnosis")))

    def coded(self, coded: Marks) -> Marks:
        """What is coded once the mistakes are made, (i, p)."""
        changed = coded.copy()
        for codes, present in ((self.left_out, False), (self.added, True)):
            some = codes != NONE
            changed[self.stay[some], codes[some]] = present
        return changed

    def stays(self, stays: Cohort) -> Cohort:
        """The stays without the diagnoses that are left out."""
        some = self.diagnosis != NONE
        gone = np.zeros((len(stays), len(stays.diagnosis_vocabulary)), np.bool_)
        gone[self.stay[some], self.diagnosis[some]] = True
        return without_diagnoses(stays, gone) if some.any() else stays


def coded_procedures(stays: Cohort) -> Marks:
    """True where a stay has a procedure, (i, p)."""
    return stays.procedures.indicator(len(stays.procedure_vocabulary))


def without_diagnoses(stays: Cohort, gone: Marks) -> Cohort:
    """Stays that lack some diagnoses, (i, d); one that was the principal one is not known as such."""
    own = stays.diagnoses
    fewer = replace(stays, diagnoses=own.filtered(~gone[own.row_of_entry, own.values]))
    context = stays.context
    if context is None or "principal" not in context.column_names:
        return fewer
    index = stays.diagnosis_vocabulary.get
    texts = context.column("principal").cast(pa.string()).to_pylist()
    rows = [None if text is None else index(text) for text in texts]
    lost = pa.array([row is not None and bool(gone[stay, row]) for stay, row in enumerate(rows)])
    kept = pc.if_else(lost, pa.scalar(None, pa.string()), pa.array(texts, pa.string()))
    place = context.column_names.index("principal")
    return replace(fewer, context=context.set_column(place, "principal", kept))


def removed(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Leave out one procedure of each stay that has several."""
    stays = np.flatnonzero(tested.procedures.lengths > 1)
    lost = np.array([rng.choice(tested.procedures[stay]) for stay in stays.tolist()], np.int64)
    return Mistakes.of("omitted", stays, lost, left_out=lost)


def random(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add any procedure that the stay does not have."""
    keys = rng.random((len(tested), len(tested.procedure_vocabulary)))
    keys[coded_procedures(tested)] = -1
    drawn = keys.argmax(axis=1)
    return Mistakes.of("unsupported", np.arange(len(tested)), drawn, added=drawn)


def another(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add the first of some drawn procedures of training stays that the stay does not have."""
    coded, stays = coded_procedures(tested), np.arange(len(tested))
    drawn = rng.choice(training.procedures.values, (len(tested), _DRAWS)).astype(np.int64)
    new = ~coded[stays[:, None], drawn]
    some = new.any(axis=1)
    added = drawn[stays, new.argmax(axis=1)][some]
    return Mistakes.of("unsupported", stays[some], added, added=added)


def plausible(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add a procedure of the most similar training stay, by the cosine of the sets of diagnoses."""
    others = training.subset(np.sort(rng.permutation(len(training))[:NEIGHBOURS]))
    theirs, size = _unit_sets(others.diagnoses, len(others.diagnosis_vocabulary)), BATCH // 8
    coded = coded_procedures(tested)
    found = [
        _borrowed(stay, np.argsort(-near, kind="stable"), others.procedures, coded[stay], rng)
        for start, some in zip(range(0, len(tested), size), tested.diagnoses.blocks(size), strict=True)
        for stay, near in enumerate(_unit_sets(some, theirs.shape[1]) @ theirs.T, start=start)
    ]
    pairs = np.array([pair for pair in found if pair is not None], np.int64).reshape(-1, 2)
    return Mistakes.of("unsupported", pairs[:, 0], pairs[:, 1], added=pairs[:, 1])


def swapped(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Replace one procedure of each stay that has such a one by a sibling that excludes it."""
    coded, excludes = coded_procedures(tested), siblings(training)
    found = []
    for stay, own in enumerate(coded):
        choices = np.argwhere(excludes & own[:, None] & ~own)
        if len(choices):
            found.append((stay, *rng.choice(choices)))
    stays, true, written = np.array(found, np.int64).reshape(-1, 3).T
    return Mistakes.of("swap", stays, true, left_out=true, added=written)


def diagnosis(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Leave out the diagnosis that best explains one of a stay's procedures, drawn at random."""
    entry = tested.procedures.row_of_entry
    best = explaining(tested, training)
    usable = np.flatnonzero((best != NONE) & (tested.diagnoses.lengths[entry] > 1))
    drawn = usable[np.argsort(rng.random(len(usable)))]
    stays, first = np.unique(entry[drawn], return_index=True)
    chosen = drawn[first]
    return Mistakes.of(
        "diagnosis", stays, tested.procedures.values[chosen].astype(np.int64), diagnosis=best[chosen]
    )


KINDS: Mapping[str, Callable[[Cohort, Cohort, np.random.Generator], Mistakes]] = {
    "removed": removed,
    "random": random,
    "another": another,
    "plausible": plausible,
    "swapped": swapped,
    "diagnosis": diagnosis,
}


def siblings(training: Cohort) -> Marks:
    """Pairs of procedures of one ICD category that hardly any training stay has together, (p, p)."""
    coded = coded_procedures(training).astype(np.float32)
    together, stays = coded.T @ coded, coded.sum(axis=0)
    categories = np.array(training.procedure_vocabulary.categories)
    rarer = np.minimum(stays[:, None], stays)
    found: Marks = (
        (categories[:, None] == categories) & (rarer >= LEAST_STAYS) & (together <= TOGETHER * rarer)
    )
    return found


def explaining(tested: Cohort, training: Cohort) -> Indices:
    """For each coded procedure, laid flat, the stay's diagnosis with which it is most often coded; else `NONE`.

    It must be coded `LIFT` times as often with it as in all training stays.
    """
    sets = training.diagnoses.indicator(len(training.diagnosis_vocabulary)).astype(np.float32)
    coded = coded_procedures(training).astype(np.float32)
    often = (sets.T @ coded) / np.maximum(sets.sum(axis=0), 1)[:, None]  # (d, p)
    usual = coded.mean(axis=0)
    found = np.full(len(tested.procedures.values), NONE)
    for entry, stay in enumerate(tested.procedures.row_of_entry.tolist()):
        own, procedure = tested.diagnoses[stay], tested.procedures.values[entry]
        if len(own) and often[own, procedure].max() >= LIFT * usual[procedure] > 0:
            found[entry] = own[often[own, procedure].argmax()]
    return found


def _borrowed(
    stay: int, order: Indices, procedures: Ragged, own: Marks, rng: np.random.Generator
) -> tuple[int, int] | None:
    """The stay and a procedure of the first stay in this order that has a new one."""
    for other in order:
        new = procedures[int(other)][~own[procedures[int(other)]]]
        if len(new):
            return stay, int(rng.choice(new))
    return None


def _unit_sets(rows: Ragged, size: int) -> NDArray[np.float32]:
    """Each set as a vector of length 1, so that products are cosines."""
    sets = rows.indicator(size).astype(np.float32)
    return sets / np.sqrt(np.maximum(rows.lengths, 1)).astype(np.float32)[:, None]
