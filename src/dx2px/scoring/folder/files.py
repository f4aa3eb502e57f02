"""The files of a model folder, written and read together.

config.json          format, version, method, settings, shapes of the arrays, SHA-256 of each file; and, optionally,
                     their sizes, the calibration of the scores, and what was measured on the test part
vocabulary.parquet   kind, index, code, count: one row per diagnosis, then one per procedure;
                     `count` is the number of training stays with the code, or null
weights.safetensors  the arrays of the method and of the calibration's head, as float32, or as float16 to halve the size
history.parquet      what training measured, one row per epoch, numbers only
MODEL_CARD.md        what the model is, for people
split.parquet        optional: the part of each stay, as `Split.save` writes it; no identifiers

`write_folder` replaces an earlier model in one step (see `replacement`). `read_folder` first checks what the files are
and how large (see `entries`); then it reads them all into memory, so that what was checked is what is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from dx2px.errors import ModelError
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.calibration_record import LAYOUTS, from_record, to_record
from dx2px.scoring.folder import config_file, entries, layouts, measured_entry, tables
from dx2px.scoring.folder.entries import ALLOWED, CARD, CONFIG, HISTORY, REQUIRED, SPLIT, VOCABULARY, WEIGHTS
from dx2px.scoring.folder.flaws import FlawError, raise_all
from dx2px.scoring.folder.replacement import replacing, set_aside
from dx2px.scoring.methods import scorer_of
from dx2px.scoring.scorer import Scorer
from dx2px.storage import check_home
from dx2px.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

_MUCH = 100_000_000  # bytes of weights that are not read before their shapes are checked
_LONGEST_AXIS = (
    10_000  # of such weights, unless it is an axis of codes: the largest dimension that can be trained
)
_READS = 20  # tries to read a folder that writers keep replacing
# A path from the root or from a drive: it would reveal where, and under whose name, the model was made.
_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/-])(?:~?/(?:[\w.@-]+/)+[\w.@-]+|[A-Za-z]:\\\w)")


@dataclass(frozen=True, eq=False)
class ModelFiles:
    """Everything that a model folder holds."""

    method: str
    settings: Mapping[str, Any]  # hyper-parameters, seed: JSON values, no paths
    diagnoses: Sequence[str]  # canonical codes, in the order of their text
    procedures: Sequence[str]
    arrays: Mapping[str, layouts.Array]  # the method's; the head's are the calibration's
    history: pa.Table
    card: str
    diagnosis_counts: Sequence[int] | None = None  # training stays with each code; from 1 to 11 it says 11
    procedure_counts: Sequence[int] | None = None
    split: bytes | None = None  # the file that `Split.save` writes
    calibration: Calibration | None = None  # models without one only rank
    measured: Mapping[str, Any] | None = None  # on the test part, as `measured_entry` describes it
    version: str = __version__  # of the dx2px that made the model

    def scorer(self) -> Scorer:
        """What scores stays with these arrays."""
        return scorer_of(self.method, self.arrays, self.settings)

    @property
    def weights(self) -> dict[str, layouts.Array]:
        """All arrays: the method's and the head's."""
        return {**self.arrays, **(self.calibration.arrays if self.calibration is not None else {})}


def write_folder(path: str | os.PathLike[str], files: ModelFiles, *, half: bool = False) -> None:
    """Write a model folder, completely or not at all. It may replace an earlier model, but nothing else.

    With `half` the arrays are rounded to half precision, which halves the size of the folder.
    """
    try:
        files = _halved(files) if half else files
        _check(files)
        contents = _contents(files, half)
    except FlawError as flaw:
        raise ModelError(f"This model cannot be saved: {flaw}.") from flaw
    final = Path(path).resolve()
    with replacing(final) as draft:
        check_destination(final)
        for name, data in contents.items():
            (draft / name).write_bytes(data)


def read_folder(path: str | os.PathLike[str]) -> ModelFiles:
    """Read and check a model folder; a `ModelError` says what is wrong with it."""
    try:
        record, contents = _read(_resolved(path))
        _check_hashes(record["files"], contents)
        files = _files(record, contents)
        _check(files)
    except MemoryError:
        raise ModelError(f"{os.fspath(path)} cannot be used as a model: it does not fit in memory.") from None
    except FlawError as flaw:
        raise ModelError(f"{os.fspath(path)} cannot be used as a model: {flaw}.") from flaw
    return files


def _check(files: ModelFiles) -> None:
    """What must be true of every model, before it is written and after it is read."""
    flaws = tables.code_flaws(files.diagnoses, "diagnosis") + tables.code_flaws(files.procedures, "procedure")
    flaws += layouts.flaws(files.method, files.weights, len(files.diagnoses), len(files.procedures))
    if any(_ABSOLUTE_PATH.search(text) for text in (files.card, *_texts(files.settings))):
        flaws.append("its settings or its card name a path of the machine it was made on")
    raise_all(flaws)
    if files.measured is not None:
        measured_entry.check(files.measured)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))
    elif isinstance(value, Sequence):
        yield from (text for part in value for text in _texts(part))


def halved(arrays: Mapping[str, layouts.Array]) -> dict[str, layouts.Array]:
    """The arrays as a folder in half precision gives them back."""
    with np.errstate(over="ignore"):  # what is too large for it becomes infinite, which no folder may hold
        return {name: array.astype(np.float16).astype(np.float32) for name, array in arrays.items()}


def _halved(files: ModelFiles) -> ModelFiles:
    stage = files.calibration
    rounded = None if stage is None else stage.with_arrays(halved(stage.arrays))
    return replace(files, arrays=halved(files.arrays), calibration=rounded)


def _contents(files: ModelFiles, half: bool) -> dict[str, bytes]:
    counts = [files.diagnosis_counts, files.procedure_counts]
    kept = {name: array.astype(np.float16 if half else array.dtype) for name, array in files.weights.items()}
    contents = {
        VOCABULARY: tables.vocabulary_bytes([files.diagnoses, files.procedures], counts),
        # As bytes: the library's own way to a file leaves it unsynced and readable by its owner alone.
        WEIGHTS: safetensors.numpy.save({name: array.copy(order="C") for name, array in kept.items()}),
        HISTORY: tables.history_bytes(files.history),
        CARD: files.card.encode(),
    }
    if files.split is not None:
        tables.check_split(files.split, SPLIT)
        contents[SPLIT] = files.split
    record: config_file.Record = {
        "version": files.version,
        "method": files.method,
        "settings": dict(files.settings),
        "arrays": _shapes(kept),
        "files": {name: config_file.sha256(data) for name, data in contents.items()},
        "sizes": {name: len(data) for name, data in contents.items()},
    }
    if files.calibration is not None:
        record["calibration"] = to_record(files.calibration)
    if files.measured is not None:
        record["measured"] = dict(files.measured)
    contents[CONFIG] = config_file.render(record)
    for name, data in contents.items():
        entries.check_size(name, len(data))
    return contents


def _files(record: config_file.Record, contents: Mapping[str, bytes]) -> ModelFiles:
    (diagnoses, procedures), counts = tables.read_vocabulary(contents[VOCABULARY], VOCABULARY)
    arrays = _arrays(contents[WEIGHTS])
    if _shapes(arrays) != record["arrays"]:
        raise FlawError(f"{WEIGHTS} does not hold the arrays that config.json names")
    raise_all(layouts.value_flaws(arrays))  # before half precision is widened
    if SPLIT in contents:
        tables.check_split(contents[SPLIT], SPLIT)
    single = _single(arrays)
    head = {name: single.pop(name) for layout in LAYOUTS for name in layout if name in single}
    return ModelFiles(
        method=record["method"],
        settings=record["settings"],
        diagnoses=diagnoses,
        procedures=procedures,
        arrays=single,
        history=tables.read_history(contents[HISTORY], HISTORY),
        card=_decode(contents[CARD]),
        diagnosis_counts=counts[0],
        procedure_counts=counts[1],
        split=contents.get(SPLIT),
        calibration=_calibration(record, head),
        measured=_measured(record),
        version=record["version"],
    )


def _calibration(record: config_file.Record, head: Mapping[str, layouts.Array]) -> Calibration | None:
    if head and "calibration" not in record:
        raise FlawError("it has a head, but no calibration")
    try:
        return from_record(record["calibration"], head) if "calibration" in record else None
    except (ValueError, OverflowError) as error:
        raise FlawError(f"its calibration cannot be used ({error})") from error


def _measured(record: config_file.Record) -> dict[str, Any] | None:
    if "measured" not in record:
        return None
    measured_entry.check(record["measured"])
    return measured_entry.in_order(record["measured"])


def _arrays(data: bytes) -> dict[str, layouts.Array]:
    try:
        return safetensors.numpy.load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise FlawError(f"{WEIGHTS} is not a readable safetensors file") from error


def _single(arrays: Mapping[str, layouts.Array]) -> dict[str, layouts.Array]:
    half = all(array.dtype == np.float16 for array in arrays.values())
    return {name: array.astype(np.float32) if half else array for name, array in arrays.items()}


def _shapes(arrays: Mapping[str, layouts.Array]) -> dict[str, Any]:
    return {name: {"shape": list(array.shape), "dtype": array.dtype.name} for name, array in arrays.items()}


def _decode(card: bytes) -> str:
    try:
        return card.decode()
    except UnicodeDecodeError:
        raise FlawError(f"{CARD} is not UTF-8 text") from None


def _resolved(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle; a NUL in the name
        raise FlawError("its path leads nowhere") from None


def _read(folder: Path) -> tuple[config_file.Record, dict[str, bytes]]:
    """The record of config.json and the content of the other files, all from one state of the folder."""
    for _ in range(_READS):
        home = set_aside(folder) or folder
        try:
            before = _identity(home)
            found = _read_once(home)
        except FlawError:
            if _unchanged(home, before):
                raise
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            raise FlawError("it is a file, not a folder") from None
        except OSError as error:
            raise FlawError(f"it cannot be read ({error.strerror})") from error
        else:
            if _unchanged(home, before):
                return found
    raise FlawError(
        "there is no such folder" if not folder.exists() else "it keeps changing while it is read"
    )


def _read_once(home: Path) -> tuple[config_file.Record, dict[str, bytes]]:
    names = entries.names_in(home)
    if CONFIG not in names:
        raise FlawError(f"it has no {CONFIG}")
    record = config_file.parse(entries.read_entry(home, CONFIG))
    _check_names(names)
    entries.check_sizes(home, names, record)
    contents = {name: entries.read_entry(home, name) for name in sorted(names - {CONFIG, WEIGHTS})}
    if entries.array_bytes(record["arrays"]) > _MUCH:
        _check_declared(record, contents[VOCABULARY])
    return record, contents | {WEIGHTS: entries.read_entry(home, WEIGHTS)}


def _check_declared(record: config_file.Record, vocabulary: bytes) -> None:
    """Weights that take time and memory to read are read only if they can be this model's."""
    (diagnoses, procedures), _ = tables.read_vocabulary(vocabulary, VOCABULARY)
    shapes = {name: tuple(array["shape"]) for name, array in record["arrays"].items()}
    raise_all(layouts.shape_flaws(record["method"], shapes, len(diagnoses), len(procedures)))
    if max(length for shape in shapes.values() for length in shape) > max(
        _LONGEST_AXIS, len(diagnoses), len(procedures)
    ):
        raise FlawError(f"{CONFIG} names arrays that are too large")


def _unchanged(folder: Path, before: tuple[int, int, int]) -> bool:
    try:
        return _identity(folder) == before
    except OSError:
        return False


def _identity(folder: Path) -> tuple[int, int, int]:
    found = folder.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _check_names(names: set[str]) -> None:
    flaws = []
    if missing := sorted(REQUIRED - names):
        flaws.append(f"it lacks {', '.join(missing)}")
    if extra := sorted(names - ALLOWED):
        shown = ", ".join(repr(name[:40]) for name in extra[:3])
        flaws.append(f"it holds {shown}{' and more' if len(extra) > 3 else ''}, which does not belong there")
    raise_all(flaws)


def _check_hashes(expected: Mapping[str, Any], contents: Mapping[str, bytes]) -> None:
    flaws = [f"it lacks {name[:40]!r}" for name in sorted(expected.keys() - contents.keys())]
    flaws += [f"config.json does not know its {name}" for name in sorted(contents.keys() - expected.keys())]
    both = sorted(contents.keys() & expected.keys())
    damaged = [name for name in both if config_file.sha256(contents[name]) != expected[name]]
    raise_all(flaws + [f"{name} is damaged or was changed" for name in damaged])


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raise unless the path is free or holds a model; worth asking before the work that makes the model."""
    final = Path(path)
    check_home(final.resolve())
    if not final.exists():
        return
    if not final.is_dir():
        raise ModelError(f"{final} is a file, so no model folder can be written there.")
    check_home(final.resolve() / CONFIG)
    names = entries.names_in(final)
    if strangers := sorted(names - ALLOWED):
        raise ModelError(
            f"{final} holds {strangers[0]!r}, which is no part of a model: choose another folder."
        )
    if names and not (CONFIG in names and _is_ours(final)):
        raise ModelError(f"{final} holds files but no dx2px model: choose another folder, or empty it.")


def _is_ours(folder: Path) -> bool:
    """Whether a config.json, intact or not, belongs to a dx2px model of any format."""
    try:
        return config_file.is_ours(entries.read_entry(folder, CONFIG))
    except FlawError:
        return False
