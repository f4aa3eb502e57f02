"""Generated parts of a document: what stands between two markers is replaced, the rest is kept.

<!-- made: NAME -->
…
<!-- end: NAME -->
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dx2px.errors import InputError

_BLOCK = re.compile(r"<!-- made: (?P<name>[^\n]+?) -->\n(?P<body>.*?)<!-- end: (?P=name) -->", re.DOTALL)


def blocks_of(document: str) -> dict[str, str]:
    """The text of each block of a document."""
    return {found["name"]: found["body"] for found in _BLOCK.finditer(document)}


def with_blocks(document: str, made: Mapping[str, str]) -> str:
    """The document with every block regenerated. A block that nothing generates is an error: it would get stale."""
    unknown = sorted(blocks_of(document).keys() - made.keys())
    if unknown or document.count("<!-- made:") != len(blocks_of(document)):
        raise InputError(
            f"Nothing generates these blocks, or one is not closed: {', '.join(unknown) or 'unclosed'}."
        )

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- made: {name} -->\n{made[name].rstrip()}\n<!-- end: {name} -->"

    return _BLOCK.sub(block, document)
