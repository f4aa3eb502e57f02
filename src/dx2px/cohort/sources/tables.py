"""The tables of a folder or file, by name in any case, as Ibis tables of text columns with line numbers."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import ibis

from dx2px.cohort.text_tables import LINE, Staged, read_header, stage_delimited, stage_fixed_width
from dx2px.errors import CohortError

TEXT_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".tsv", ".tsv.gz", ".txt", ".txt.gz", ".txt.bz2")
PARQUET_SUFFIXES = (".parquet",)
FILE_ROW = "file_row_number"  # a column that DuckDB adds when asked


def value_of(expression: Any) -> Any:
    """The value of a scalar expression; by Arrow, since Ibis' own default would import pandas."""
    return expression.to_pyarrow().as_py()


class Tables:
    """Finds the files below `root`, stages text files in `workspace`, reads them through one DuckDB connection."""

    def __init__(
        self,
        root: Path,
        connection: Any,
        workspace: Path,
        say: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.root, self.connection, self.workspace, self.say = root, connection, workspace, say
        self.staged: dict[str, Staged] = {}
        self.numeric: set[tuple[str, str]] = set()  # (file, column) stored as numbers
        if not root.exists():
            raise CohortError(f"There is no file or folder {root}.")

    def find(self, name: str) -> Path | None:
        """The file of the table `name` in the folder, whatever its case and its ending."""
        self._need_folder()
        found = [path for path in sorted(self.root.iterdir()) if _stem(path) == name.lower()]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise CohortError(f"{self.root} holds {names}, which are the same table: keep one of them.")
        return found[0] if found else None

    def need(self, *names: str) -> list[Path]:
        """The files of all these tables; what is missing is named together."""
        paths = {name: self.find(name) for name in names}
        missing = [name for name, path in paths.items() if path is None]
        if missing:
            raise CohortError(
                f"{self.root} has no {' and no '.join(missing)} table (as .csv, .csv.gz or .parquet)."
            )
        return [path for path in paths.values() if path is not None]

    def files(self, pattern: str) -> list[Path]:
        """The table files of the folder whose name matches, or the one file that `root` is."""
        if self.root.is_file():
            return [self.root]
        wanted = pattern.lower()
        found = [path for path in sorted(self.root.iterdir()) if fnmatch.fnmatchcase(_stem(path), wanted)]
        if not found:
            raise CohortError(f"{self.root} holds no file named like {pattern}.")
        return found

    def columns(self, path: Path) -> dict[str, Any]:
        """Column names in lower case, with their Ibis type (text for text files)."""
        if path.suffix.lower() in PARQUET_SUFFIXES:
            schema = self._parquet(path).schema()
            return {name.lower(): kind for name, kind in schema.items() if name != FILE_ROW}
        return dict.fromkeys(read_header(path).columns, ibis.dtype("string"))

    def read(self, path: Path, required: Sequence[str], optional: Iterable[str] = ()) -> Any:
        """The table with a `line` column, the required columns and those optional ones that it has."""
        have = self.columns(path)
        missing = [name for name in required if name not in have]
        if missing:
            raise CohortError(
                f"{path.name} lacks the column(s) {', '.join(missing)}; it has {', '.join(have)}."
            )
        wanted = [*required, *(name for name in optional if name in have and name not in required)]
        if path.suffix.lower() in PARQUET_SUFFIXES:
            return self._read_parquet(path, wanted)
        self.say(f"reading {path.name}")
        target = self._target(path)
        self.staged[path.name] = stage_delimited(path, target, wanted)
        return self.connection.read_parquet(target)

    def read_fixed_width(self, path: Path, width: int, columns: dict[str, slice]) -> Any:
        """The slices of a fixed-width file as columns."""
        self.say(f"reading {path.name}")
        target = self._target(path)
        self.staged[path.name] = stage_fixed_width(path, target, width, columns)
        return self.connection.read_parquet(target)

    def _read_parquet(self, path: Path, wanted: list[str]) -> Any:
        table = self._parquet(path)
        names = {name.lower(): name for name in table.columns}
        columns = {}
        for name in wanted:
            column = table[names[name]]
            if column.type().is_numeric():
                self.numeric.add((path.name, name))
                # A whole number stored as a float must not become '142345.0'.
                column = column.cast("int64") if self._is_whole(column) else column
            columns[name] = column if column.type().is_array() else column.cast("string")
        rows = value_of(table.count())
        self.staged[path.name] = Staged(records=rows, lines=rows)
        return table.select(**{LINE: table[FILE_ROW] + 1}, **columns)

    def _is_whole(self, column: Any) -> bool:
        if column.type().is_integer():
            return True
        return bool(value_of((column.isnull() | (column == column.round())).all()))

    def _parquet(self, path: Path) -> Any:
        try:
            return self.connection.read_parquet(path, file_row_number=True)
        except Exception as error:  # DuckDB's own exception types differ by cause; all mean the same here
            raise CohortError(f"{path.name} cannot be read as Parquet.") from error

    def _target(self, path: Path) -> Path:
        return self.workspace / f"{len(self.staged)}-{path.name}.parquet"

    def _need_folder(self) -> None:
        if not self.root.is_dir():
            raise CohortError(f"{self.root} is not a folder; this source needs the folder of its tables.")


def _stem(path: Path) -> str:
    """The table that a file holds: its name in lower case without its ending; empty for other files."""
    name = path.name.lower()
    for suffix in (*TEXT_SUFFIXES, *PARQUET_SUFFIXES):
        if name.endswith(suffix) and path.is_file():
            return name.removesuffix(suffix)
    return ""
