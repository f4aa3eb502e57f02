"""Finished parts of a long output, so that work that was killed continues where it stopped.

While `RECS.parquet` is being made, there is a folder `RECS.parquet.parts` beside it:

manifest.json   what determines the output: a folder of another job is emptied, never continued
00000.arrow …   finished parts, each written completely or not at all
draft.parquet   the output so far; after a kill it cannot be continued, so the parts are copied to a new one

Where the system has locks, one process at a time works in the folder.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from dx2px.errors import InputError
from dx2px.storage import atomic_path, sync_file, sync_folder, write_text

MANIFEST, DRAFT, SUFFIX = "manifest.json", "draft.parquet", ".arrow"


class Parts:
    """The parts of one output, numbered from 0."""

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        self.folder = folder
        if not _continues(folder, key):
            _empty(folder)
            write_text(folder / MANIFEST, json.dumps(key, indent=2))

    @property
    def draft(self) -> Path:
        """Where the output is written."""
        return self.folder / DRAFT

    def read(self, number: int, rows: int) -> pa.Table | None:
        """A finished part; None if it is missing or incomplete."""
        try:
            with pa.OSFile(str(self._path(number)), "rb") as source, pa.ipc.open_file(source) as reader:
                part = reader.read_all()
        except (OSError, pa.ArrowException):
            return None
        return part if part.num_rows == rows else None

    def save(self, number: int, part: pa.Table) -> None:
        """Keep a part, completely or not at all."""
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            atomic_path(self._path(number)) as draft,
            pa.ipc.new_file(draft, part.schema, options=options) as sink,
        ):
            sink.write_table(part)

    def publish(self, out: Path) -> None:
        """Make the draft, now complete, the output, and remove the folder."""
        sync_file(self.draft)
        self.draft.replace(out)
        sync_folder(out.parent)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:05d}{SUFFIX}"


@contextmanager
def parts_of(out: Path, key: Mapping[str, Any]) -> Iterator[Parts]:
    """The parts of an output, for one process alone; they are kept if the work ends in an error."""
    folder = out.with_name(f"{out.name}.parts")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        _lock(folder, stack)
        yield Parts(folder, key)


def _lock(folder: Path, stack: ExitStack) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        return
    descriptor = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"Another process is working in {folder}: wait for it, or choose another output."
        ) from None
    except OSError:  # some network file systems have no locks
        return


def _continues(folder: Path, key: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads((folder / MANIFEST).read_text(encoding="utf-8")) == key)
    except (OSError, ValueError):
        return False


def _empty(folder: Path) -> None:
    """Remove what an earlier job left; a folder with other files in it is not touched."""
    names = sorted(entry.name for entry in folder.iterdir())
    if strangers := [name for name in names if not _ours(name)]:
        raise InputError(
            f"{folder} holds {strangers[0]!r}, which dx2px did not write: choose another output."
        )
    # The manifest first: parts without one are never continued.
    for name in sorted(names, key=lambda name: name != MANIFEST):
        (folder / name).unlink()


def _ours(name: str) -> bool:
    finished = name.removesuffix(SUFFIX)
    half_written = name.startswith(".") and name.endswith(".part")
    return name in (MANIFEST, DRAFT) or half_written or (name != finished and finished.isdigit())
