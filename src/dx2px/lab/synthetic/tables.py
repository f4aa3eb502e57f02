"""Blocks of stays, their causes, and the links, as Arrow tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dx2px.cohort.vocabulary import Vocabulary
from dx2px.lab.synthetic.lexicon import REALMS
from dx2px.lab.synthetic.sense import ADMISSIONS
from dx2px.lab.synthetic.stays import Block, posterior
from dx2px.lab.synthetic.truth import LINKS
from dx2px.lab.synthetic.urn import Ints
from dx2px.lab.synthetic.world import World
from dx2px.ragged import Ragged


class BlockTruth(NamedTuple):
    """Causes (world index or −1) and posterior rows of a block's procedure entries."""

    cause: Ints
    offsets: Ints
    posterior: NDArray[np.float32]


def block_truth(world: World, block: Block) -> BlockTruth:
    """The causes of the block's procedures."""
    entry = block.diagnoses.offsets[block.procedures.row_of_entry] + block.place
    cause = np.where(block.place < 0, -1, block.diagnoses.values[entry])
    return BlockTruth(cause, *posterior(world, block.diagnoses, block.procedures))


def stays_table(world: World, block: Block) -> pa.Table:
    """The columns of a cohort file."""
    numbers = np.arange(block.start, block.start + len(block.first))
    return pa.table(
        {
            "stay_id": _names("S", numbers),
            "patient_id": _names("P", block.first),
            "diagnoses": _code_lists(block.diagnoses, world.words.diagnoses),
            "procedures": _code_lists(block.procedures, world.words.procedures),
            "principal": pa.array(world.words.diagnoses.codes).take(pa.array(block.persons.principal)),
            "age": pa.array(block.persons.age, pa.int32()),
            "sex": pa.array(["M", "F"]).take(pa.array(block.persons.female.astype(np.int8))),
            "admission": pa.array(ADMISSIONS).take(pa.array(block.persons.admission)),
        }
    )


def causes_table(world: World, block: Block) -> pa.Table:
    """The columns of the causes file."""
    truth = block_truth(world, block)
    numbers = np.arange(block.start, block.start + len(block.first))
    stays = pa.array(block.procedures.offsets, pa.int32())
    named = pa.array(truth.cause, mask=truth.cause < 0)
    causes = pa.array(world.words.diagnoses.codes, pa.string()).take(named)
    shares = pa.ListArray.from_arrays(pa.array(truth.offsets, pa.int32()), pa.array(truth.posterior))
    return pa.table(
        {
            "stay_id": _names("S", numbers),
            "procedures": _code_lists(block.procedures, world.words.procedures),
            "causes": pa.ListArray.from_arrays(stays, causes),
            "posterior": pa.ListArray.from_arrays(stays, shares),
        }
    )


def links_table(world: World) -> pa.Table:
    """The links by diagnosis and procedure, then the unexplained calls."""
    relation, words = world.relation, world.words
    dx, px = (pa.array(v.codes, pa.string()) for v in (words.diagnoses, words.procedures))
    realm, nobody = np.nonzero(relation.background)
    blank = pa.nulls(len(nobody))
    realms = np.concatenate([words.realm[relation.diagnosis], realm])
    return pa.table(
        {
            "diagnosis": pa.concat_arrays([dx.take(pa.array(relation.diagnosis)), blank.cast(pa.string())]),
            "procedure": px.take(pa.array(np.concatenate([relation.procedure, nobody]))),
            "strength": np.concatenate([relation.strength, relation.background[realm, nobody]]),
            "realm": pa.array(REALMS).take(pa.array(realms)),
            "core": np.concatenate([relation.core, np.zeros(len(nobody), bool)]),
            "acute": pa.concat_arrays([pa.array(words.acute[relation.diagnosis]), blank.cast(pa.bool_())]),
        },
        schema=LINKS,
    )


def _names(letter: str, numbers: Ints) -> pa.Array:
    """Identifiers counted from 1: S1, S2, …"""
    return pc.binary_join_element_wise(letter, pa.array(numbers + 1).cast(pa.string()), "")


def _code_lists(ragged: Ragged, vocabulary: Vocabulary) -> pa.ListArray:
    codes = pa.array(vocabulary.codes, pa.string()).take(pa.array(ragged.values))
    return pa.ListArray.from_arrays(pa.array(ragged.offsets, pa.int32()), codes)
