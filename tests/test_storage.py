"""Files are written as a whole or not at all; what a failed write leaves behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dx2px.errors import InputError
from dx2px.storage import atomic_path, check_place, write_text


def test_a_file_appears_whole_with_the_usual_mode(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.txt"
    write_text(target, "content")
    assert target.read_text() == "content"
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask
    assert [entry.name for entry in target.parent.iterdir()] == ["file.txt"]


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    write_text(target, "old")

    def fail() -> None:
        with atomic_path(target) as draft:
            draft.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_impossible_paths_are_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    check_place(tmp_path / "new" / "deep" / "file")
    for place, problem in ((tmp_path, "is a folder"), (tmp_path / "file" / "below", "is a file, so below")):
        with pytest.raises(InputError, match=problem):
            check_place(place)
        with pytest.raises(InputError, match=problem):
            write_text(place, "text")
    assert (tmp_path / "file").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_draft_is_in_the_same_folder_and_hidden(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "file.txt") as draft:
        assert draft.parent == tmp_path
        assert draft.name.startswith(".")
        draft.write_text("x")


def test_content_and_folder_are_synced_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(descriptor: int) -> None:
        calls.append("sync")
        fsync(descriptor)

    def note_replace(self: Path, target: Path) -> Path:
        calls.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    write_text(tmp_path / "file.txt", "x")
    assert calls == ["sync", "rename", "sync"]
