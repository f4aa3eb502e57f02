"""Models that come with the package, so that dx2px can answer before anything is trained."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from dx2px.codes import Kind, System, read_family, resolve, split
from dx2px.errors import CodeError, InputError, ModelError
from dx2px.scoring.folder.replacement import set_aside

DEFAULT = "nhds2010"
ProcedureSystem = Literal["icd9pcs", "icd10pcs"]
ANSWERING: Mapping[ProcedureSystem, str] = {"icd9pcs": DEFAULT, "icd10pcs": "nhds2010-icd10"}


def shipped_models() -> dict[str, Path]:
    """The folder of each model in this package, by name."""
    home = Path(str(files("dx2px"))) / "shipped"
    return {folder.name: folder for folder in sorted(home.iterdir())} if home.is_dir() else {}


def siblings(path: str | os.PathLike[str]) -> list[Path]:
    """The other models in the package, if the path is that of its default one."""
    found = shipped_models()
    if DEFAULT not in found or Path(path) != found[DEFAULT]:
        return []
    return [found[name] for name in ANSWERING.values() if name in found and name != DEFAULT]


def asked_in(texts: Iterable[str]) -> ProcedureSystem:
    """The system to answer a question in: ICD-10-PCS if most of its diagnoses are ICD-10-CM codes."""
    return _most(_versions(texts, "diagnosis"))


def audited_in(diagnoses: Iterable[str], procedures: Iterable[str]) -> ProcedureSystem:
    """The system to audit stays in: that of most coded procedures; without any, as `asked_in`."""
    coded = _versions(procedures, "procedure")
    return _most(coded) if coded[9] or coded[10] else asked_in(diagnoses)


def _most(versions: Counter[int]) -> ProcedureSystem:
    return "icd10pcs" if versions[10] > versions[9] else "icd9pcs"


def _versions(texts: Iterable[str], kind: Kind) -> Counter[int]:
    """How many texts are codes of each ICD version; those that may be of both count as 9."""
    found: Counter[int] = Counter()
    for text, times in Counter(texts).items():
        if (version := _version(text, kind)) is not None:
            found[version] += times
    return found


@lru_cache(maxsize=20_000)  # a service is asked about the same codes again and again
def _version(text: str, kind: Kind) -> int | None:
    """None if the text is no code."""
    try:
        return split(_resolved(text, kind))[0].version
    except CodeError:
        return None


def _resolved(text: str, kind: Kind) -> str:
    try:
        return resolve(text, kind, prefer=[System.ICD9CM, System.ICD9PCS])
    except CodeError:
        if kind == "procedure":
            return read_family(text)
        raise


def model_path(name: str | os.PathLike[str] | None = None, answer_in: ProcedureSystem | None = None) -> Path:
    """The folder of a model: the path of one's own, or the name of one in the package; the default one if None.

    A path wins over a name. Without either, `answer_in` chooses among the models in the package.

    Raises:
        ModelError: A bare name is neither.
    """
    found = shipped_models()
    if name is None:
        name = ANSWERING[answer_in or "icd9pcs"]
        if name not in found:
            raise InputError(
                "There is no model in this installation: name one with --model; `dx2px train` makes one."
            )
        return found[name]
    path = Path(name)
    if path.exists() or set_aside(path):  # one that is just being replaced is there, too
        return path
    if os.fspath(name) not in found and len(path.parts) == 1:
        raise ModelError(
            f"{path} cannot be used as a model: there is no such folder, and no model of this name in the package, "
            f"which has {', '.join(found) or 'none'}."
        )
    return found.get(os.fspath(name), path)
