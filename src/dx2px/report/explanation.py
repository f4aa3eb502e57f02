"""The paper's figure of one stay: titles, bars of significance, heat map of the plan.

Everything is placed in inches on one sheet that is as large as its texts, so that no label is cut, however many codes
there are. Slanted procedures head the columns; the corner beside them says what the numbers mean.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dx2px.answers import Explanation
from dx2px.errors import InputError
from dx2px.report.explanation_sheet import (
    BAR,
    GAP,
    LARGE,
    LINE,
    MARGIN,
    ROW,
    SIZE,
    SLANT,
    SMALL,
    THEMES,
    WIDE,
    Sheet,
    Theme,
    inches,
)
from dx2px.report.explanation_words import HEADING, NOT_LINEAR, OTHER_EVIDENCE, percent, sent
from dx2px.report.figures import FORMATS, save_figure
from dx2px.storage import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ThemeName = Literal["light", "dark"]
PAGE_ENDING = ".html"
HEAT_STEPS = 48  # of the scale


def check_ending(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a file ending that is not an explanation's."""
    if Path(path).suffix.lower() not in (PAGE_ENDING, *FORMATS):
        endings = ", ".join((*FORMATS, PAGE_ENDING, ".json"))
        raise InputError(
            f"An explanation is saved as {endings}; {os.fspath(path)} has another ending: change it."
        )


def save_explanation(
    explanation: Explanation, path: str | os.PathLike[str], theme: ThemeName = "light"
) -> None:
    """Write the figure as .png, .svg or .pdf, or an interactive .html page, which follows its reader's theme."""
    check_ending(path)
    if explanation.plan.mass is None:
        raise InputError("There is nothing to draw: the model knows none of the codes.")
    if Path(path).suffix.lower() == PAGE_ENDING:
        from dx2px.report.explanation_page import explanation_page

        write_text(path, explanation_page(explanation))
    else:
        save_figure(explanation_figure(explanation, theme), path)


def explanation_figure(explanation: Explanation, theme: ThemeName = "light") -> Figure:
    """The figure, as large as its texts need."""
    from matplotlib.figure import Figure

    sheet = Sheet.of(explanation)
    colours = THEMES[theme]
    figure = Figure(figsize=(sheet.width, sheet.height), facecolor=colours.sheet)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, sheet.width)
    axes.set_ylim(sheet.height, 0)
    axes.axis("off")
    brush = _Brush(axes, colours)
    _corner(brush, sheet)
    _heads(brush, sheet)
    _rows(brush, sheet, explanation)
    _cells(brush, sheet, explanation)
    _foot(brush, sheet, explanation)
    return figure


@dataclass(frozen=True)
class _Brush:
    """Writes and paints on the sheet."""

    axes: Axes
    theme: Theme

    def write(self, x: float, y: float, text: str, size: float = SIZE, **how: Any) -> None:
        how = {"color": self.theme.ink, "va": "center_baseline"} | how
        self.axes.text(x, y, text, fontsize=size, parse_math=False, **how)

    def paint(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        from matplotlib.patches import Rectangle

        self.axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="none"))

    def heat(self, other: bool = False) -> Any:
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list("heat", self.theme.hue(other).heat, N=256)

    def readable(self, heat: float, other: bool) -> str:
        """The colour of ink or sheet, whichever is easier to read on a cell of this heat, 0 to 1."""
        from matplotlib.colors import to_rgb

        ground = _luminance(self.heat(other)(heat)[:3])
        away = {name: abs(_luminance(to_rgb(name)) - ground) for name in (self.theme.ink, self.theme.sheet)}
        return max(away, key=lambda name: away[name])


def _corner(brush: _Brush, sheet: Sheet) -> None:
    muted = brush.theme.muted
    brush.write(MARGIN, MARGIN + 0.1, HEADING, LARGE, weight="bold")
    y = MARGIN + 0.4
    for line in sheet.heading:
        brush.write(MARGIN, y, line, SIZE)
        y += LINE
    for line in sheet.prose:
        brush.write(MARGIN, y + 0.06, line, SIZE, color=muted)
        y += LINE
    under = sheet.top - 0.13
    brush.write(MARGIN, under, "diagnosis", SMALL, color=muted)
    brush.write(sheet.bars, under, "significance μ", SMALL, color=muted)


def _heads(brush: _Brush, sheet: Sheet) -> None:
    for place, (code, title) in enumerate(sheet.heads):
        x, y = sheet.cells + sheet.cell * (place + 0.5), sheet.top - 0.08
        how: dict[str, Any] = {"rotation": SLANT, "rotation_mode": "anchor", "va": "baseline"}
        brush.write(x, y, code, SIZE, weight="bold", **how)
        along = (inches(code, SIZE, True) + 0.08) * float(np.cos(np.radians(SLANT)))
        brush.write(x + along, y - along, title, SIZE, color=brush.theme.muted, **how)


def _rows(brush: _Brush, sheet: Sheet, explanation: Explanation) -> None:
    largest = max((row.significance for row in sheet.rows), default=0) or 1.0
    going, muted = sent(explanation), brush.theme.muted
    for place, row in enumerate(sheet.rows):
        y, hue = sheet.middle(place), brush.theme.hue(row.other)
        x = sheet.titles if row.code else MARGIN
        brush.write(MARGIN, y, row.code, weight="bold")
        brush.write(x, y, row.title, color=muted)
        if row.note:
            brush.write(x + inches(row.title, SIZE) + 0.1, y, row.note, SMALL, color=muted, style="italic")
        long = BAR * row.significance / largest
        brush.paint(sheet.bars, y - 0.075, long, 0.15, hue.rest)
        brush.paint(sheet.bars, y - 0.075, long * going[row.place], 0.15, hue.bar)
        brush.write(sheet.bars + long + 0.06, y, percent(row.significance), SMALL, color=muted)
    if sheet.others:
        brush.write(MARGIN, sheet.apart - 0.13, OTHER_EVIDENCE, SMALL, color=muted)
    if sheet.folded:
        brush.write(MARGIN, sheet.middle(len(sheet.rows)), sheet.folded, SMALL, color=muted, style="italic")


def _cells(brush: _Brush, sheet: Sheet, explanation: Explanation) -> None:
    if explanation.plan.mass is None:
        return
    mass = explanation.plan.mass[[row.place for row in sheet.rows]]
    x = sheet.cells + sheet.cell * np.arange(mass.shape[1] + 1)
    scaled = _scaled(mass, float(mass.max()))
    blocks = ((sheet.top, scaled[: sheet.used]), (sheet.apart, scaled[sheet.used :]))
    for other, (start, block) in enumerate(blocks):
        if len(block):
            brush.axes.pcolormesh(
                *(x, start + ROW * np.arange(len(block) + 1), block),
                cmap=brush.heat(bool(other)),
                vmin=0,
                vmax=1,
                edgecolors=brush.theme.sheet,
                linewidth=1.2,
            )
    if sheet.cell < WIDE:
        return
    for (row, column), value in np.ndenumerate(mass):
        if value >= 0.0005:
            text = f"{100 * value:.1f}" if value < 0.0995 else f"{100 * value:.0f}"
            colour = brush.readable(float(scaled[row, column]), sheet.rows[row].other)
            at = sheet.cells + sheet.cell * (column + 0.5), sheet.middle(row)
            brush.write(*at, text, SMALL, ha="center", color=colour)


def _foot(brush: _Brush, sheet: Sheet, explanation: Explanation) -> None:
    """Probabilities under their columns, the scale of the heat under the diagnoses, and the scope."""
    theme, y = brush.theme, sheet.bottom + 0.2
    known = [p for p in explanation.procedures if p.status == "known"]
    upright = sheet.cell < WIDE
    if any(p.probability is not None for p in known):
        brush.write(sheet.cells - GAP, y, "probability", SMALL, ha="right", color=theme.muted)
        for place, one in enumerate(known):
            at = sheet.cells + sheet.cell * (place + 0.5)
            text = "–" if one.probability is None else percent(one.probability)
            how: dict[str, Any] = {"rotation": 90, "va": "top"} if upright else {}
            brush.write(at, y - 0.1 if upright else y, text, SMALL, ha="center", **how)
    _scale(brush, sheet, explanation, y)
    for place, line in enumerate(sheet.scope):
        at = sheet.height - MARGIN - LINE * (len(sheet.scope) - 1 - place)
        brush.write(MARGIN, at, line, SMALL, color=theme.muted)


def _scale(brush: _Brush, sheet: Sheet, explanation: Explanation, y: float) -> None:
    mass = explanation.plan.mass
    largest = 0.0 if mass is None else float(mass.max())
    words = inches("mass", SMALL)
    x, step = MARGIN + words + 0.1, 1.5 / HEAT_STEPS
    brush.write(MARGIN, y, "mass", SMALL, color=brush.theme.muted)
    strips = (False, True) if sheet.others else (False,)
    high = 0.12 / len(strips)
    for strip, other in enumerate(strips):
        colours = brush.heat(other)
        for place in range(HEAT_STEPS):
            at = x + step * place, y - 0.06 + high * strip
            brush.paint(*at, step * 1.05, high, colours((place + 0.5) / HEAT_STEPS))
    for share in (0, 0.5, 1):
        label = percent(largest * share**2)
        brush.write(x + 1.5 * share, y + 0.18, label, SMALL, ha="center", color=brush.theme.muted)
    brush.write(MARGIN, y + 0.36, NOT_LINEAR, SMALL, color=brush.theme.muted)


def _luminance(rgb: tuple[float, float, float]) -> float:
    """Approximate lightness as the eye sees it, 0 to 1."""
    light = sum(part * value**2.2 for part, value in zip((0.2126, 0.7152, 0.0722), rgb, strict=True))
    return float(light ** (1 / 2.2))


def _scaled(mass: np.ndarray[Any, Any], largest: float) -> np.ndarray[Any, Any]:
    return np.sqrt(mass / largest) if largest > 0 else np.zeros_like(mass)
