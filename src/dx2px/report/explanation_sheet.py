"""The layout of an explanation's figure: a sheet in inches, as large as its texts need, and its colours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dx2px.answers import Explanation
from dx2px.answers.results import SCOPE
from dx2px.report.explanation_words import (
    Row,
    drawn_and_folded,
    folded_words,
    names_of,
    remarks,
    subtitle,
)
from dx2px.words import shortened

SIZE, SMALL, LARGE = 8.5, 7.5, 13.0  # points
MARGIN, GAP, BAR = 0.25, 0.14, 1.25  # inches, as all lengths below
ROW, LINE = 0.255, 0.155  # height of a diagnosis and of a line of small print
APART = 0.36  # between the diagnoses and other evidence: room for its heading
WIDE, NARROW = 0.52, 0.27  # width of a procedure with and without numbers in its cells
FEW = 14  # procedures up to which cells carry numbers
LONGEST_TITLE, LONGEST_NOTE, LONGEST_HEAD = 62, 70, 44
SLANT = 45  # degrees


@dataclass(frozen=True)
class Hue:
    """Heat runs from the sheet's colour to the strongest, so that lightness alone shows it."""

    bar: str
    rest: str  # the part of a bar that goes elsewhere
    heat: tuple[str, ...]


@dataclass(frozen=True)
class Theme:
    """Colours. Diagnoses have one hue and other evidence another, both with the same steps of lightness."""

    sheet: str
    ink: str
    muted: str
    diagnoses: Hue
    others: Hue

    def hue(self, other: bool) -> Hue:
        """The colours of other evidence, or of diagnoses."""
        return self.others if other else self.diagnoses


THEMES: dict[str, Theme] = {
    "light": Theme(
        *("#ffffff", "#17212b", "#4f5d6a"),
        Hue("#0f5c66", "#b5d2d5", ("#f1f4f5", "#d6e8ea", "#a5ced3", "#5fa7af", "#1d7480", "#0b4a53")),
        Hue("#6a4391", "#d5c9e2", ("#f4f3f6", "#e9e2f1", "#d0c0e2", "#ab90c9", "#7d55a5", "#54307a")),
    ),
    "dark": Theme(
        *("#181f26", "#e9eef3", "#a9b6c2"),
        Hue("#6cc6cf", "#2c5359", ("#212b33", "#20393e", "#23565d", "#2f7f88", "#69bec7", "#c4f1f5")),
        Hue("#c3a3e6", "#524367", ("#29272f", "#372f44", "#553f70", "#8061a6", "#bd9fe0", "#efe3fb")),
    ),
}


@dataclass(frozen=True)
class Sheet:
    """The texts and their places: x of titles, bars and cells; y of the first row."""

    rows: list[Row]
    folded: str  # the evidence that is not drawn, in one line
    heads: list[tuple[str, str]]
    heading: list[str]  # what this is
    prose: list[str]
    scope: list[str]
    titles: float
    bars: float
    cells: float
    top: float
    cell: float
    width: float
    height: float

    @classmethod
    def of(cls, explanation: Explanation) -> Sheet:
        drawn, below = drawn_and_folded(explanation)
        rows = [_fitted(row, [other.title for other in drawn]) for row in drawn]
        known = [p for p in explanation.procedures if p.status == "known"]
        names = names_of(explanation)
        titles_above = [p.title for p in known]
        heads = [(names.write(p.code), shortened(p.title, LONGEST_HEAD, titles_above)) for p in known]
        titles, bars, cells = _columns(rows)
        cell = WIDE if len(heads) <= FEW else NARROW
        room = cells - MARGIN - GAP
        heading = wrapped(subtitle(explanation), room, SIZE)
        prose = [line for text in remarks(explanation) for line in wrapped(text, room, SIZE)]
        reach = _reach(heads)
        top = MARGIN + max(0.62 + LINE * (len(heading) + len(prose)), reach + 0.3) + 0.42
        width = cells + cell * len(heads) + max(reach - cell / 2, 0) + MARGIN + 0.1
        scope = wrapped(SCOPE, width - 2 * MARGIN)
        folded = shortened(folded_words(below), LONGEST_TITLE + LONGEST_NOTE) if below else ""
        sheet = cls(rows, folded, heads, heading, prose, scope, titles, bars, cells, top, cell, width, 0.0)
        return replace(sheet, height=sheet.bottom + 0.95 + LINE * len(scope))

    @property
    def used(self) -> int:
        """Number of diagnoses."""
        return sum(not row.other for row in self.rows)

    @property
    def others(self) -> bool:
        """Whether there is other evidence."""
        return bool(self.folded) or self.used < len(self.rows)

    @property
    def apart(self) -> float:
        """Where the rows of other evidence begin."""
        return self.top + ROW * self.used + (APART if self.others else 0)

    def middle(self, place: int) -> float:
        """The y of a row's middle."""
        start, above = (self.top, 0) if place < self.used else (self.apart, self.used)
        return start + ROW * (place - above + 0.5)

    @property
    def bottom(self) -> float:
        return self.apart + ROW * (len(self.rows) - self.used + bool(self.folded))


def _fitted(row: Row, titles: list[str]) -> Row:
    longest = max(LONGEST_TITLE - round(0.7 * len(row.note)), 26)
    return replace(row, title=shortened(row.title, longest, titles), note=shortened(row.note, LONGEST_NOTE))


def _row_width(row: Row) -> float:
    return inches(row.title, SIZE) + (0.1 + inches(row.note, SMALL) if row.note else 0)


def _columns(rows: list[Row]) -> tuple[float, float, float]:
    """Where titles, bars and cells begin."""
    titles = MARGIN + max(inches(row.code, SIZE, True) for row in rows) + GAP
    bars = max(titles + max(_row_width(row) for row in rows) + GAP, MARGIN + 3.6)  # room for the prose
    return titles, bars, bars + BAR + inches("100 %", SMALL) + 2 * GAP


def _reach(heads: list[tuple[str, str]]) -> float:
    """How high, and how far to the right, the longest slanted name reaches."""
    longest = max((inches(f"{code}  {title}", SIZE, True) for code, title in heads), default=0.0)
    return longest * float(np.cos(np.radians(SLANT)))


def wrapped(text: str, width: float, size: float = SMALL) -> list[str]:
    """The text in lines no wider than this many inches, except for single words that are wider."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and inches(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


@cache
def inches(text: str, size: float, bold: bool = False) -> float:
    """The width of a text."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 72
