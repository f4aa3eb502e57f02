"""Numbers in sentences, and titles where there is little room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 stay`, `1,200 stays`; the plural ends in s unless it is given."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def called(value: object) -> str:
    """What a value that should be text is called in a sentence: `a number`, `a list`, `None`."""
    if value is None:
        return "None"
    if isinstance(value, Real):
        return "a number"
    return "bytes" if isinstance(value, bytes) else f"a {type(value).__name__}"


def shortened(text: str, longest: int, others: Iterable[str] = ()) -> str:
    """A title in at most so many characters: its beginning, an ellipsis, and what tells it from the others.

    Titles often share a long opening and differ at the end, so that cut ends would make two codes look the same.

    Args:
        text: The title.
        longest: The most characters.
        others: The titles beside it; those that are the same text have no say.
    """
    if len(text) <= longest:
        return text
    words, room = text.split(" "), longest - 1
    apart = max((_shared(words, other.split(" ")) for other in others if other != text), default=0)
    first = max(room // 3, min(len(words[0]) + 1, room // 2))  # of the room, for the beginning
    tail = _opening(words[apart:], room - first) if 0 < apart < len(words) else _ending(words, 2 * room // 5)
    whole = text.endswith(tail)
    head = _opening(words, room - len(tail) - (not whole))
    if not head or not tail:  # a single word that is longer than the room
        return f"{text[: room - room // 2]}…{text[len(text) - room // 2 :]}"
    if not whole and len(head.split(" ")) >= apart:  # nothing is missing between the two
        return f"{_opening(words, room)}…"
    return f"{head.rstrip(' ,;:(')}…{tail}{'' if whole else '…'}"


def _shared(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words two texts open with alike."""
    return next(
        (k for k, (a, b) in enumerate(zip(words, others, strict=False)) if a != b),
        min(len(words), len(others)),
    )


def _opening(words: Sequence[str], room: int) -> str:
    """As many of the first words as fit."""
    taken = ""
    for word in words:
        longer = f"{taken} {word}" if taken else word
        if len(longer) > room:
            break
        taken = longer
    return taken


def _ending(words: Sequence[str], room: int) -> str:
    """As many of the last words as fit."""
    return _opening([word[::-1] for word in reversed(words)], room)[::-1]
