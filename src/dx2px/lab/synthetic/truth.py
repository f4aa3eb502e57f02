"""The planted truth of a synthetic cohort, in memory and in two files beside the cohort file.

For `C.parquet`, the links are in `C.links.parquet`, one row per link:

    diagnosis   canonical code; null for calls without a diagnosis (unexplained procedures)
    procedure   canonical code
    strength    mean number of calls in a stay of ordinary intensity (λ_dp, or ε_p if diagnosis is null)
    realm       adult, delivery or newborn: that of the diagnosis, or of the stays that have such unexplained procedures
    core        whether the link is one of the curated, clinically obvious ones
    acute       whether the diagnosis is acute; null if diagnosis is null

and the causes in `C.causes.parquet`, one row per stay, in the cohort's order:

    stay_id     as in the cohort
    procedures  as in the cohort
    causes      for each procedure the canonical code of the diagnosis that caused it; null: unexplained
    posterior   for each procedure the probabilities of its possible causes, given the stay's codes:
                one for each diagnosis in the stay's order, then one for "unexplained"; they sum to 1
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dx2px.cohort.cohort import Cohort
from dx2px.cohort.file import METADATA_KEY
from dx2px.errors import CohortError
from dx2px.ragged import Offset

LINKS = pa.schema(
    [
        pa.field("diagnosis", pa.string()),
        pa.field("procedure", pa.string(), nullable=False),
        pa.field("strength", pa.float64(), nullable=False),
        pa.field("realm", pa.string(), nullable=False),
        pa.field("core", pa.bool_(), nullable=False),
        pa.field("acute", pa.bool_()),
    ]
)
CAUSES = pa.schema(
    [
        pa.field("stay_id", pa.string(), nullable=False),
        pa.field("procedures", pa.list_(pa.string()), nullable=False),
        pa.field("causes", pa.list_(pa.string()), nullable=False),
        pa.field("posterior", pa.list_(pa.list_(pa.float32())), nullable=False),
    ]
)


@dataclass(frozen=True, eq=False)
class Truth:
    """What caused each procedure entry of a cohort (entries in the order of `cohort.procedures.values`).

    Scores of possible causes have one layout everywhere: entry e has one number for each diagnosis of its
    stay, in the stay's order, at `offsets[e]` to `offsets[e + 1]` of a flat array.
    """

    cause: NDArray[np.int32]  # (entries,) index in the cohort's diagnosis vocabulary, −1: unexplained
    place: NDArray[np.int16]  # (entries,) place among the stay's diagnoses, −1: unexplained
    offsets: Offset  # (entries + 1,)
    posterior: NDArray[np.float32]  # (offsets[-1],)
    unexplained: NDArray[np.float32]  # (entries,) posterior probability that nothing caused it
    links: pa.Table

    @classmethod
    def load(cls, cohort_path: str | os.PathLike[str]) -> Truth:
        """Read the truth beside a cohort file that `synthesize` wrote."""
        cohort = Cohort.load(cohort_path)
        links, causes = (_read(path, cohort) for path in (links_path(cohort_path), causes_path(cohort_path)))
        if not causes.column("stay_id").equals(cohort.stay_ids):
            raise CohortError(f"{causes_path(cohort_path)} has other stays than {cohort_path}.")
        codes = pa.array(cohort.diagnosis_vocabulary.codes, pa.string())
        named = causes.column("causes").combine_chunks().flatten()
        cause = pc.index_in(named, codes).fill_null(-1).to_numpy().astype(np.int32)
        rows = causes.column("posterior").combine_chunks().flatten()
        return cls.build(cohort, cause, rows.flatten().to_numpy(), links)

    @classmethod
    def build(
        cls, cohort: Cohort, cause: NDArray[np.int32], rows: NDArray[np.float32], links: pa.Table
    ) -> Truth:
        """From causes as vocabulary indices and posterior rows that end with the unexplained share."""
        entry_row = cohort.procedures.row_of_entry
        widths = cohort.diagnoses.lengths[entry_row]
        offsets = np.concatenate([[0], np.cumsum(widths)])
        last = offsets[1:] + np.arange(len(widths))  # every row before holds one number more
        is_diagnosis = np.ones(len(rows), bool)
        is_diagnosis[last] = False
        entry = np.repeat(np.arange(len(widths)), widths)
        column = np.arange(offsets[-1]) - offsets[entry]
        same = cohort.diagnoses.values[cohort.diagnoses.offsets[entry_row][entry] + column] == cause[entry]
        place = np.full(len(cause), -1, np.int16)
        place[entry[same]] = column[same]
        return cls(cause, place, offsets, rows[is_diagnosis], rows[last], links)

    def top1_accuracy(self, scores: NDArray[np.floating]) -> float:
        """How often the diagnosis of highest score is the cause, over the explained procedures.

        A tie of k highest scores counts 1/k if the cause is among them, so constant scores give chance.
        """
        highest = np.maximum.reduceat(scores, self.offsets[:-1])
        best = scores == np.repeat(highest, np.diff(self.offsets))
        ties = np.add.reduceat(best.astype(np.int64), self.offsets[:-1])
        explained = np.flatnonzero(self.place >= 0)
        right = best[self.offsets[explained] + self.place[explained]]
        return float(np.mean(right / ties[explained]))


def links_path(cohort_path: str | os.PathLike[str]) -> Path:
    """The file with the links of a cohort."""
    return _beside(cohort_path, "links")


def causes_path(cohort_path: str | os.PathLike[str]) -> Path:
    """The file with the causes of a cohort."""
    return _beside(cohort_path, "causes")


def _beside(cohort_path: str | os.PathLike[str], what: str) -> Path:
    path = Path(cohort_path)
    return path.with_name(f"{path.name.removesuffix('.parquet')}.{what}.parquet")


def _read(path: Path, cohort: Cohort) -> pa.Table:
    """A file of the truth, which must come from the same run as the cohort."""
    try:
        table = pq.read_table(path)
        origin = json.loads((table.schema.metadata or {})[METADATA_KEY])
    except FileNotFoundError:
        raise CohortError(f"There is no {path}: only synthetic cohorts have a planted truth.") from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise CohortError(f"{path} is not a file of planted truth that `dx2px synthesize` wrote.") from error
    if any(cohort.provenance.get(key) != origin.get(key) for key in ("source", "seed", "settings")):
        raise CohortError(f"{path} belongs to another cohort: synthesize both again.")
    return table
