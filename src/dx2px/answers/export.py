"""A model's vectors as a file for other tools: one labelled row per diagnosis, then one per procedure.

word2vec  text: a line `rows dimensions`, then `code value value …`; gensim's `KeyedVectors` loads it
parquet   code, kind, title, vector (a list of single-precision numbers of fixed length)
npz       arrays codes, kinds, vectors; plain text and numbers, so that loading needs no pickle
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.model import Model, check_model
from dx2px.codes import title
from dx2px.errors import InputError
from dx2px.storage import atomic_path

Format = Literal["word2vec", "parquet", "npz"]
ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".txt": "word2vec",
    ".vec": "word2vec",
}


@dataclass(frozen=True, eq=False)
class _Rows:
    codes: list[str]
    kinds: list[str]
    vectors: NDArray[np.float32]  # (codes, dim)


def export(model: Model, path: str | os.PathLike[str], format: Format | None = None) -> None:  # noqa: A002
    """Write the vectors of all codes, each labelled with its code; completely or not at all.

    Args:
        model: A model whose method has vectors.
        path: The file to write.
        format: `word2vec` (text), `parquet` or `npz`; by default what the ending of `path` says.

    Raises:
        InputError: The format is unknown, or the ending says another one or nothing; the method has no vectors.
    """
    check_model(model)
    write = _WRITERS[format_of(Path(path), format)]
    rows = _rows(model)
    with atomic_path(path) as draft:
        write(rows, draft)


def format_of(path: Path, asked: Format | None = None) -> Format:
    """The format of a file of vectors; its ending may say nothing, but not something else."""
    if asked is not None and asked not in _WRITERS:
        raise InputError(f"The format must be one of {', '.join(_WRITERS)}, not {asked!r}.")
    promised = ENDINGS.get(path.suffix.lower())
    found = asked or promised
    if found is None:
        raise InputError(f"{path.name}: end it in {', '.join(ENDINGS)}, or name its format.")
    if promised not in (None, found):
        raise InputError(
            f"{path.name} has the ending of {promised}, but the format asked for is {asked}: change one."
        )
    return found


def _rows(model: Model) -> _Rows:
    diagnoses, procedures = model.files.diagnoses, model.files.procedures
    kinds = ["diagnosis"] * len(diagnoses) + ["procedure"] * len(procedures)
    vectors = np.concatenate([model.diagnosis_vectors, model.procedure_vectors])
    return _Rows([*diagnoses, *procedures], kinds, vectors)


def _write_word2vec(rows: _Rows, path: Path) -> None:
    head = f"{len(rows.codes)} {rows.vectors.shape[1]}\n"
    # Nine digits give back the very same single-precision number.
    lines = (
        f"{code} {' '.join(f'{value:.9g}' for value in vector)}\n"
        for code, vector in zip(rows.codes, rows.vectors.tolist(), strict=True)
    )
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(chain([head], lines))


def _write_parquet(rows: _Rows, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = pa.array(rows.vectors.reshape(-1), pa.float32())
    columns = {
        "code": pa.array(rows.codes, pa.string()),
        "kind": pa.array(rows.kinds, pa.string()),
        "title": pa.array([title(code).text for code in rows.codes], pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(flat, rows.vectors.shape[1]),
    }
    pq.write_table(pa.table(columns), path)


def _write_npz(rows: _Rows, path: Path) -> None:
    with path.open("wb") as stream:  # given a name, numpy would add its own suffix
        np.savez(stream, codes=np.array(rows.codes), kinds=np.array(rows.kinds), vectors=rows.vectors)


_WRITERS: Mapping[str, Callable[[_Rows, Path], None]] = {
    "word2vec": _write_word2vec,
    "parquet": _write_parquet,
    "npz": _write_npz,
}
