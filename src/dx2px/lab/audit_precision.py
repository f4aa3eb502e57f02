"""Does strength keep its promise? Mistakes are planted at the stated rates, and the findings that users get counted.

Each kind of mistake is planted by itself:

unsupported          a procedure is added to some stays, drawn with the shares that the strength assumes
omitted, companion   procedures are left out
swap                 procedures are replaced by one of the alternatives that the model knows
diagnosis            diagnoses are left out; it is a mistake where that diagnosis explains the procedure

Axes: i stays, p procedures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dx2px.answers.defects import KINDS, Kind
from dx2px.answers.flagging import Findings, Flagger, joined
from dx2px.cohort import Cohort
from dx2px.lab.audit_subject import AuditSubject
from dx2px.lab.planted_mistakes import NONE, Indices, Marks, without_diagnoses
from dx2px.scoring.segments import Doubles

PRECISIONS = (0.05, 0.1, 0.2, 0.3, 0.5)
ROUNDS = 20

Planted = tuple[
    Cohort, Marks, Marks
]  # the stays, what is coded in them, and what is a mistake if it is found
Plant = Callable[[AuditSubject, np.random.Generator], Planted]


@dataclass(frozen=True)
class Precision:
    """The share of mistakes among findings of at least the stated strength, planted at the rates of the settings."""

    kind: str
    stated: float
    measured: float | None  # None if there was no finding
    per_100: float  # findings per 100 stays


def precisions(subject: AuditSubject, explained: Indices, rng: np.random.Generator) -> Iterator[Precision]:
    """Of findings of every kind, over rounds of mistakes planted at the rates of the settings.

    Args:
        subject: What is tested.
        explained: For each coded procedure, laid flat, the diagnosis that explains it, or `NONE`.
        rng: Decides the mistakes.
    """
    plants: dict[tuple[Kind, ...], Plant] = {
        ("unsupported",): _added,
        ("omitted", "companion"): _left_out,
        ("swap",): _swapped,
        ("diagnosis",): lambda subject, rng: _undiagnosed(subject, explained, rng),
    }
    for kinds, plant in plants.items():
        settings = replace(subject.flagger.settings, precision=min(PRECISIONS), kinds=KINDS)
        flagger = Flagger(subject.model, settings)
        rounds = [_judged(subject, flagger, *plant(subject, rng)) for _ in range(ROUNDS)]
        stays = len(subject.coded) * ROUNDS
        for kind in kinds:
            parts = [
                (found.strength[mine], wrong[mine])
                for found, wrong in rounds
                if len(mine := found.is_kind(kind))
            ]
            yield from (_precision(kind, stated, parts, stays) for stated in PRECISIONS)


def _judged(
    subject: AuditSubject, flagger: Flagger, stays: Cohort, coded: Marks, mistaken: Marks
) -> tuple[Findings, Marks]:
    """The findings that users get, and which of them are mistakes."""
    parts = []
    for start, asked in subject.asked(stays, coded):
        found = flagger.findings(asked).found
        parts.append(replace(found, stay=found.stay + start))
    found = joined(parts)
    return found, mistaken[found.stay, found.procedure]


def _added(subject: AuditSubject, rng: np.random.Generator) -> Planted:
    shares, added = subject.flagger.shares, np.zeros_like(subject.coded)
    stays = np.flatnonzero(rng.random(len(added)) < subject.flagger.settings.wrong)
    added[stays, rng.choice(len(shares), len(stays), p=shares)] = True
    added &= ~subject.coded
    return subject.tested, subject.coded | added, added


def _left_out(subject: AuditSubject, rng: np.random.Generator) -> Planted:
    gone = subject.coded & (rng.random(subject.coded.shape) < subject.flagger.settings.omitted)
    return subject.tested, subject.coded & ~gone, gone


def _swapped(subject: AuditSubject, rng: np.random.Generator) -> Planted:
    coded, true = subject.coded.copy(), np.zeros_like(subject.coded)
    stay, procedure = np.nonzero(coded & (rng.random(coded.shape) < subject.flagger.settings.omitted))
    for one, own in zip(stay.tolist(), procedure.tolist(), strict=True):
        others = subject.flagger.alternatives[own]
        if len(others) and not coded[one, other := int(rng.choice(others))]:
            coded[one, own], coded[one, other], true[one, own] = False, True, True
    return subject.tested, coded, true


def _undiagnosed(subject: AuditSubject, explained: Indices, rng: np.random.Generator) -> Planted:
    stays = subject.tested
    gone = stays.diagnoses.indicator(len(stays.diagnosis_vocabulary))
    gone &= rng.random(gone.shape) < subject.flagger.settings.omitted
    gone[gone.sum(axis=1) == stays.diagnoses.lengths] = False  # a stay keeps one diagnosis
    entry, lost = stays.procedures.row_of_entry, np.zeros_like(subject.coded)
    some = np.flatnonzero(explained != NONE)
    some = some[gone[entry[some], explained[some]]]
    lost[entry[some], stays.procedures.values[some]] = True
    return without_diagnoses(stays, gone), subject.coded, lost


def _precision(kind: Kind, stated: float, parts: Sequence[tuple[Doubles, Marks]], stays: int) -> Precision:
    mistaken = np.concatenate(
        [wrong[strength >= stated] for strength, wrong in parts] or [np.empty(0, np.bool_)]
    )
    measured = float(mistaken.mean()) if len(mistaken) else None
    return Precision(kind, stated, measured, 100 * len(mistaken) / stays)
