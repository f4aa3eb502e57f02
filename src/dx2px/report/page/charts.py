"""Charts as inline SVG: text can be selected, and colours come from the style sheet, so they follow the theme.

All have one width, about that of a phone, and scale with their column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dx2px.report.markup import Markup, el

WIDTH, HEIGHT = 420.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 10.0, 10.0, 40.0
Scale = Callable[[float], float]


@dataclass(frozen=True)
class Bar:
    """A column of a histogram: its label, its height, and the words that appear under the pointer."""

    label: str
    height: float
    words: str


@dataclass(frozen=True)
class Line:
    """A series of points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def histogram(bars: Sequence[Bar], across: str, up: str, series: int = 0) -> Markup:
    """Columns side by side; labels are written where there is room."""
    top = nice_top(max((bar.height for bar in bars), default=1.0))
    y = _linear(0, top, HEIGHT - BOTTOM, TOP)
    step = (WIDTH - LEFT - RIGHT) / max(len(bars), 1)
    widest = max((len(bar.label) for bar in bars), default=1)
    every = max(1, math.ceil(7.5 * (widest + 1) / step))
    whole = [value for value in ticks(0, top) if float(value).is_integer()]  # there are no half stays
    parts: list[Markup] = [*_grid_y(y, whole), *_names(across, up)]
    for place, bar in enumerate(bars):
        left = LEFT + place * step + step * 0.1
        box = el(
            "rect",
            el("title", bar.words),
            x=left,
            y=y(bar.height),
            width=step * 0.8,
            height=max(y(0) - y(bar.height), 0.0),
            class_=f"fill-{series}",
        )
        parts.append(box)
        if place % every == 0:
            parts.append(el("text", bar.label, x=left + step * 0.4, y=HEIGHT - BOTTOM + 16, class_="middle"))
    parts.append(el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(0), y2=y(0), class_="axis"))
    return _chart(parts, f"{up} by {across}")


def curves(lines: Sequence[Line], across: str, up: str) -> Markup:
    """Lines over whole numbers, named at their last points; the second one is dashed."""
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in line.y]
    low, high = _padded(min(ys), max(ys))
    x = _linear(min(xs), max(max(xs), min(xs) + 1), LEFT, WIDTH - RIGHT)
    y = _linear(low, high, HEIGHT - BOTTOM, TOP)
    parts = [*_grid_y(y, ticks(low, high)), *_names(across, up), *_whole_numbers(x, min(xs), max(xs))]
    for series, line in enumerate(lines):
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(line.x, line.y, strict=True))
        parts.append(el("polyline", points=points, class_=f"stroke-{series}"))
        parts += [
            el(
                "circle",
                el("title", f"{line.name}, {across} {a:g}: {b:.4g}"),
                cx=x(a),
                cy=y(b),
                r="3",
                class_=f"dot-{series}",
            )
            if len(line.x) <= 60
            else Markup("")
            for a, b in zip(line.x, line.y, strict=True)
        ]
        parts.append(
            el(
                "text",
                line.name,
                x=WIDTH - RIGHT,
                y=_beside(y(line.y[-1]), y(line.y[0])),
                class_="end name",
            )
        )
    parts.append(el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(low), y2=y(low), class_="axis"))
    return _chart(parts, f"{up} by {across}", "curves")


def log_scatter(groups: Sequence[Line], across: str, up: str) -> Markup:
    """Points on two logarithmic axes, from one power of ten to 1, with the line of equality."""
    values = [v for group in groups for axis in (group.x, group.y) for v in axis]
    lowest = math.floor(math.log10(min(values))) if values else -3
    x = _linear(lowest, 0, LEFT, WIDTH - RIGHT)
    y = _linear(lowest, 0, HEIGHT - BOTTOM, TOP)
    powers = range(lowest, 1)
    parts = [
        *(el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(p), y2=y(p), class_="grid") for p in powers),
        *(el("line", x1=x(p), x2=x(p), y1=y(lowest), y2=y(0), class_="grid") for p in powers),
        *(el("text", _power(p), x=LEFT - 6, y=y(p) + 4, class_="end") for p in powers),
        *(el("text", _power(p), x=x(p), y=HEIGHT - BOTTOM + 16, class_="middle") for p in powers),
        el("line", x1=x(lowest), y1=y(lowest), x2=x(0), y2=y(0), class_="diagonal"),
        *_names(across, up),
    ]
    for series, group in enumerate(groups):
        for a, b in zip(group.x, group.y, strict=True):
            words = el("title", f"{group.name}: given {_share(a)}, coded {_share(b)}")
            place = {"cx": x(math.log10(a)), "cy": y(math.log10(b))}
            parts.append(el("circle", words, **place, r="4.5", class_=f"dot-{series}"))
        top = TOP + 12 + 18 * series
        parts.append(el("circle", cx=LEFT + 14, cy=top - 4, r="4.5", class_=f"dot-{series}"))
        parts.append(el("text", group.name, x=LEFT + 26, y=top, class_="name"))
    return _chart(parts, f"{up} beside {across}")


def bar_cell(value: float, most: float, margin: float = 0.0, words: str = "", series: int = 0) -> Markup:
    """A bar for a cell of a table, with its interval as a line through its end."""
    to = 100 / most
    parts = [
        el("title", words),
        el("rect", x="0", y="1", width="100%", height="13", rx="2", class_="track"),
        el(
            "rect",
            x="0",
            y="1",
            width=f"{min(value * to, 100):.2f}%",
            height="13",
            rx="2",
            class_=f"fill-{series}",
        ),
    ]
    if margin:
        ends = [f"{min(max((value + side * margin) * to, 0), 100):.2f}%" for side in (-1, 1)]
        parts.append(el("line", x1=ends[0], x2=ends[1], y1="7.5", y2="7.5", class_="whisker"))
    return el("svg", parts, role="img", aria_label=words)


def share_cell(share: float, chance: float, possible: float, words: str) -> Markup:
    """A share from 0 to 1 as a bar, in a track as long as the share could be, with a mark at chance."""
    parts = [
        el("title", words),
        el("rect", x="0", y="1", width=f"{100 * possible:.2f}%", height="13", rx="2", class_="track"),
        el("rect", x="0", y="1", width=f"{100 * share:.2f}%", height="13", rx="2", class_="fill-0"),
        el(
            "line", x1=f"{100 * chance:.2f}%", x2=f"{100 * chance:.2f}%", y1="-1", y2="16", class_="tick-mark"
        ),
    ]
    return el("svg", parts, role="img", aria_label=words)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high."""
    step = nice_step((high - low) / about)
    first = math.ceil(low / step - 1e-9)
    return [step * n for n in range(first, math.floor(high / step + 1e-9) + 1)]


def nice_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten, at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))


def nice_top(high: float) -> float:
    """The first round number at or above the highest value."""
    step = nice_step(max(high, 1e-9) / 5)
    return step * math.ceil(high / step - 1e-9)


def _chart(parts: Sequence[Markup], words: str, more: str = "") -> Markup:
    kind = f"chart {more}".strip()
    return el("svg", parts, class_=kind, viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}", role="img", aria_label=words)


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _padded(low: float, high: float) -> tuple[float, float]:
    """Bounds that are ticks themselves, so that no line touches the frame."""
    step = nice_step(max(high - low, abs(high) * 0.05, 1e-9) / 4)
    return step * math.floor(low / step), step * math.ceil(high / step + 1e-9)


def _grid_y(y: Scale, values: Sequence[float]) -> list[Markup]:
    lines = [el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(v), y2=y(v), class_="grid") for v in values]
    return lines + [
        el("text", f"{v:,.4g}" if v < 1e4 else f"{v:,.0f}", x=LEFT - 6, y=y(v) + 4, class_="end")
        for v in values
    ]


def _whole_numbers(x: Scale, low: float, high: float) -> list[Markup]:
    step = max(1, round(nice_step(max(high - low, 1) / 8)))
    numbers = range(math.ceil(low / step) * step, int(high) + 1, step)
    return [el("text", str(n), x=x(n), y=HEIGHT - BOTTOM + 16, class_="middle") for n in numbers]


def _names(across: str, up: str) -> list[Markup]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"translate(11 {middle:g}) rotate(-90)"
    return [
        el("text", across, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 5, class_="middle"),
        el("text", up, transform=turned, class_="middle"),
    ]


def _beside(last: float, first: float) -> float:
    """Above the end of a line that fell, below the end of one that rose: there is room."""
    return last - 10 if last > first else last + 20


def _power(p: int) -> str:
    return "100%" if p == 0 else f"{100 * 10.0**p:.10g}%" if p >= -4 else f"1e{p}"


def _share(value: float) -> str:
    return f"{value:.1%}" if value >= 0.01 else f"{value:.2g}"
