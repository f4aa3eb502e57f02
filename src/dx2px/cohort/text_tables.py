"""Delimited and fixed-width text files, read as text from the first byte and staged as Parquet with line numbers.

A record is one physical line. A line with an unclosed quotation mark or the wrong number of fields is set aside with
its number, and cannot swallow the lines after it. Blocks of well-formed lines take a fast path (pyarrow's parser);
a block where that gives fewer or more rows than there are lines is parsed again, line by line.

    lines of the file = header + records + malformed + blank            (checked)
"""

from __future__ import annotations

import bz2
import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from dx2px.errors import CohortError

LINE = "line"
BLOCK_BYTES = 16 << 20
HEADER_BYTES = 1 << 16
DELIMITERS = ",\t;|"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


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
    malformed: list[Malformed] = field(default_factory=list)

    def check(self, path: Path) -> None:
        """Every line is accounted for."""
        known = self.header + self.records + len(self.malformed) + self.blank
        if known != self.lines:
            raise CohortError(
                f"{path.name}: {self.lines} lines were read, but only {known} are accounted for."
            )


@dataclass(frozen=True)
class Header:
    """The first line of a delimited file: its delimiter and its column names in lower case."""

    delimiter: str
    columns: tuple[str, ...]


def read_header(path: Path) -> Header:
    """Find the delimiter and the column names."""
    for block in _blocks(path, HEADER_BYTES):
        first = _utf8(block).split(b"\n", 1)[0].decode("utf-8")
        delimiter = max(DELIMITERS, key=first.count)
        fields = _fields(first, delimiter)
        if fields is None:
            raise CohortError(
                f"{path.name}: the first line should name the columns, but a quotation mark in it is never closed."
            )
        columns = tuple(name.strip().lower() for name in fields)
        repeated = sorted({name for name in columns if name and columns.count(name) > 1})
        if repeated:
            raise CohortError(f"{path.name}: the header has the column {', '.join(repeated)} more than once.")
        return Header(delimiter, columns)
    raise CohortError(f"{path.name} is empty: it has no header line.")


def stage_delimited(path: Path, target: Path, columns: Sequence[str] | None = None) -> Staged:
    """Stage the given columns (by default all) of a delimited file as text, with the line number in front."""
    header = read_header(path)
    wanted = list(columns or header.columns)
    parser = _DelimitedBlock(header, wanted)
    return _stage(path, target, wanted, parser, header_lines=1)


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
    with pq.ParquetWriter(target, schema, compression="lz4") as writer:
        skip = header_lines
        for block in _blocks(path):
            text = _utf8(block)
            if skip:
                text = text.split(b"\n", 1)[1]
                staged.lines, skip = skip, 0
            lines = text.count(b"\n")
            if not lines:
                continue
            parsed = parse(text, staged.lines + 1)
            writer.write_table(parsed.table.cast(schema))
            staged.records += parsed.table.num_rows
            staged.malformed += parsed.malformed
            staged.blank += parsed.blank
            staged.lines += lines
    staged.check(path)
    return staged


class _DelimitedBlock:
    """Parses a block of delimited lines: with pyarrow if every line is a row, else line by line."""

    def __init__(self, header: Header, columns: list[str]) -> None:
        self.header, self.columns = header, columns
        self.places = [header.columns.index(name) for name in columns]
        self.slow = _LineByLine(columns, self._parse)

    def __call__(self, text: bytes, first_line: int) -> _Parsed:
        lines = text.count(b"\n")
        table = self._fast(text)
        # Another number of rows means a blank line, or a quoted field that runs over a line end.
        if table is None or table.num_rows != lines:
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
            return "a quotation mark is not closed on this line"
        if len(fields) < width or any(fields[width:]):  # empty fields beyond the header do no harm
            return f"the line has {len(fields)} fields, but the header has {width}"
        return [fields[place] for place in self.places]


class _LineByLine:
    """Turns the lines that a parser accepts into a table, and lists the numbers of the others."""

    def __init__(self, columns: list[str], parse: LineParser) -> None:
        self.columns, self.parse = columns, parse

    def __call__(self, text: bytes, first_line: int) -> _Parsed:
        lines = text.decode("utf-8").split("\n")[:-1]
        numbers: list[int] = []
        rows: list[list[str]] = []
        malformed: list[Malformed] = []
        for number, line in enumerate(lines, first_line):
            if not line.strip():
                continue
            parsed = self.parse(line)
            if isinstance(parsed, str):
                malformed.append(Malformed(number, parsed))
            else:
                numbers.append(number)
                rows.append(parsed)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.columns)
        arrays = [pa.array(numbers, pa.int64()), *(pa.array(values, pa.string()) for values in columns)]
        table = pa.table(dict(zip([LINE, *self.columns], arrays, strict=True)))
        return _Parsed(table, malformed, blank=sum(not line.strip() for line in lines))


def _fields(line: str, delimiter: str) -> list[str] | None:
    """The fields of one line, or None if a quotation mark is not closed."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [""])
    except csv.Error:
        return None


def _unique(columns: Sequence[str]) -> list[str]:
    """A name for every column, as the parser needs: a spreadsheet's trailing commas make unnamed ones."""
    return [name or f"unnamed {place}" for place, name in enumerate(columns)]


def _utf8(block: bytes) -> bytes:
    """The block with line ends as `\\n` and text as UTF-8; a block that is not valid UTF-8 is read as Latin-1."""
    block = block.replace(b"\r\n", b"\n")
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return block.decode("latin-1").encode("utf-8")
    return block


def _blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """The file's bytes, decompressed, in blocks of whole lines; a missing last line end is added."""
    rest = b""
    first = True
    try:
        with _open(path) as stream:
            while chunk := stream.read(size):
                if first:
                    chunk, first = _without_mark(path, chunk), False
                whole, newline, tail = (rest + chunk).rpartition(b"\n")
                rest = tail
                if newline:
                    yield whole + newline
    except FileNotFoundError:
        raise CohortError(f"There is no file {path}.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CohortError(
            f"{path.name} cannot be decompressed: the file is incomplete or damaged."
        ) from error
    except OSError as error:
        reason = error.strerror or "its compressed data is damaged"
        raise CohortError(f"{path.name} cannot be read: {reason}.") from error
    if rest:
        yield rest + b"\n"


def _without_mark(path: Path, chunk: bytes) -> bytes:
    if chunk.startswith(UTF16_BOMS):
        raise CohortError(
            f"{path.name} is UTF-16 text; save it as UTF-8 (in a spreadsheet program: 'CSV UTF-8')."
        )
    return chunk.removeprefix(UTF8_BOM)


def _open(path: Path) -> BufferedIOBase:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    return path.open("rb")
