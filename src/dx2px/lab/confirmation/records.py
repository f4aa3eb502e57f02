"""The records of confirmations: one file per version, written once, with all that is needed to repeat the run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import dx2px
from dx2px.errors import InputError
from dx2px.storage import atomic_path, check_place
from dx2px.version import __version__


def record_file(folder: Path, version: str = __version__) -> Path:
    """Where the record of a version is kept."""
    return folder / f"{version}.json"


def check_first(folder: Path, version: str = __version__) -> None:
    """Refuse to confirm a version a second time."""
    if (file := record_file(folder, version)).exists():
        raise InputError(
            f"Version {version} has been confirmed already, and a confirmation is made once per version: see {file}."
        )


def keep_once(folder: Path, record: Mapping[str, Any], version: str = __version__) -> Path:
    """Write the record of a version, all or nothing; one that is there already is never replaced."""
    check_first(folder, version)
    file = record_file(folder, version)
    file.parent.mkdir(parents=True, exist_ok=True)
    check_place(file)
    with atomic_path(file) as draft:
        draft.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return file


def read_records(folder: Path) -> list[dict[str, Any]]:
    """All that are kept, the newest first."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
    return sorted(found, key=lambda record: str(record["date"]), reverse=True)


def provenance(files: Mapping[str, Path]) -> dict[str, Any]:
    """When, with which code, and from which data files."""
    return {
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": {**_commit(), "sources_sha256": _sources()},
        "files": {
            use: {"name": path.name, "sha256": sha256(path.read_bytes()).hexdigest()}
            for use, path in files.items()
        },
    }


def _sources() -> str:
    """One hash over the package's Python files and their places."""
    root = Path(dx2px.__file__).parent
    found = sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(
            f"{path.relative_to(root).as_posix()} {sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return found.hexdigest()


def _commit() -> dict[str, Any]:
    """The commit of the package's repository, and whether files differ from it; None without a repository."""
    commit, changes = _git("rev-parse", "HEAD"), _git("status", "--porcelain")
    return {"commit": commit, "uncommitted_changes": None if commit is None else bool(changes)}


def _git(*words: str) -> str | None:
    folder = Path(dx2px.__file__).parent
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
