"""Delimited and fixed-width text files, read as text from the first byte and staged as Parquet with line numbers.

A record is one physical line, and we cut the lines ourselves. A line with an unclosed quotation mark, a stray line end
or the wrong number of fields is set aside with its number, and cannot swallow the lines after it. pyarrow's fast parser
gets a block only if no quoted field runs over a line end; any other block is parsed line by line.

    lines of the file = header + records + malformed + blank            (checked)
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from dx2px.cohort.text_lines import TextLines
from dx2px.errors import CohortError
from dx2px.words import counted

LINE = "line"
DELIMITERS = ",\t;|"
QUOTE, NEWLINE = ord('"'), ord("\n")
STRAY_LINE_END = "the line ends differently from the rest of the file, or has a stray line end in it"


@dataclass(frozen=True)
class Malformed:
    """A line that cannot be read as a record, and why. Its content is not kept."""

    line: int
    reason: str


@dataclass
class Staged:
    """What happened to the lines of a text file; its records are in the Parquet file it was staged to."""

    records: int = 0
    blank: int = 0
    header: int = 0
    lines: int = 0
    ended: bool = True  # whether the last line had a line end
    encoding: str = "UTF-8"
    western: int = 0  # lines that are not UTF-8 and were read as Windows-1252
    delimiter: str | None = None  # that was found in the first line
    malformed: list[Malformed] = field(default_factory=list)

    def finish(self, source: TextLines) -> None:
        """Note what the reading found; every line must be accounted for."""
        self.ended, self.encoding, self.western = source.ended, source.encoding, source.western
        known = self.header + self.records + len(self.malformed) + self.blank
        if known != self.lines:
            raise CohortError(
                f"{source.path.name}: {self.lines} lines were read, but only {known} are accounted for."
            )


@dataclass(frozen=True)
class Header:
    """The first line of a delimited file: its delimiter and its column names in lower case."""

    delimiter: str
    columns: tuple[str, ...]


def read_header(path: Path) -> Header:
    """Find the delimiter and the column names. No message quotes the line: in a file without header it is a record."""
    first = TextLines(path).first()
    if first is None:
        raise CohortError(f"{path.name} is empty: it has no header line.")
    delimiter = max(DELIMITERS, key=lambda sign: len(_fields(first, sign) or ()))
    fields = _fields(first, delimiter)
    columns = tuple(name.strip().lower() for name in fields or ())
    problem = _header_problem(first, columns)
    if problem:
        raise CohortError(f"{path.name}: the first line should name the columns, but {problem}.")
    return Header(delimiter, columns)


def _header_problem(first: str, columns: tuple[str, ...]) -> str | None:
    repeated = sum(n > 1 for name, n in Counter(columns).items() if name)
    problems = {
        "it is not text (the file may be UTF-16 or a spreadsheet)": "\0" in first,
        "it has a stray line end": "\r" in first,
        "a quotation mark in it is never closed": not columns,
        f"{counted(repeated, 'name is', 'names are')} used more than once": repeated > 0,
    }
    return next((problem for problem, found in problems.items() if found), None)


def stage_delimited(path: Path, target: Path, columns: Sequence[str] | None = None) -> Staged:
    """Stage the given columns (by default all) of a delimited file as text, with the line number in front."""
    header = read_header(path)
    wanted = list(columns or header.columns)
    parser = _DelimitedBlock(header, wanted)
    staged = _stage(path, target, wanted, parser, header_lines=1)
    staged.delimiter = header.delimiter
    return staged


def stage_fixed_width(path: Path, target: Path, width: int, columns: dict[str, slice]) -> Staged:
    """Stage slices of a fixed-width file as text, with the line number in front; trailing blanks are kept."""

    def parse(line: str) -> list[str] | str:
        if len(line) != width:
            return f"the line has {len(line)} characters instead of {width}"
        return [line[part] for part in columns.values()]

    return _stage(path, target, list(columns), _LineByLine(list(columns), parse), header_lines=0)


@dataclass(frozen=True)
class _Parsed:
    """One block of lines: its records, its malformed lines, and the number of blank ones."""

    table: pa.Table
    malformed: list[Malformed]
    blank: int


BlockParser = Callable[[bytes, int], _Parsed]
LineParser = Callable[[str], "list[str] | str"]  # the wanted fields, or what is wrong with the line


def _stage(path: Path, target: Path, columns: list[str], parse: BlockParser, header_lines: int) -> Staged:
    staged = Staged(header=header_lines)
    schema = pa.schema([(LINE, pa.int64()), *((name, pa.string()) for name in columns)])
    source = TextLines(path)
    with pq.ParquetWriter(target, schema, compression="lz4") as writer:
        skip = header_lines
        for text in source.blocks():
            if skip:
                text = text.split(b"\n", 1)[1]
                staged.lines, skip = skip, 0
            lines = text.count(b"\n") + text.count(b"\r")
            if not lines:
                continue
            parsed = parse(text, staged.lines + 1)
            writer.write_table(parsed.table.cast(schema))
            staged.records += parsed.table.num_rows
            staged.malformed += parsed.malformed
            staged.blank += parsed.blank
            staged.lines += lines
    staged.finish(source)
    return staged


class _DelimitedBlock:
    """Parses a block of delimited lines: with pyarrow if it cannot but cut them as we do, else line by line."""

    def __init__(self, header: Header, columns: list[str]) -> None:
        self.header, self.columns = header, columns
        place = {name: number for number, name in enumerate(header.columns)}
        self.places = [place[name] for name in columns]
        self.slow = _LineByLine(columns, self._parse)

    def __call__(self, text: bytes, first_line: int) -> _Parsed:
        lines = text.count(b"\n")
        table = self._fast(text) if _is_plainly_quoted(text, self.header.delimiter) else None
        if table is None or table.num_rows != lines:  # another number of rows means a blank line
            return self.slow(text, first_line)
        numbers = pa.array(np.arange(first_line, first_line + lines))
        return _Parsed(table.add_column(0, LINE, numbers), [], blank=0)

    def _fast(self, text: bytes) -> pa.Table | None:
        try:
            return pacsv.read_csv(
                pa.BufferReader(text),
                read_options=pacsv.ReadOptions(column_names=_unique(self.header.columns)),
                parse_options=pacsv.ParseOptions(delimiter=self.header.delimiter, quote_char='"'),
                convert_options=pacsv.ConvertOptions(
                    column_types={name: pa.string() for name in self.columns},
                    include_columns=self.columns,
                    strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None

    def _parse(self, line: str) -> list[str] | str:
        width = len(self.header.columns)
        fields = _fields(line, self.header.delimiter)
        if fields is None:
            return "a quotation mark on this line is not closed or stands in the wrong place"
        if len(fields) < width or any(fields[width:]):  # empty fields beyond the header do no harm
            return f"the line has {len(fields)} fields, but the header has {width}"
        return [fields[place] for place in self.places]


class _LineByLine:
    """Turns the lines that a parser accepts into a table, and lists the numbers of the others."""

    def __init__(self, columns: list[str], parse: LineParser) -> None:
        self.columns, self.parse = columns, parse

    def __call__(self, text: bytes, first_line: int) -> _Parsed:
        numbers: list[int] = []
        rows: list[list[str]] = []
        malformed: list[Malformed] = []
        blank = 0
        for number, line, is_whole in numbered_lines(text, first_line):
            if not line.strip(" "):
                blank += 1
                continue
            parsed = self.parse(line) if is_whole else STRAY_LINE_END
            if isinstance(parsed, str):
                malformed.append(Malformed(number, parsed))
            else:
                numbers.append(number)
                rows.append(parsed)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = [pa.array(numbers, pa.int64()), *(pa.array(values, pa.string()) for values in columns)]
        table = pa.table(dict(zip([LINE, *self.columns], arrays, strict=True)))
        return _Parsed(table, malformed, blank)


def numbered_lines(text: bytes, first_line: int) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number; of a line with stray line ends, each part counts as one that is not whole."""
    number = first_line
    for line in text.decode("utf-8").split("\n")[:-1]:
        parts = line.split("\r")
        for part in parts:
            yield number, part, len(parts) == 1
            number += 1


def _is_plainly_quoted(text: bytes, delimiter: str) -> bool:
    """Whether every quoted field begins and ends at the edges of a field of one line, and no line end is stray.

    Then quotation marks cannot hide a line end from any parser.
    """
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == QUOTE)
    if b"\r" in text or len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    edges = (ord(delimiter), NEWLINE)
    # The text ends with \n, so the byte "before" its first one and the byte after any closing mark exist.
    if not (np.isin(data[opening - 1], edges).all() and np.isin(data[closing + 1], edges).all()):
        return False
    ends = np.flatnonzero(data == NEWLINE)
    return bool((np.searchsorted(ends, opening) == np.searchsorted(ends, closing)).all())


def _fields(line: str, delimiter: str) -> list[str] | None:
    """The fields of one line, or None if it has a quotation mark that is not closed or in the wrong place."""
    if '"' not in line:
        return line.split(delimiter)
    if line.count('"') % 2:  # a mark within an unquoted field may close a field of the line before
        return None
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [""])
    except csv.Error:
        return None


def _unique(columns: Sequence[str]) -> list[str]:
    """A name for every column, as the parser needs: a spreadsheet's trailing commas make unnamed ones."""
    return [name or f"unnamed {place}" for place, name in enumerate(columns)]
