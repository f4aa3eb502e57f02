"""What the map shows of every code: its place, title, chapter, frequency and nearest codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.answers import Model
from dx2px.codes import Notation, title
from dx2px.report.breakdown import BANDS, band_name
from dx2px.report.embedding.families import Group, group, heading
from dx2px.report.embedding.layout import LayoutConfig, Places, kept_neighbours, lay_out
from dx2px.report.neighbourhoods import nearest

NEAREST = 5  # codes that lines are drawn to


@dataclass(frozen=True, eq=False)
class CodeMap:
    """The codes of a model on a plane; diagnoses first, then procedures."""

    codes: tuple[str, ...]  # canonical
    titles: tuple[str, ...]
    places: Places  # (n, 2) from 0 to 1
    groups: tuple[Group, ...]  # those that occur
    group_of: NDArray[np.int64]  # (n,)
    bands: NDArray[np.int64] | None  # (n,) of the number of training stays; None if that is not known
    nearest: NDArray[np.int32]  # (n, NEAREST)
    kept: float  # share of the ten nearest by vector that are among the ten nearest on the map

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shown(self) -> list[str]:
        """The codes as people write them."""
        return [self.names.write(code) for code in self.codes]

    @cached_property
    def names(self) -> Notation:
        """How the codes are written."""
        return Notation.of(self.codes)

    @staticmethod
    def band_names() -> list[str]:
        """Every band in words."""
        return [f"{band_name(band)} training stays" for band in range(len(BANDS) + 1)]


def code_map(model: Model, config: LayoutConfig | None = None) -> CodeMap:
    """The map of a model with vectors; a `ModelError` for one without."""
    X = np.concatenate([model.diagnosis_vectors, model.procedure_vectors])
    codes = (*model.files.diagnoses, *model.files.procedures)
    places = lay_out(X, config)
    keys = [heading(code) for code in codes]
    groups = tuple(group(key) for key in dict.fromkeys(keys))
    number = {one.key: place for place, one in enumerate(groups)}
    return CodeMap(
        codes=codes,
        titles=tuple(title(code).text for code in codes),
        places=places,
        groups=groups,
        group_of=np.array([number[key] for key in keys], np.int64),
        bands=_bands(model.files.diagnosis_counts, model.files.procedure_counts),
        nearest=nearest(X, np.arange(len(X)), min(NEAREST, len(X) - 1)),
        kept=kept_neighbours(X, places),
    )


def _bands(*counts: Sequence[int] | None) -> NDArray[np.int64] | None:
    """The band of each code's count; the counts themselves never leave this function."""
    known = [one for one in counts if one is not None]
    if len(known) < len(counts):
        return None
    return np.searchsorted(BANDS, np.concatenate(known), side="right")
