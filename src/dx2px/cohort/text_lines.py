"""The lines of a text file, plain or compressed, in blocks of whole lines: as UTF-8, every line ending with `\\n`.

A file's lines end with `\\n`, `\\r\\n` or, if it has no `\\n` near its beginning, with `\\r`. The other character
within a line is stray: it is kept as `\\r`, so that the reader can set the line aside instead of cutting a record.

Text is UTF-8 or UTF-16, by its byte order mark or by the zero bytes between its letters. A line that is not valid UTF-8
is read as Windows-1252, and counted.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import itertools
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from dx2px.errors import CohortError

BLOCK_BYTES = 16 << 20
FIRST_BYTES = 1 << 16  # what is read to find the line end; more if the first line is longer
LONGEST_LINE = 16 << 20
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
WIDE_SHARE = 0.4  # of the letters of a text in UTF-16, at least so many are ASCII
_SWAPPED = bytes.maketrans(b"\r\n", b"\n\r")


class TextLines:
    """The lines of one file. After reading, the other attributes say what was found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ended = True  # whether the last line had a line end
        self.encoding = "UTF-8"
        self.western = 0  # lines that were read as Windows-1252

    def first(self) -> str | None:
        """The first line without its end, or None if the file is empty."""
        for block in self.blocks():
            return block.split(b"\n", 1)[0].decode("utf-8")
        return None

    def blocks(self) -> Iterator[bytes]:
        """All lines; a missing last line end is added."""
        rest = b""
        for chunk in self._chunks():
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield self._normal(whole + newline)
            if len(rest) > LONGEST_LINE:
                raise CohortError(
                    f"{self.path.name} has a line of more than {LONGEST_LINE >> 20} MB, so it is not a text table."
                )
        self.ended = not rest
        if rest:
            yield self._normal(rest + b"\n")

    def _chunks(self) -> Iterator[bytes]:
        """The file's bytes, decompressed, with line ends as `\\n` or `\\r\\n`."""
        try:
            with _open(self.path) as stream:
                chunks = self._decoded(stream)
                beginning = self._beginning(chunks)
                swap = b"\n" not in beginning and b"\r" in beginning
                for chunk in itertools.chain([beginning], chunks):
                    yield chunk.translate(_SWAPPED) if swap else chunk
        except FileNotFoundError:
            raise CohortError(f"There is no file {self.path}.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise CohortError(
                f"{self.path.name} cannot be decompressed: the file is incomplete or damaged."
            ) from None
        except OSError as error:
            reason = error.strerror or "its compressed data is damaged"
            raise CohortError(f"{self.path.name} cannot be read: {reason}.") from None

    def _decoded(self, stream: BufferedIOBase) -> Iterator[bytes]:
        """The bytes without a byte order mark; UTF-16 as UTF-8."""
        chunk = stream.read(FIRST_BYTES)
        wide = _utf16_of(chunk)
        if wide is None:
            chunk = chunk.removeprefix(UTF8_BOM)
        else:
            self.encoding = "UTF-16"
            chunk = chunk[2:] if chunk[:2] in UTF16_BOMS else chunk
        decoder = None if wide is None else codecs.getincrementaldecoder(wide)(errors="replace")
        while chunk:
            yield chunk if decoder is None else decoder.decode(chunk).encode()
            chunk = stream.read(BLOCK_BYTES)
        if decoder is not None:
            yield decoder.decode(
                b"", final=True
            ).encode()  # half a letter at the end of a file that was cut off

    def _beginning(self, chunks: Iterator[bytes]) -> bytes:
        """The first bytes, with at least one line end if the file has any."""
        beginning = b""
        for chunk in chunks:
            beginning += chunk
            if len(beginning) > LONGEST_LINE or b"\n" in beginning or b"\r" in beginning[:-1]:
                break
        return beginning

    def _normal(self, block: bytes) -> bytes:
        """The block without `\\r` before `\\n`, and as UTF-8."""
        while b"\r\n" in block:  # some transfers double the \r
            block = block.replace(b"\r\n", b"\n")
        if _is_utf8(block):
            return block
        lines = block.split(b"\n")
        other = [number for number, line in enumerate(lines) if not _is_utf8(line)]
        self.western += len(other)
        for number in other:
            lines[number] = _western(lines[number]).encode()
        return b"\n".join(lines)


def _utf16_of(beginning: bytes) -> str | None:
    """The name of the UTF-16 that a text begins in, or None. No other text has zero bytes."""
    marked = UTF16_BOMS.get(beginning[:2])
    if marked is not None:
        return marked
    halves = {"utf-16-be": beginning[0::2], "utf-16-le": beginning[1::2]}
    zeros = {name: half.count(0) for name, half in halves.items()}
    name = max(zeros, key=lambda name: zeros[name])
    return name if zeros[name] > WIDE_SHARE * len(halves[name]) and min(zeros.values()) == 0 else None


def _western(line: bytes) -> str:
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError:  # five bytes mean nothing there
        return line.decode("latin-1")


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _open(path: Path) -> BufferedIOBase:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    return path.open("rb")
