"""Text files with one JSON object per line (NDJSON). A line that holds none is set aside with its number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dx2px.cohort.text_lines import TextLines
from dx2px.cohort.text_tables import STRAY_LINE_END, Malformed, Staged, numbered_lines

NO_OBJECT = "the line is not a JSON object (such a file holds one object per line)"


def json_objects(path: Path, staged: Staged) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects with their line numbers; `staged` counts the lines as they are read."""
    source = TextLines(path)
    for block in source.blocks():
        for number, line, is_whole in numbered_lines(block, staged.lines + 1):
            staged.lines += 1
            if not line.strip():
                staged.blank += 1
            elif (found := _object(line) if is_whole else None) is not None:
                staged.records += 1
                yield number, found
            else:
                staged.malformed.append(Malformed(number, NO_OBJECT if is_whole else STRAY_LINE_END))
    staged.finish(source)


def set_aside(staged: Staged, line: int, reason: str) -> None:
    """Count an object as malformed after all: it was JSON, but not what the file should hold."""
    staged.records -= 1
    staged.malformed.append(Malformed(line, reason))


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # deep nesting is a recursion in Python's parser
        return None
    return found if isinstance(found, dict) else None
