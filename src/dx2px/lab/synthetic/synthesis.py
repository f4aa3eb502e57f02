"""Synthetic cohorts, streamed to files or in memory, with the truth that was planted in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dx2px.cohort.cohort import Cohort
from dx2px.cohort.context import CONTEXT
from dx2px.cohort.file import METADATA_KEY, CohortWriter
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import InputError
from dx2px.lab.synthetic.config import SyntheticConfig
from dx2px.lab.synthetic.stays import BLOCK, Block, draw_block
from dx2px.lab.synthetic.tables import block_truth, causes_table, links_table, stays_table
from dx2px.lab.synthetic.truth import CAUSES, Truth, causes_path, links_path
from dx2px.lab.synthetic.world import World
from dx2px.ragged import Ragged, offsets_of
from dx2px.storage import atomic_path
from dx2px.version import __version__

# Nearly all posteriors differ or are zero: a dictionary of them would cost time and save nothing.
_CAUSES_STORAGE: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": ["procedures.list.element", "causes.list.element"],
}


@dataclass(frozen=True)
class SyntheticSummary:
    """What a synthetic cohort contains."""

    stays: int
    patients: int
    diagnoses: int  # distinct codes that occur
    procedures: int
    diagnoses_per_stay: float
    procedures_per_stay: float
    rarest_diagnosis: int  # stays of the rarest code of the vocabulary, 0 if one never occurs
    rarest_procedure: int
    unexplained: float  # share of the procedures without a cause
    links: int


def synthesize(
    path: str | os.PathLike[str],
    config: SyntheticConfig,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> SyntheticSummary:
    """Write a cohort file and the planted truth beside it, in memory that does not grow with the stays.

    `progress` is called with the number of stays written so far. The three files get their names when all of them are
    complete; after an error there is none.
    """
    world = _world(config, seed)
    with ExitStack() as stack:
        names = (path, causes_path(path), links_path(path))
        stays, causes, links = (stack.enter_context(atomic_path(name)) for name in names)
        pq.write_table(links_table(world).replace_schema_metadata(_stamp(config, seed)), links)
        return _write(world, config, seed, stays, causes, progress)


def _write(
    world: World,
    config: SyntheticConfig,
    seed: int,
    stays_file: Path,
    causes_file: Path,
    progress: Callable[[int], None] | None,
) -> SyntheticSummary:
    tally = _Tally(world)
    with (
        CohortWriter(stays_file, CONTEXT) as stays,
        pq.ParquetWriter(
            causes_file, CAUSES.with_metadata(_stamp(config, seed)), **_CAUSES_STORAGE
        ) as causes,
    ):
        for block in _blocks(world, config.stays, seed):
            stays.write(stays_table(world, block))
            causes.write_table(causes_table(world, block).cast(causes.schema))
            tally.add(block)
            if progress is not None:
                progress(tally.stays)
        summary = tally.summary()
        stays.describe(_provenance(config, seed, summary))
    return summary


def generate(config: SyntheticConfig, seed: int = 0) -> tuple[Cohort, Truth]:
    """The cohort that `synthesize` would write, and its truth, in memory."""
    world = _world(config, seed)
    tally = _Tally(world)
    blocks = list(_blocks(world, config.stays, seed))
    for block in blocks:
        tally.add(block)
    truths = [block_truth(world, block) for block in blocks]
    stays = pa.concat_tables(
        stays_table(world, block).select(["stay_id", "patient_id", *CONTEXT.names]) for block in blocks
    )
    diagnoses, dx_vocabulary, dx_index = _occurring([b.diagnoses for b in blocks], world.words.diagnoses)
    procedures, px_vocabulary, _ = _occurring([b.procedures for b in blocks], world.words.procedures)
    cohort = Cohort(
        stay_ids=stays.column("stay_id"),
        patient_ids=stays.column("patient_id"),
        diagnoses=diagnoses,
        procedures=procedures,
        diagnosis_vocabulary=dx_vocabulary,
        procedure_vocabulary=px_vocabulary,
        context=stays.select(CONTEXT.names),
        provenance=_provenance(config, seed, tally.summary()),
    )
    cause = np.concatenate([truth.cause for truth in truths])
    cause = np.where(cause < 0, -1, dx_index[cause]).astype(np.int32)
    rows = np.concatenate([truth.posterior for truth in truths])
    return cohort, Truth.build(cohort, cause, rows, links_table(world))


def _world(config: SyntheticConfig, seed: int) -> World:
    if seed < 0:
        raise InputError(f"The seed must be 0 or a positive whole number, not {seed}.")
    return World.create(config, seed)


def _blocks(world: World, stays: int, seed: int) -> Iterator[Block]:
    """The first so many stays of the endless sequence."""
    for number in range(-(-stays // BLOCK)):
        yield draw_block(world, seed, number).head(stays - number * BLOCK)


class _Tally:
    """Running counts over the blocks."""

    def __init__(self, world: World) -> None:
        self.links = len(world.relation.strength)
        self.stays = self.patients = self.unexplained = 0
        self.diagnoses = np.zeros(len(world.words.diagnoses), np.int64)
        self.procedures = np.zeros(len(world.words.procedures), np.int64)

    def add(self, block: Block) -> None:
        self.stays += len(block.first)
        self.patients += len(np.unique(block.first))
        self.unexplained += int(np.sum(block.place < 0))
        self.diagnoses += block.diagnoses.counts(len(self.diagnoses))
        self.procedures += block.procedures.counts(len(self.procedures))

    def summary(self) -> SyntheticSummary:
        entries = int(self.procedures.sum())
        return SyntheticSummary(
            stays=self.stays,
            patients=self.patients,
            diagnoses=int(np.sum(self.diagnoses > 0)),
            procedures=int(np.sum(self.procedures > 0)),
            diagnoses_per_stay=float(self.diagnoses.sum() / self.stays),
            procedures_per_stay=entries / self.stays,
            rarest_diagnosis=int(self.diagnoses.min()),
            rarest_procedure=int(self.procedures.min()),
            unexplained=self.unexplained / entries,
            links=self.links,
        )


def _occurring(parts: list[Ragged], vocabulary: Vocabulary) -> tuple[Ragged, Vocabulary, NDArray[np.int32]]:
    """All rows over the codes that occur, as loading a file would number them; also each old code's index."""
    values = np.concatenate([part.values for part in parts])
    used = np.unique(values)
    index = np.full(len(vocabulary), -1, np.int32)
    index[used] = np.arange(len(used))
    offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
    return Ragged(offsets, index[values]), Vocabulary(vocabulary[i] for i in used.tolist()), index


def _provenance(config: SyntheticConfig, seed: int, summary: SyntheticSummary) -> dict[str, Any]:
    return {**_origin(config, seed), "counts": asdict(summary)}


def _origin(config: SyntheticConfig, seed: int) -> dict[str, Any]:
    # numpy does not promise the same stream in every version, so the version belongs to the origin.
    return {
        "source": "synthetic",
        "preset": config.preset,
        "settings": asdict(config),
        "seed": seed,
        "numpy": np.__version__,
    }


def _stamp(config: SyntheticConfig, seed: int) -> dict[bytes, str]:
    return {METADATA_KEY: json.dumps({"version": __version__, **_origin(config, seed)})}
