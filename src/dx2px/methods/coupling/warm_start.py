"""The start of a model that is adapted: what its base knows, on the codes and rows of evidence that it will have.

It has the cohort's codes, and those of the base that are of the same systems. `origins` says what each starts as.
Evidence that the cohort lacks is left out.

The parts that codes of a category share (`CouplingNetwork`) are not in a model folder. Each starts as the mean over the
category, and the codes' own parts as what is left. So rare and new codes move with their category from the first step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import Notation, dotted, is_family, split
from dx2px.cohort import Cohort, Vocabulary
from dx2px.cohort.projection import project
from dx2px.errors import CohortError, ModelError
from dx2px.methods.coupling.network import CouplingNetwork
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.beside import CodedLevels
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.measured import learned_from
from dx2px.scoring.methods import DEFAULT
from dx2px.scoring.origins import Origins, origins
from dx2px.scoring.segments import Floats
from dx2px.training.loop import Weights
from dx2px.words import counted

LEAST = 50  # stays of a cohort; fewer could neither teach nor test
RARER = (
    2.0  # by how much a procedure that is new starts below its siblings in b: the base has the common ones
)
NEVER = (
    -30.0
)  # b of a new procedure while the base alone is measured: it cannot recommend what it does not know


@dataclass(frozen=True, eq=False)
class Base:
    """A model to start from, beside the cohort that it is adapted to.

    Attributes:
        name: What the card calls it.
        files: The model.
        cohort: The cohort, over the vocabularies of the adapted model.
        diagnoses: Where the diagnoses start.
        procedures: Where the procedures start.
        counts: For each kind, how many of the cohort's codes the base knows.
        seen: Whether the base was made from this very cohort.
    """

    name: str
    files: ModelFiles
    cohort: Cohort
    diagnoses: Origins
    procedures: Origins
    counts: dict[str, dict[str, int]]
    seen: bool = False

    @classmethod
    def of(cls, files: ModelFiles, name: str, cohort: Cohort) -> Self:
        """A model that is to be adapted to a cohort.

        Raises:
            ModelError: The model is of another method.
            CohortError: The cohort is too small, or model and cohort have no codes in common.
        """
        _check(files, name, cohort)
        own = cohort.diagnosis_vocabulary, cohort.procedure_vocabulary
        joined = tuple(
            Vocabulary.sorted([*codes, *_shared(kept, codes)])
            for codes, kept in zip(own, (files.diagnoses, files.procedures), strict=True)
        )
        found = origins(files, joined[0].codes, "diagnosis"), origins(files, joined[1].codes, "procedure")
        counts = {}
        for kind, one, vocabulary, codes in zip(("diagnoses", "procedures"), found, joined, own, strict=True):
            indices = [vocabulary.index(code) for code in codes]
            _check_reached({one.sorts[index] for index in indices}, kind, name)
            counts[kind] = one.counts(indices)
        return cls(name, files, project(cohort, *joined).cohort, *found, counts, learned_from(files, cohort))

    @property
    def warning(self) -> str:
        """What to say if the base was made from this very cohort; empty if it was not."""
        if not self.seen:
            return ""
        return (
            f"The base {self.name} was made from this very cohort: these stays can teach it nothing new, and where the "
            "two splits differ, what is measured on the test part is too good."
        )

    @property
    def dim(self) -> int:
        """Dimension of its vectors."""
        return int(self.files.arrays["U"].shape[1])

    @property
    def takes_evidence(self) -> bool:
        """Whether it takes more than diagnoses."""
        return "context_U" in self.files.arrays

    @cached_property
    def stays_behind(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many stays of its own it has learned each code of the adapted model from."""
        own = (self.diagnoses, self.files.diagnosis_counts), (self.procedures, self.files.procedure_counts)
        found = []
        for one, counts in own:
            known = [1 if counts is None else counts[members[0]] for members in one.members]
            found.append(np.where(one.known, known, 0).astype(np.int64))
        return found[0], found[1]

    def weights(self, network: CouplingNetwork, new: float = -RARER) -> Weights:
        """The parameters that a network starts with; `new` is added to b of procedures that are new."""
        arrays, layout = self._spread.arrays, network.layout
        weights: Weights = {name: arrays[name].astype(np.float32) for name in "VGgb"}
        weights |= {name: _rows(self._spread, layout, name) for name in "Us"}
        weights["b"] = weights["b"] + np.where(self.procedures.known, 0, np.float32(new))
        known = _known_rows(layout, self.diagnoses.known, self.procedures.known)
        of_row, of_procedure = network.of_row.numpy(), network.of_procedure.numpy()
        for shared, whole, numbers, learned in (
            ("S", "U", of_row, known),
            ("t", "s", of_row, known),
            ("R", "V", of_procedure, self.procedures.known),
        ):
            weights[shared] = _category_means(weights[whole], numbers, learned)
            weights[whole] = weights[whole] - weights[shared][numbers]
        return {name: np.ascontiguousarray(array, np.float32) for name, array in weights.items()}

    @property
    def levels(self) -> CodedLevels | None:
        """What coded procedures do to the levels of the others, on the adapted model's procedures."""
        return CodedLevels.of(self._spread.arrays)

    @cached_property
    def _spread(self) -> ModelFiles:
        """The base on the adapted model's codes, each with the mean of the rows that it starts from."""
        wider = BackOff(self.files).rows(self.cohort.diagnosis_vocabulary.codes, self.diagnoses.members)
        codes = self.cohort.procedure_vocabulary.codes
        return BackOff(wider, "procedure").rows(codes, self.procedures.members)


def _check(files: ModelFiles, name: str, cohort: Cohort) -> None:
    if files.method != DEFAULT:
        raise ModelError(
            f"The model {name} is of the method {files.method}; only models of the method {DEFAULT} can be adapted."
        )
    if len(cohort) < LEAST:
        raise CohortError(
            f"This cohort has {counted(len(cohort), 'stay')}; adapting needs at least {LEAST}, to learn, choose and "
            "test."
        )
    if len(np.unique(cohort.procedures.values)) == 1:
        code = dotted(cohort.procedure_vocabulary[int(cohort.procedures.values[0])])
        raise CohortError(
            f"Every stay of this cohort has the same procedure, {code}: there is nothing to rank."
        )
    theirs, ours = Notation.of(files.procedures).name, Notation.of(cohort.procedure_vocabulary.codes).name
    if not _systems(files.procedures) & _systems(cohort.procedure_vocabulary.codes):
        raise CohortError(
            f"The model {name} answers in {theirs} and this cohort has {ours}: choose a base that answers in {ours}."
        )


def _check_reached(sorts: set[str], kind: str, name: str) -> None:
    if not sorts & {"known", "mapped"}:
        raise CohortError(
            f"The model {name} knows none of this cohort's {kind}, so it is no start for it: "
            "learn a model from these stays alone, with dx2px train."
        )


def _systems(codes: Sequence[str]) -> set[str]:
    return {split(code)[0] for code in codes}


def _shared(kept: Sequence[str], codes: Vocabulary) -> list[str]:
    """The base's codes of the cohort's systems; families only if the cohort has families, too."""
    systems, families = _systems(codes.codes), any(map(is_family, codes))
    return [one for one in kept if split(one)[0] in systems and (families or not is_family(one))]


def _rows(files: ModelFiles, layout: EvidenceLayout | None, name: str) -> Floats:
    """A model's rows U or s in the order of a layout; a context that the model lacks starts as the background."""
    arrays = files.arrays
    if layout is None:
        return arrays[name]
    own = EvidenceLayout.of(arrays, files.settings)
    assert own is not None, "a base without evidence is adapted without"
    place = {row.name: index for index, row in enumerate(own.context_rows)}
    context = [place.get(row.name, place["background"]) for row in layout.context_rows]
    principal = [arrays.get(f"principal_{name}", arrays[name])] if layout.principal else []
    return np.concatenate(
        [arrays[name], *principal, arrays[f"coded_{name}"], arrays[f"context_{name}"][context]]
    )


def _known_rows(
    layout: EvidenceLayout | None, diagnoses: NDArray[np.bool_], procedures: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether the base has learned each row of evidence."""
    if layout is None:
        return diagnoses
    principal = [diagnoses] if layout.principal else []
    return np.concatenate([diagnoses, *principal, procedures, np.ones(layout.context, bool)])


def _category_means(
    rows: NDArray[Any], numbers: NDArray[np.int64], learned: NDArray[np.bool_]
) -> NDArray[Any]:
    """The mean over each category: over its learned codes or, if it has none, over all."""
    size = int(numbers.max()) + 1
    some = np.bincount(numbers, learned, size) > 0
    weight = np.where(some[numbers], learned, True).astype(np.float64)
    weight /= np.bincount(numbers, weight, size)[numbers]
    means = np.zeros((size, *rows.shape[1:]))
    np.add.at(means, numbers, (rows.T * weight).T)
    return means
