"""Files are written as a whole or not at all; what a failed write leaves behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
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


KILLED = """
import os, sys
from dx2px.storage import atomic_path
with atomic_path(sys.argv[1]) as draft:
    draft.write_text("half")
    os.kill(os.getpid(), 9)
"""


def test_the_draft_of_a_killed_process_is_removed_by_the_next_run(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "other.txt")], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    write_text(target, "whole")
    names = sorted(entry.name for entry in tmp_path.iterdir())
    assert names[0].startswith(".other.txt."), "drafts of other files are left alone"
    assert names[1:] == ["file.txt"]


def test_drafts_whose_writers_may_live_are_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    kept = [f".file.txt.{os.getpid()}-01234567.part", f".file.txt.{gone.pid}-0123abcd.part", ".file.txt.part"]
    for name in kept:
        (tmp_path / name).write_text("half")
    with (tmp_path / kept[1]).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a writer on another machine would
        write_text(target, "whole")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*kept, "file.txt"])


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder where nobody can write")
def test_a_place_where_nothing_can_be_written_is_named_before_any_work() -> None:
    with pytest.raises(InputError, match=r"(Nothing can be written|No permission to write) in /proc"):
        check_place("/proc/file.txt")
