"""config.json: one JSON object, in one fixed layout, with the hash of every file of the folder and of itself.

Its `digest` is the SHA-256 of the same object without `digest`, so that no byte of it can change unnoticed.
This guards against damage and careless edits; it is not a signature and proves nothing about the author.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dx2px.scoring.folder.flaws import FlawError

FORMAT = 1
MARK = "dx2px model"
_OPTIONAL = {
    "calibration": dict,
    "measured": dict,
    "sizes": dict,
}  # folders of earlier versions may lack them
_TYPES = {"version": str, "method": str, "settings": dict, "arrays": dict, "files": dict, "digest": str}

_DEEPEST = 20  # levels

Record = dict[str, Any]


def render(record: Mapping[str, Any]) -> bytes:
    """The bytes of config.json for a record that has neither mark nor digest yet."""
    marked = {"kind": MARK, "format": FORMAT, **record}
    return _text(marked | {"digest": _digest(marked)})


def parse(data: bytes) -> Record:
    """The record of a config.json that is intact and of a format this version reads."""
    record = _load(data)
    if record.get("kind") != MARK:
        raise FlawError("its config.json is not of a dx2px model")
    _check_format(record.get("format"))
    wrong = [name for name, type_ in _TYPES.items() if not isinstance(record.get(name), type_)]
    wrong += [name for name, type_ in _OPTIONAL.items() if not isinstance(record.get(name, type_()), type_)]
    if wrong or record.keys() - _TYPES.keys() - _OPTIONAL.keys() != {"kind", "format"}:
        raise FlawError("its config.json lacks entries, or has entries that do not belong there")
    _check_sizes(record)
    _check_depth(record)
    unsigned = {name: value for name, value in record.items() if name != "digest"}
    if _digest(unsigned) != record["digest"] or _text(record) != data:
        raise FlawError("its config.json was changed after it was written")
    return record


def is_ours(data: bytes) -> bool:
    """Whether a config.json, intact or not, belongs to a dx2px model of any format."""
    try:
        return _load(data).get("kind") == MARK
    except FlawError:
        return False


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_format(found: Any) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise FlawError("its config.json does not say which format it has")
    if found > FORMAT:
        shown = found if found < 1000 else "1000 or above"
        raise FlawError(
            f"it has format {shown} and this dx2px reads format {FORMAT}, so install a newer dx2px"
        )


def _check_sizes(record: Record) -> None:
    sizes = record.get("sizes")
    if sizes is not None and sizes.keys() != record["files"].keys():
        raise FlawError("its config.json does not name the size of each file")


def _check_depth(record: Record) -> None:
    """Nobody nests settings deeply, and code that walks through them calls itself once per level."""
    level: list[Any] = [record]
    for _ in range(_DEEPEST):
        level = [part for value in level if isinstance(value, dict | list) for part in _parts(value)]
    if level:
        raise FlawError("its config.json is nested too deeply")


def _parts(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _load(data: bytes) -> Record:
    try:
        record = json.loads(data.decode(), object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise FlawError("its config.json is not valid JSON") from None
    if not isinstance(record, dict):
        raise FlawError("its config.json is not a JSON object")
    return record


def _distinct(pairs: list[tuple[str, Any]]) -> Record:
    if len(dict(pairs)) != len(pairs):
        raise FlawError("its config.json repeats an entry")
    return dict(pairs)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _digest(record: Mapping[str, Any]) -> str:
    return sha256(_text(record))


def _text(record: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()
    except (TypeError, ValueError, RecursionError):
        raise FlawError("its settings are not plain JSON values") from None
