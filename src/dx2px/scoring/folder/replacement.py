"""Replaces a folder by another: a kill at any moment leaves the old one or the new one, never a half.

The new folder is written beside the final one as `.NAME.<8 hex digits>.draft`, synced, and moved into place:

- if there is nothing at that place, by one rename;
- on Linux, by the system's exchange of two names, one atomic step, after which the draft is the old folder;
- elsewhere by two renames, with the old folder called `.NAME.<8 hex digits>.aside` in between. A kill between
  the two leaves no NAME but a complete `.aside`: readers use it (`set_aside`), the next writer puts it back.

Writers hold a lock on the parent folder, which ends with their process. So a draft or an aside that the holder of
the lock finds was left by a killed writer, and is removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from dx2px.storage import sync_file, sync_folder

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@contextlib.contextmanager
def replacing(final: Path) -> Iterator[Path]:
    """Yield an empty draft folder; it takes the place of `final` on success or vanishes on failure."""
    final.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(final.parent) as alone:
        if alone:
            _clean_up(final)
        draft = _sibling(final, "draft")
        try:
            draft.mkdir()
            yield draft
            for file in draft.iterdir():
                sync_file(file)
            sync_folder(draft)
            _install(draft, final)
            sync_folder(final.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def set_aside(final: Path) -> Path | None:
    """The old folder that a writer killed between two renames left under another name, if `final` is gone."""
    return None if os.path.lexists(final) else max(_siblings(final, "aside"), key=_age_key, default=None)


def _install(draft: Path, final: Path) -> None:
    if not final.exists():
        draft.rename(final)
    elif not _exchange(draft, final):
        _rename_twice(draft, final)


def _rename_twice(draft: Path, final: Path) -> None:
    aside = _sibling(final, "aside")
    final.rename(aside)
    try:
        draft.rename(final)
    except BaseException:
        aside.rename(final)
        raise
    sync_folder(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    if (
        rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE))
        == 0
    ):
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[bool]:
    """Lock the folder; False where that cannot be done, so that others may be writing here too."""
    with contextlib.ExitStack() as stack:
        try:
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            locked = True
        except (ImportError, OSError):  # Windows; unreadable folders; some network file systems
            locked = False
        yield locked


def _clean_up(final: Path) -> None:
    """Put back what a killed writer set aside, and remove what it left."""
    if (old := set_aside(final)) is not None:
        old.rename(final)
    # An aside is spare only where a folder stands in its place.
    spare = _siblings(final, "aside") if final.is_dir() else []
    for leftover in [*_siblings(final, "draft"), *spare]:
        shutil.rmtree(leftover, ignore_errors=True)


def _sibling(final: Path, word: str) -> Path:
    return final.with_name(f".{final.name}.{secrets.token_hex(4)}.{word}")


def _siblings(final: Path, word: str) -> list[Path]:
    if not final.parent.is_dir():
        return []
    name = re.compile(rf"\.{re.escape(final.name)}\.[0-9a-f]{{8}}\.{word}")
    return [path for path in final.parent.iterdir() if name.fullmatch(path.name) and path.is_dir()]


def _age_key(folder: Path) -> int:
    return folder.stat().st_mtime_ns
