"""A plan as a flow in SVG: ribbons from diagnoses to procedures, as on the service's page; the more mass, the thicker.

Every node has a slot that is high enough for its label; its bar is as high as its mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dx2px.answers.results import Answer
from dx2px.report.explanation_sheet import THEMES
from dx2px.report.explanation_words import Row, names_of, percent, rows_of
from dx2px.report.markup import Markup, el
from dx2px.scoring.segments import Doubles
from dx2px.words import shortened

WIDTH, SIDE, NODE, SLOT = (
    900.0,
    300.0,
    7.0,
    22.0,
)  # pixels: the whole, a side of labels, a bar, the height of a label
FLOWING = 22.0  # height that the mass takes, for each row or column
THINNEST = 0.15  # thinner ribbons cannot be seen
LONGEST = 42  # characters of a label


@dataclass(frozen=True)
class Bar:
    """The end of a flow: where it begins, and how high it is."""

    y: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Ribbon:
    """The mass between a row and a column of the plan, with its upper edges."""

    row: int
    column: int
    left: float
    right: float
    thickness: float


@dataclass(frozen=True)
class Flow:
    """Where everything is."""

    height: float
    left: list[Bar]
    right: list[Bar]
    ribbons: list[Ribbon]

    @classmethod
    def of(cls, mass: Doubles) -> Flow:
        """The places for a plan, (rows, columns)."""
        most, total = max(mass.shape), float(mass.sum())
        flowing = max(150.0, FLOWING * most)
        height = flowing + SLOT * most
        scaled = mass * (flowing / total if total > 0 else 0.0)
        left, right = _stack(scaled.sum(axis=1).tolist(), height), _stack(scaled.sum(axis=0).tolist(), height)
        before = np.cumsum(scaled, axis=1) - scaled, np.cumsum(scaled, axis=0) - scaled
        ribbons = [
            Ribbon(
                i, j, left[i].y + float(before[0][i, j]), right[j].y + float(before[1][i, j]), float(thick)
            )
            for (i, j), thick in np.ndenumerate(scaled)
        ]
        return cls(height, left, right, ribbons)


def _stack(heights: Sequence[float], height: float) -> list[Bar]:
    """Bars below each other, with the remaining space spread evenly between them."""
    gap = (height - sum(heights)) / len(heights)
    starts = np.cumsum([gap / 2, *(one + gap for one in heights[:-1])]).tolist()
    return [Bar(y, high) for y, high in zip(starts, heights, strict=True)]


def flow_figure(answer: Answer) -> Markup:
    """The flow of an answer; empty where its plan is."""
    mass = answer.plan.mass
    if mass is None:
        return Markup("")
    rows, names, theme = rows_of(answer), names_of(answer), THEMES["light"]
    shown = {one.code: one for one in answer.procedures}
    columns = [(names.write(code), shown[code].title) for code in answer.plan.procedures]
    flow = Flow.of(mass)
    hues = [theme.hue(row.other).bar for row in rows]
    parts = [
        [_ribbon(one, hues[one.row], _reading(rows[one.row], columns[one.column], mass[one.row, one.column]))
         for one in flow.ribbons if one.thickness > THINNEST],
        [_end(bar, True, row.code, label, hue)
         for bar, row, label, hue in zip(flow.left, rows, _labels([row.title for row in rows]), hues, strict=True)],
        [_end(bar, False, code, label, theme.muted)
         for bar, (code, _), label in zip(flow.right, columns, _labels([t for _, t in columns]), strict=True)],
    ]  # fmt: skip
    box = f"0 0 {WIDTH:g} {flow.height:.0f}"
    return el("svg", parts, viewBox=box, width="100%", style=f"max-width:{WIDTH:g}px", role="img",
              aria_label="Flow from diagnoses to procedures")  # fmt: skip


def _labels(titles: list[str]) -> list[str]:
    return [shortened(title, LONGEST, titles) for title in titles]


def _reading(row: Row, column: tuple[str, str], mass: float) -> str:
    return f"{row.name} → {column[0]} {column[1]}: {percent(mass)} of the mass"


def _ribbon(one: Ribbon, colour: str, reading: str) -> Markup:
    a, b, t = SIDE + NODE, WIDTH - SIDE - NODE, one.thickness
    half, y0, y1 = (a + b) / 2, one.left, one.right
    path = (
        f"M{a:g} {y0:.1f}C{half:g} {y0:.1f} {half:g} {y1:.1f} {b:g} {y1:.1f}"
        f"L{b:g} {y1 + t:.1f}C{half:g} {y1 + t:.1f} {half:g} {y0 + t:.1f} {a:g} {y0 + t:.1f}Z"
    )
    return el("path", el("title", reading), d=path, fill=colour, fill_opacity="0.45")


def _end(bar: Bar, is_left: bool, code: str, title: str, colour: str) -> Markup:
    """A bar; its code stands next to it, its title outside."""
    x = SIDE if is_left else WIDTH - SIDE - NODE
    at, anchor = (SIDE - 8, "end") if is_left else (WIDTH - SIDE + 8, "start")
    words = [el("tspan", code, font_weight="bold"), el("tspan", title)] if code else [el("tspan", title)]
    spaced = [words[-1], " ", *words[:-1]] if is_left else [*words[:-1], " ", words[-1]]
    text = el(
        "text",
        spaced,
        x=at,
        y=bar.middle,
        dy="0.35em",
        text_anchor=anchor,
        font_size="12",
        fill="currentColor",
    )
    return el("g", el("rect", x=x, y=bar.y, width=NODE, height=max(bar.height, 1.0), fill=colour), text)
