"""Writing files so that a reader finds the old content or the new, never half of it.

Each file is written under a hidden name in its own folder, synced, renamed over its final name,
and the folder is synced. Renaming within one folder is atomic; across devices it would not be.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from dx2px.errors import InputError


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` if the file cannot be written; call it before work whose result would be lost."""
    final = Path(path)
    if final.is_dir():
        raise InputError(f"{final} is a folder: name a file to write.")
    home = next((parent for parent in final.absolute().parents if parent.exists()), None)
    if home is None:
        raise InputError(f"{final} cannot be written: none of its parent folders exists.")
    if not home.is_dir():
        raise InputError(f"{home} is a file, so {final.name} cannot be written inside it.")
    if not os.access(home, os.W_OK | os.X_OK):
        raise InputError(f"No permission to write in {home}.")


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` to write to; it replaces `path` on success and is deleted on failure."""
    final = Path(path)
    check_place(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    draft = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        yield draft
        sync_file(draft)
        draft.replace(final)
        sync_folder(final.parent)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, all or nothing."""
    with atomic_path(path) as draft:
        draft.write_text(text, encoding="utf-8")


def sync_file(path: Path) -> None:
    """Force a file's content to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk, if the system can (Windows cannot open folders)."""
    if os.name == "posix":
        sync_file(path)
