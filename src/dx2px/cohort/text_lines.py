"""The lines of a text file, plain or compressed, in blocks of whole lines: as UTF-8, every line ending with `\\n`.

A file's lines end with `\\n`, `\\r\\n` or, if it has no `\\n` near its beginning, with `\\r`. The other character
within a line is stray: it is kept as `\\r`, so that the reader can set the line aside instead of cutting a record.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from dx2px.errors import CohortError

BLOCK_BYTES = 16 << 20
FIRST_BYTES = 1 << 16  # what is read to find the line end; more if the first line is longer
LONGEST_LINE = 16 << 20
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_SWAPPED = bytes.maketrans(b"\r\n", b"\n\r")


class TextLines:
    """The lines of one file. After reading, `ended` says whether the last one had a line end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ended = True

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
                yield _normal(whole + newline)
            if len(rest) > LONGEST_LINE:
                raise CohortError(
                    f"{self.path.name} has a line of more than {LONGEST_LINE >> 20} MB, so it is not a text table."
                )
        self.ended = not rest
        if rest:
            yield _normal(rest + b"\n")

    def _chunks(self) -> Iterator[bytes]:
        """The file's bytes, decompressed, with line ends as `\\n` or `\\r\\n`."""
        try:
            with _open(self.path) as stream:
                beginning = self._beginning(stream)
                swap = b"\n" not in beginning and b"\r" in beginning
                chunk = beginning
                while chunk:
                    yield chunk.translate(_SWAPPED) if swap else chunk
                    chunk = stream.read(BLOCK_BYTES)
        except FileNotFoundError:
            raise CohortError(f"There is no file {self.path}.") from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise CohortError(
                f"{self.path.name} cannot be decompressed: the file is incomplete or damaged."
            ) from None
        except OSError as error:
            reason = error.strerror or "its compressed data is damaged"
            raise CohortError(f"{self.path.name} cannot be read: {reason}.") from None

    def _beginning(self, stream: BufferedIOBase) -> bytes:
        """The first bytes, with at least one line end if the file has any, without a byte order mark."""
        beginning = stream.read(FIRST_BYTES)
        if beginning.startswith(UTF16_BOMS):
            raise CohortError(
                f"{self.path.name} is UTF-16 text; save it as UTF-8 (in a spreadsheet program: 'CSV UTF-8')."
            )
        while len(beginning) <= LONGEST_LINE and not (b"\n" in beginning or b"\r" in beginning[:-1]):
            more = stream.read(FIRST_BYTES)
            if not more:
                break
            beginning += more
        return beginning.removeprefix(UTF8_BOM)


def _normal(block: bytes) -> bytes:
    """The block without `\\r` before `\\n`, and as UTF-8: a line that is not valid UTF-8 is read as Latin-1."""
    while b"\r\n" in block:  # some transfers double the \r
        block = block.replace(b"\r\n", b"\n")
    if _is_utf8(block):
        return block
    lines = block.split(b"\n")
    return b"\n".join(line if _is_utf8(line) else line.decode("latin-1").encode("utf-8") for line in lines)


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
