"""Which stays are for training, which for validation, which for testing.

Whole groups (patients, or single stays) are shuffled and laid end to end. The first share of the stays is the test
part; the rest is cut into k folds of equal size. A group is never divided.
The shuffle sorts raw 64-bit outputs of PCG64, whose stream numpy guarantees not to change, so a seed gives the same
split on every machine and with every version of numpy.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dx2px.cohort.cohort import Cohort, check_cohort
from dx2px.cohort.stream import CohortStream
from dx2px.errors import CohortError
from dx2px.storage import atomic_path
from dx2px.words import counted

SplitBy = Literal["patient", "stay"]
TEST = -1


@dataclass(frozen=True, eq=False)
class Split:
    """Which part each stay belongs to: the test part, or a fold.

    Attributes:
        part: The number of each stay's fold, or -1 for the test part.
        folds: Number of folds.
        by: What was kept together: `patient` or `stay`.
        seed: The seed of the shuffle.
        test_share: The share asked for the test part.
    """

    part: NDArray[np.int16]  # (stays,)
    folds: int
    by: SplitBy
    seed: int
    test_share: float

    @property
    def test(self) -> NDArray[np.int64]:
        """Row numbers of the test part."""
        return np.flatnonzero(self.part == TEST)

    @property
    def learning(self) -> NDArray[np.int64]:
        """Row numbers of all folds, which is everything but the test part."""
        return np.flatnonzero(self.part != TEST)

    def validation(self, fold: int) -> NDArray[np.int64]:
        """Row numbers of the stays to validate on when `fold` is held out.

        Args:
            fold: A number from 0 to `folds` − 1.

        Raises:
            CohortError: There is no such fold.
        """
        self._check(fold)
        return np.flatnonzero(self.part == fold)

    def training(self, fold: int) -> NDArray[np.int64]:
        """Row numbers of the stays to learn from when `fold` is held out.

        Args:
            fold: A number from 0 to `folds` − 1.

        Raises:
            CohortError: There is no such fold.
        """
        self._check(fold)
        return np.flatnonzero((self.part != fold) & (self.part != TEST))

    def _check(self, fold: int) -> None:
        if not 0 <= fold < self.folds:
            raise CohortError(f"There is no fold {fold}: this split has folds 0 to {self.folds - 1}.")

    def to_bytes(self) -> bytes:
        """As Parquet: one column, one row per stay, in the cohort's order. No identifiers."""
        record = {"folds": self.folds, "by": self.by, "seed": self.seed, "test_share": self.test_share}
        table = pa.table({"part": pa.array(self.part)})
        sink = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({k: str(v) for k, v in record.items()}), sink)
        return sink.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the split to a file, all or nothing.

        Args:
            path: The file to write.
        """
        with atomic_path(path) as draft:
            draft.write_bytes(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Split:
        """Read what `save` wrote.

        Args:
            path: The file.

        Raises:
            CohortError: The file is missing or damaged, or it is not a saved split.
        """
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise CohortError(f"{os.fspath(path)} cannot be read: {error.strerror}.") from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Split:
        """The split that `to_bytes` gave.

        Args:
            data: The bytes.

        Raises:
            CohortError: They are damaged, or not a saved split.
        """
        try:
            table = pq.read_table(io.BytesIO(data), use_threads=False)
            record = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
            return cls(
                part=table.column("part").to_numpy().astype(np.int16),
                folds=int(record["folds"]),
                by="patient" if record["by"] == "patient" else "stay",
                seed=int(record["seed"]),
                test_share=float(record["test_share"]),
            )
        except (OSError, pa.ArrowException, KeyError, ValueError, AttributeError) as error:
            raise CohortError(
                "The split cannot be read: the file is damaged, or it is not a saved split."
            ) from error


def split_cohort(
    cohort: Cohort, *, by: SplitBy | None = None, folds: int = 10, test_share: float = 0.2, seed: int = 0
) -> Split:
    """Divide a cohort into a test part and folds. The same seed gives the same split on every machine.

    Args:
        cohort: The cohort to divide.
        by: Keep all stays of a `patient` together, or divide by `stay`. By default by patient if the cohort has
            patient ids, else by stay.
        folds: Number of folds outside the test part.
        test_share: Share of the stays in the test part; 0 for none.
        seed: Fixes the shuffle.

    Returns:
        The part of each stay.

    Raises:
        CohortError: There are too few patients or stays, the cohort has no patient ids to divide by, or `folds` or
            `test_share` is out of range.
    """
    check_cohort(cohort)
    by = _resolve(by, has_patients=cohort.patient_ids is not None)
    groups = _groups(cohort, by)
    sizes = np.bincount(groups)
    _check_sizes(len(sizes), folds, test_share, by)
    order = np.argsort(np.random.PCG64(seed).random_raw(len(sizes)), kind="stable")
    # The middle of a group decides its part, so large groups push the parts' sizes neither up nor down on average.
    ends = np.cumsum(sizes[order])
    middle = (ends - sizes[order] / 2) / ends[-1]
    part_of_group = np.empty(len(sizes), dtype=np.int16)
    part_of_group[order] = _parts(middle, folds, test_share)
    split = Split(part_of_group[groups], folds, by, seed, test_share)
    _check_parts(split)
    return split


def split_stream(
    stream: CohortStream,
    *,
    by: SplitBy | None = None,
    folds: int = 10,
    test_share: float = 0.2,
    seed: int = 0,
) -> Split:
    """Split a cohort larger than memory: a hash of the id decides the place of a patient or stay in the line.

    So parts have their share only approximately, but a patient's part does not depend on who else is in the file.
    The place is the first 8 bytes of BLAKE2b of `<seed> patient <id>` or `<seed> stay <id>`, big-endian, over 2⁶⁴.
    """
    by = _resolve(by, stream.has_patients)
    _check_sizes(len(stream), folds, test_share, "stay")
    part = np.empty(len(stream), np.int16)
    start = 0
    for stays, patients in stream.ids():
        keys = [
            _key(stay, patient if by == "patient" else None, seed)
            for stay, patient in zip(stays, patients, strict=True)
        ]
        part[start : start + len(keys)] = _parts(_places(keys), folds, test_share)
        start += len(keys)
    split = Split(part, folds, by, seed, test_share)
    _check_parts(split)
    return split


def _resolve(by: SplitBy | None, has_patients: bool) -> SplitBy:
    if by is None:
        return "patient" if has_patients else "stay"
    if by == "patient" and not has_patients:
        raise CohortError(
            "The cohort has no patient ids, so it cannot be split by patient; split it by stay."
        )
    return by


def _parts(place: NDArray[np.float64], folds: int, test_share: float) -> NDArray[np.int16]:
    """The parts of groups, by their place in the line from 0 to 1."""
    position = np.floor((place - test_share) / (1 - test_share) * folds).astype(np.int16)
    return np.where(place < test_share, TEST, np.clip(position, 0, folds - 1)).astype(np.int16)


def _key(stay: str, patient: str | None, seed: int) -> bytes:
    """A stay of an unknown patient is a group of its own."""
    return (f"{seed} stay {stay}" if patient is None else f"{seed} patient {patient}").encode()


def _places(keys: list[bytes]) -> NDArray[np.float64]:
    digests = b"".join(blake2b(key, digest_size=8).digest() for key in keys)
    return np.frombuffer(digests, ">u8").astype(np.float64) / 2.0**64


def _groups(cohort: Cohort, by: SplitBy) -> NDArray[np.int64]:
    """A number for each stay, equal for stays that must not be separated."""
    if by == "stay" or cohort.patient_ids is None:
        return np.arange(len(cohort))
    encoded = cohort.patient_ids.combine_chunks().dictionary_encode()
    known = len(encoded.dictionary)
    # A stay of an unknown patient is a group of its own.
    alone = np.arange(known, known + len(cohort))
    missing = encoded.is_null().to_numpy(zero_copy_only=False)
    numbers = np.where(missing, alone, encoded.indices.fill_null(0).to_numpy())
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _check_sizes(groups: int, folds: int, test_share: float, by: SplitBy) -> None:
    if folds < 2:
        raise CohortError(
            f"The number of folds must be at least 2, not {folds}: one of them is held out for validation."
        )
    if not 0 <= test_share < 1:
        raise CohortError(f"The test share must be at least 0 and below 1, not {test_share}.")
    if groups < folds + (test_share > 0):
        raise CohortError(
            f"{counted(groups, by)} cannot be split into {_wanted(folds, test_share)}; ask for fewer folds."
        )


def _check_parts(split: Split) -> None:
    wanted = set(range(split.folds)) | ({TEST} if split.test_share else set())
    if wanted - set(np.unique(split.part).tolist()):
        raise CohortError(
            f"The cohort cannot be split into {_wanted(split.folds, split.test_share)}, because some would be empty: "
            f"it has too few stays, or single {split.by}s have too many. Ask for fewer folds, or split by stay."
        )


def _wanted(folds: int, test_share: float) -> str:
    return f"{'a test part and ' if test_share else ''}{folds} folds"
