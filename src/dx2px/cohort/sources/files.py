"""The tables of a folder, or a single file: text is staged as Parquet with line numbers, Parquet is read as it is."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow.parquet as pq

from dx2px.cohort.engines import Engine
from dx2px.cohort.engines.engine import FILE_ROW
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.text_tables import LINE, Staged, read_header, stage_delimited, stage_fixed_width
from dx2px.errors import CohortError
from dx2px.words import counted

TEXT_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".txt.bz2")
PARQUET_SUFFIXES = (".parquet",)
MOST_COLUMNS = 10_000  # of a Parquet file: DuckDB needs minutes for ten times as many


class FileTables(Tables):
    """Finds the files in `root`, stages text files in `workspace`, and reads them through the engine."""

    endings = " (as .csv, .csv.gz or .parquet)"

    def __init__(self, root: Path, engine: Engine, workspace: Path, say: Callable[[str], None]) -> None:
        super().__init__(engine, str(root))
        self.root, self.workspace, self.say = root, workspace, say
        if not root.exists():
            raise CohortError(f"There is no file or folder {root}.")
        if not (root.is_file() or root.is_dir()):
            raise CohortError(f"{root} is neither a regular file nor a folder.")

    def enter(self, inner: str) -> None:
        if (self.root / inner).is_dir():
            self.root = self.root / inner
            self.place = str(self.root)

    def find(self, name: str) -> Path | None:
        """The file of the table `name` in the folder, in any case and with any known ending."""
        if not self.root.is_dir():
            raise CohortError(f"{self.root} is a file; this source needs the folder that holds its tables.")
        found = [path for path in sorted(self.root.iterdir()) if _stem(path) == name.lower()]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise CohortError(f"{self.root} has {names}, which are the same table; keep one of them.")
        return found[0] if found else None

    def matching(self, pattern: str) -> list[Path]:
        """The files of the folder whose name matches, or `root` itself if it is a file."""
        if self.root.is_file():
            return [self.root]
        wanted = pattern.lower()
        found = [path for path in sorted(self.root.iterdir()) if fnmatch.fnmatchcase(_stem(path), wanted)]
        if not found:
            raise CohortError(f"{self.root} has no file whose name matches {pattern}.")
        return found

    def ending_with(self, endings: tuple[str, ...]) -> list[Path]:
        """The files of the folder and of the folders in it that have such a name, or `root` itself if it is a file."""
        found = [self.root] if self.root.is_file() else sorted(self.root.rglob("*"))
        found = [path for path in found if path.name.lower().endswith(endings) and path.is_file()]
        if not found:
            what = "is not a file" if self.root.is_file() else "has no file"
            raise CohortError(f"{self.root} {what} that ends in {' or '.join(endings)}.")
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

    def has_columns(self, table: Path) -> str:
        if table.suffix.lower() in PARQUET_SUFFIXES:
            return super().has_columns(table)
        # If the file has no header, its "column names" are a patient's record.
        return (
            f"its first line, which should name the columns, has {counted(len(self.columns(table)), 'field')}"
        )

    def rows(self, table: Path) -> int:
        return self.staged[table].records

    def read_fixed_width(self, table: Path, width: int, columns: dict[str, slice]) -> Any:
        """The slices of a fixed-width file as columns."""
        return self._stage(table, lambda target: stage_fixed_width(table, target, width, columns))

    def _read(self, table: Path, wanted: list[str]) -> Any:
        if table.suffix.lower() in PARQUET_SUFFIXES:
            return self._read_parquet(table, wanted)
        return self._stage(table, lambda target: stage_delimited(table, target, wanted))

    def note_read(self, path: Path) -> None:
        """Remember that a file is read, and say so."""
        self.files.append(path)
        self.say(f"reading {path.name}")

    def _stage(self, path: Path, stage: Callable[[Path], Staged]) -> Any:
        self.note_read(path)
        target = self.workspace / f"{len(self.staged)}-{path.name}.parquet"
        self.staged[path] = stage(target)
        return self.engine.read_parquet(target)

    def _read_parquet(self, path: Path, wanted: list[str]) -> Any:
        self.files.append(path)
        table = self._parquet(path)
        names = {name.lower(): name for name in table.columns}
        columns = {name: self.as_written(path, name, table[names[name]]) for name in wanted}
        rows = self.engine.value(table.count())
        self.staged[path] = Staged(records=rows, lines=rows)
        return table.select(**{LINE: table[FILE_ROW] + 1}, **columns)

    def _parquet(self, path: Path) -> Any:
        try:
            columns = pq.read_metadata(path).num_columns
            if columns <= MOST_COLUMNS:
                return self.engine.read_numbered_parquet(path)
        except Exception:  # each engine raises types of its own; here they all mean the same
            raise CohortError(f"{path.name} cannot be read as Parquet; the file may be damaged.") from None
        raise CohortError(
            f"{path.name} has {columns:,} columns, more than the {MOST_COLUMNS:,} that a table may have."
        )


def files_of(tables: Tables) -> FileTables:
    """The tables as files, for a source that is nothing else."""
    if not isinstance(tables, FileTables):
        raise CohortError("This source is files, which only the engines duckdb and spark can read.")
    return tables


def _stem(path: Path) -> str:
    """The name of the table in a file: the file's name in lower case without its ending; empty for other files."""
    name = path.name.lower()
    for suffix in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES):
        if name.endswith(suffix) and path.is_file():
            return name.removesuffix(suffix)
    return ""
