"""The default method, answering in families of ICD-10-PCS codes as a trained model answers in ICD-9-CM procedures.

Nothing is learned anew: the stays are the base's own, with their procedures translated (`dx2px.cohort.translation`),
and the two models should rank alike. A family that stands for one procedure has its v and b. A family F of several has

    v, b = argmin Σ w (h·v + b − log Σ_{p∈F} exp(h·v_p + b_p))²        over rows of evidence, w = Σ_{p∈F} π(d,p)

so that its mass is that of its procedures together, as nearly as one vector can say it, where the mass is. A family
whose procedures the base lacks has the mean of their relatives. The split is the base's, stay by stay, so that no test
stay has been learned from. Only the probabilities are fitted, to the translated stays.

Axes: n rows of evidence of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Split
from dx2px.cohort.translation import PcsMap
from dx2px.errors import CohortError
from dx2px.methods.coupling.model import CouplingModel
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.methods.coupling.warm_start import Base
from dx2px.ragged import joined
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import Evidence
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.identity import fingerprint
from dx2px.scoring.measured import learned_from, validation_fold
from dx2px.scoring.origins import Origins, Sort, origins
from dx2px.scoring.segments import Doubles
from dx2px.training.loop import Outcome
from dx2px.training.run import Trained
from dx2px.training.stays import TrainingStays

STAYS = 2000  # training stays whose rows of evidence the families of several procedures are fitted to
LEAST = 1e-4  # of the largest weight; rows with less are left out
RIDGE = 1e-3  # of the features' mean square: how much a family is held to its most frequent procedure

Line = tuple[NDArray[Any], float]  # v (m,) and b


class TranslatedModel(CouplingModel):
    """A base model in the procedures of `base.cohort`, as the base says it."""

    def __init__(self, base: Base, lines: Mapping[int, Line], **run: Any) -> None:
        dropout = base.files.settings.get("model", {}).get("dropout")
        model = CouplingConfig(
            dim=base.dim, dropout=dropout, evidence="stay" if base.takes_evidence else "codes"
        )
        super().__init__(CouplingTraining(model=model), **run)
        self.base, self.lines = base, lines

    def fit_stays(self, stays: TrainingStays, held_out: Cohort, *, seed: int = 0) -> Self:
        """Take what the base knows; the stays say no more than which codes there are."""
        assert isinstance(self.asked, CouplingTraining)
        self.config, self.vocabularies = self.asked.for_stays(len(stays)).with_seed(seed), stays.vocabularies
        self.layout = stays.layout() if self.base.takes_evidence else None
        categories = stays.vocabularies[0].categories, stays.vocabularies[1].categories
        sizes = len(stays.vocabularies[0]), len(stays.vocabularies[1])
        network = CouplingNetwork(*sizes, self.config.model, categories, self.layout)
        weights = self.base.weights(network)
        for place, (v, b) in self.lines.items():
            weights["V"][place] = v - weights["R"][network.of_procedure[place]]
            weights["b"][place] = b
        self.outcome, self.levels = Outcome(weights, [], 0, finished=True), self.base.levels
        return self

    def settings(self) -> dict[str, Any]:
        """Those of the base, and which that is."""
        base = {"base": self.base.name, "fingerprint": fingerprint(self.base.files), **self.base.counts}
        layout = {} if self.layout is None else {"evidence": self.layout.to_dict()}
        return {**self.base.files.settings, **layout, "translated": base}


def translated(
    files: ModelFiles, name: str, own: Cohort, cohort: Cohort, maps: PcsMap, *, half: bool = False
) -> Trained:
    """The model that answers in a cohort's families as a base does in procedures.

    Args:
        files: The base.
        name: What the settings call it.
        own: The cohort that the base learned from.
        cohort: The same source, prepared with its procedures as families.
        maps: The maps that it was translated by.
        half: Keep the weights in half precision.

    Raises:
        CohortError: `own` is another cohort, or a diagnosis of `cohort` is not the base's.
    """
    if not learned_from(files, own):
        raise CohortError(f"The model {name} did not learn from this cohort, so its split cannot be kept.")
    if cohort.diagnosis_vocabulary.codes != files.diagnoses:
        raise CohortError(f"The translated cohort has other diagnoses than the model {name}.")
    procedures = family_origins(files, cohort.procedure_vocabulary.codes, maps)
    diagnoses = origins(files, files.diagnoses, "diagnosis")
    counts = {"procedures": procedures.counts(range(len(procedures.sorts)))}
    split, fold = same_split(files, own, cohort), validation_fold(files)
    lessons = split.training(fold)
    lines = joined_families(files, procedures, cohort.subset(lessons[:: max(1, len(lessons) // STAYS)]))
    model = TranslatedModel(Base(name, files, cohort, diagnoses, procedures, counts), lines, half=half)
    model.fit(cohort, lessons, split.validation(fold))
    return Trained(cohort, split, fold, model)


def family_origins(files: ModelFiles, families: Sequence[str], maps: PcsMap) -> Origins:
    """Where families start: as their procedures or, if the base lacks these, as the relatives of these."""
    back_off, sources = BackOff(files, "procedure"), _sources(maps)
    found = [_origin(back_off, sources.get(one, ())) for one in families]
    return Origins(tuple(members for _, members in found), tuple(sort for sort, _ in found))


def joined_families(files: ModelFiles, families: Origins, stays: Cohort) -> dict[int, Line]:
    """v and b of the families of several procedures that the base knows, by their place."""
    scorer = files.scorer()
    assert isinstance(scorer, CouplingScorer)
    ways = get_args(Evidence) if scorer.layout is not None else ("codes",)
    rows = joined([stay_rows(scorer, stays, way) for way in ways])
    h, mass = scorer.features(rows).astype(np.float64), scorer.coupling(rows)
    several = (
        (place, list(members))
        for place, (members, known) in enumerate(zip(families.members, families.known, strict=True))
        if known and len(members) > 1
    )
    return {place: _line(files, h, mass[:, members].sum(axis=1), members) for place, members in several}


def _line(files: ModelFiles, h: Doubles, weight: Doubles, members: list[int]) -> Line:
    """The linear function of h that is nearest to the mass of some procedures together; it starts from the largest."""
    used = weight > LEAST * weight.max()
    x = np.column_stack([h[used], np.ones(used.sum())])  # (n, m + 1)
    lines = np.column_stack([files.arrays["V"], files.arrays["b"]])[members].astype(np.float64)
    start = lines[np.argmax(_stays_of(files, members))]
    missing = np.logaddexp.reduce(x @ lines.T, axis=1) - x @ start  # (n,)
    weighted = x * (weight[used] / weight[used].sum())[:, None]
    moments = weighted.T @ x
    ridge = np.diag(moments)[:-1].mean() * RIDGE
    moments[np.diag_indices(len(start) - 1)] += ridge
    found = start + np.linalg.solve(moments, weighted.T @ missing)
    return found[:-1], float(found[-1])


def _stays_of(files: ModelFiles, members: Sequence[int]) -> list[int]:
    """Training stays of some of the base's procedures."""
    counts = files.procedure_counts
    return [1 if counts is None else counts[one] for one in members]


def same_split(files: ModelFiles, own: Cohort, cohort: Cohort) -> Split:
    """The base's split, stay by stay; stays that its cohort lacks join a fold that is learned from."""
    assert files.split is not None, "a model that learned from a cohort has its split"
    split = Split.from_bytes(files.split)
    part = dict(zip(own.stay_ids.to_pylist(), split.part.tolist(), strict=True))
    further = (validation_fold(files) + 1) % split.folds
    parts = [part.get(stay, further) for stay in cohort.stay_ids.to_pylist()]
    return Split(np.array(parts, np.int16), split.folds, split.by, split.seed, split.test_share)


def _origin(back_off: BackOff, sources: Sequence[str]) -> tuple[Sort, tuple[int, ...]]:
    known = [place for code in sources if (place := _place(back_off, code)) is not None]
    if known:
        return "known", tuple(known)
    relatives = dict.fromkeys(_relatives(back_off, sources))
    return ("siblings", tuple(relatives)) if relatives else ("none", tuple(range(len(back_off.codes))))


def _place(back_off: BackOff, code: str) -> int | None:
    return back_off.codes.index(code) if code in back_off.codes else None


def _relatives(back_off: BackOff, sources: Sequence[str]) -> Iterator[int]:
    for code in sources:
        if (siblings := back_off.siblings(code)) is not None:
            yield from siblings.members


def _sources(maps: PcsMap) -> Mapping[str, list[str]]:
    """The procedures that stand behind each family."""
    found: dict[str, list[str]] = defaultdict(list)
    for bare in maps.alternatives:
        for one in maps.families(code := f"icd9pcs:{bare}") or ():
            found[one].append(code)
    return found
