"""The tables of a folder or file: CSV and other text staged as Parquet with line numbers, Parquet as it is."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis

from dx2px.cohort.engines import Engine
from dx2px.cohort.engines.engine import FILE_ROW
from dx2px.cohort.sources.tables import Tables
from dx2px.cohort.text_tables import LINE, Staged, read_header, stage_delimited, stage_fixed_width
from dx2px.errors import CohortError

TEXT_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".txt.bz2")
PARQUET_SUFFIXES = (".parquet",)


class FileTables(Tables):
    """Finds the files below `root`, stages text files in `workspace`, reads them through the engine."""

    endings = " (as .csv, .csv.gz or .parquet)"

    def __init__(self, root: Path, engine: Engine, workspace: Path, say: Callable[[str], None]) -> None:
        super().__init__(engine, str(root))
        self.root, self.workspace, self.say = root, workspace, say
        if not root.exists():
            raise CohortError(f"There is no file or folder {root}.")

    def enter(self, inner: str) -> None:
        if (self.root / inner).is_dir():
            self.root = self.root / inner
            self.place = str(self.root)

    def find(self, name: str) -> Path | None:
        """The file of the table `name` in the folder, whatever its case and its ending."""
        if not self.root.is_dir():
            raise CohortError(f"{self.root} is not a folder; this source needs the folder of its tables.")
        found = [path for path in sorted(self.root.iterdir()) if _stem(path) == name.lower()]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise CohortError(f"{self.root} holds {names}, which are the same table: keep one of them.")
        return found[0] if found else None

    def matching(self, pattern: str) -> list[Path]:
        """The table files of the folder whose name matches, or the one file that `root` is."""
        if self.root.is_file():
            return [self.root]
        wanted = pattern.lower()
        found = [path for path in sorted(self.root.iterdir()) if fnmatch.fnmatchcase(_stem(path), wanted)]
        if not found:
            raise CohortError(f"{self.root} holds no file named like {pattern}.")
        return found

    @property
    def single(self) -> Path | None:
        return None if self.root.is_dir() else self.root

    def second(self, name: str) -> Path:
        path = Path(name)
        if not path.is_file():
            raise CohortError(f"There is no file {path}.")
        return path

    def columns(self, table: Path) -> dict[str, Any]:
        """Column names in lower case, with their Ibis type (text for text files)."""
        if table.suffix.lower() in PARQUET_SUFFIXES:
            schema = self._parquet(table).schema()
            return {name.lower(): kind for name, kind in schema.items() if name != FILE_ROW}
        return dict.fromkeys(read_header(table).columns, ibis.dtype("string"))

    def rows(self, table: Path) -> int:
        return self.staged[table.name].records

    def read_fixed_width(self, table: Path, width: int, columns: dict[str, slice]) -> Any:
        """The slices of a fixed-width file as columns."""
        self.files.append(table)
        self.say(f"reading {table.name}")
        target = self._target(table)
        self.staged[table.name] = stage_fixed_width(table, target, width, columns)
        return self.engine.read_parquet(target)

    def _read(self, table: Path, wanted: list[str]) -> Any:
        self.files.append(table)
        if table.suffix.lower() in PARQUET_SUFFIXES:
            return self._read_parquet(table, wanted)
        self.say(f"reading {table.name}")
        target = self._target(table)
        self.staged[table.name] = stage_delimited(table, target, wanted)
        return self.engine.read_parquet(target)

    def _read_parquet(self, path: Path, wanted: list[str]) -> Any:
        table = self._parquet(path)
        names = {name.lower(): name for name in table.columns}
        columns = {name: self.as_written(path, name, table[names[name]]) for name in wanted}
        rows = self.engine.value(table.count())
        self.staged[path.name] = Staged(records=rows, lines=rows)
        return table.select(**{LINE: table[FILE_ROW] + 1}, **columns)

    def _parquet(self, path: Path) -> Any:
        try:
            return self.engine.read_numbered_parquet(path)
        except Exception as error:  # the engines' exception types differ by cause; all mean the same here
            raise CohortError(f"{path.name} cannot be read as Parquet.") from error

    def _target(self, path: Path) -> Path:
        return self.workspace / f"{len(self.staged)}-{path.name}.parquet"


def _stem(path: Path) -> str:
    """The table that a file holds: its name in lower case without its ending; empty for other files."""
    name = path.name.lower()
    for suffix in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES):
        if name.endswith(suffix) and path.is_file():
            return name.removesuffix(suffix)
    return ""
