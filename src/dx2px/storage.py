"""Writing files so that a reader finds the old content or the new, never half of it.

Each file is written under a hidden name in its own folder, synced, renamed over its final name,
and the folder is synced. Renaming within one folder is atomic; across devices it would not be.

A killed process leaves its draft, `.NAME.<process id>-<8 hex digits>.part`. The next process that writes NAME removes
it, once it is sure that the writer is gone: no process of this machine has that id, and nobody holds the draft's lock.
The id alone would not do, since other machines may write to the same disk.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from dx2px.errors import InputError

PARQUET = (".parquet", ".pq")  # endings of Parquet files


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise an `InputError` if the file cannot be written; call it before work whose result would be lost."""
    final = Path(path)
    if final.is_dir():
        raise InputError(f"{final} is a folder: name a file to write.")
    check_home(final)


def check_ending(path: str | os.PathLike[str], endings: Sequence[str], what: str) -> None:
    """Raise an `InputError` if a file's name promises another format than what will be in it."""
    final = Path(path)
    if final.suffix.lower() not in endings:
        shown = final.with_suffix(endings[0]).name
        raise InputError(f"{what} {' or '.join(endings)}, not {final.name!r}: name it {shown}, for example.")


def check_home(final: Path) -> None:
    """Raise an `InputError` if no file or folder of this name can be made in its parent folder."""
    home = next((parent for parent in final.absolute().parents if parent.exists()), None)
    if home is None:
        raise InputError(f"{final} cannot be written: none of its parent folders exists.")
    if not home.is_dir():
        raise InputError(f"{home} is a file, so {final.name} cannot be written inside it.")
    try:
        # Permissions do not tell everything: the disk may be read-only, and they do not bind an administrator.
        with tempfile.TemporaryFile(dir=home):
            pass
    except PermissionError:
        raise InputError(f"No permission to write in {home}.") from None
    except OSError as error:
        raise InputError(f"Nothing can be written in {home}: {error.strerror}.") from None


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` to write to; it replaces `path` on success and is deleted on failure."""
    final = Path(path)
    check_place(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    _sweep(final.absolute())
    draft = final.with_name(f".{final.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    with contextlib.ExitStack() as stack:
        stack.callback(draft.unlink, missing_ok=True)
        _hold(draft, stack)
        yield draft
        sync_file(draft)
        draft.replace(final)
        sync_folder(final.parent)


@lru_cache(maxsize=1000)  # once per file and process is enough: listing a large folder takes time
def _sweep(final: Path) -> None:
    """Remove the drafts of this file whose writers are gone."""
    name = re.compile(rf"\.{re.escape(final.name)}\.(\d{{1,9}})-[0-9a-f]{{8}}\.part")
    with contextlib.suppress(OSError), os.scandir(final.parent) as entries:
        for entry in entries:
            if (found := name.fullmatch(entry.name)) and _abandoned(Path(entry.path), int(found[1])):
                Path(entry.path).unlink()


def _abandoned(draft: Path, process: int) -> bool:
    """Whether the process that wrote a draft is gone; False where that cannot be known."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
        return False
    except ProcessLookupError:
        pass
    except OSError:  # another user's process
        return False
    with contextlib.ExitStack() as stack:
        return _lock(draft, stack)


def _hold(draft: Path, stack: contextlib.ExitStack) -> None:
    """Make the draft and keep its lock until it is done with, or the process ends."""
    draft.touch(exist_ok=False)
    _lock(draft, stack)


def _lock(file: Path, stack: contextlib.ExitStack) -> bool:
    """Lock a file for as long as the stack lasts; False if another process holds it, or there are no locks."""
    try:
        import fcntl

        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # Windows; some network file systems
        return False
    return True


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
