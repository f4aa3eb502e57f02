"""A plan as a flow in SVG: ribbons from diagnoses to procedures, as on the service's page; the more mass, the thicker.

Every node has a slot that is high enough for its label; its bar is as high as its mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dx2px.answers.results import Answer
from dx2px.report.explanation_sheet import THEMES
from dx2px.report.explanation_words import Row, drawn_and_folded, names_of, percent
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
LONGEST, SHORTEST = 40, 14  # characters of a label with its code, and that a title keeps


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


@dataclass(frozen=True)
class Paint:
    """The colour of a flow's part where there is no style sheet, and its class where there is one."""

    fill: str
    class_: str


def _paint(row: Row) -> Paint:
    return Paint(THEMES["light"].hue(row.other).bar, "flow-other" if row.other else "flow-diagnosis")


def flow_figure(answer: Answer) -> Markup:
    """The flow of an answer, with the rows that its heat map draws; empty where its plan is."""
    if answer.plan.mass is None:
        return Markup("")
    rows, names = drawn_and_folded(answer)[0], names_of(answer)
    mass = answer.plan.mass[[row.place for row in rows]]
    shown = {one.code: one for one in answer.procedures}
    columns = [(names.write(code), shown[code].title) for code in answer.plan.procedures]
    flow, heads = Flow.of(mass), [(row.code, row.title) for row in rows]
    paints, plain = [_paint(row) for row in rows], Paint(THEMES["light"].muted, "flow-procedure")
    parts = [
        [_ribbon(one, paints[one.row], _reading(rows[one.row], columns[one.column], mass[one.row, one.column]))
         for one in flow.ribbons if one.thickness > THINNEST],
        [_end(bar, True, row.code, label, paint)
         for bar, row, label, paint in zip(flow.left, rows, _labels(heads), paints, strict=True)],
        [_end(bar, False, code, label, plain)
         for bar, (code, _), label in zip(flow.right, columns, _labels(columns), strict=True)],
    ]  # fmt: skip
    box = f"0 0 {WIDTH:g} {flow.height:.0f}"
    words = "Flow from diagnoses to procedures"
    return el("svg", parts, class_="flow", viewBox=box, width="100%", role="img", aria_label=words)


def _labels(named: list[tuple[str, str]]) -> list[str]:
    """Titles that fit beside their codes."""
    titles = [title for _, title in named]
    return [shortened(title, max(LONGEST - len(code), SHORTEST), titles) for code, title in named]


def _reading(row: Row, column: tuple[str, str], mass: float) -> str:
    return f"{row.name} → {column[0]} {column[1]}: {percent(mass)} of the mass"


def _ribbon(one: Ribbon, paint: Paint, reading: str) -> Markup:
    a, b, t = SIDE + NODE, WIDTH - SIDE - NODE, one.thickness
    half, y0, y1 = (a + b) / 2, one.left, one.right
    path = (
        f"M{a:g} {y0:.1f}C{half:g} {y0:.1f} {half:g} {y1:.1f} {b:g} {y1:.1f}"
        f"L{b:g} {y1 + t:.1f}C{half:g} {y1 + t:.1f} {half:g} {y0 + t:.1f} {a:g} {y0 + t:.1f}Z"
    )
    return el("path", el("title", reading), d=path, fill_opacity="0.45", **vars(paint))


def _end(bar: Bar, is_left: bool, code: str, title: str, paint: Paint) -> Markup:
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
    box = el("rect", x=x, y=bar.y, width=NODE, height=max(bar.height, 1.0), **vars(paint))
    return el("g", box, text)
