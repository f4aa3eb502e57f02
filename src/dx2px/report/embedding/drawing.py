"""The map as SVG with its controls: a mark per code, a switch per chapter, a search box.

Every mark is a line of length zero, of which only the cap is visible: round for diagnoses, a diamond for procedures.
Line widths do not grow with the picture, so marks look the same on a phone, on paper and zoomed. All marks of one
chapter and size are one path; the script finds a mark by its place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dx2px.report.embedding.families import GENERAL, RING, Group
from dx2px.report.embedding.points import CodeMap
from dx2px.report.markup import Markup, data_block, el, joined, resource

WIDTH, HEIGHT, EDGE = 1000.0, 760.0, 22.0
FEWEST = 5  # codes of a chapter that must be close together for its name to be written there
_LETTER, _LINE = 10.0, 20.0  # room that a label takes, in units of the map
KINDS = {"diagnosis": "Diagnoses", "procedure": "Procedures"}
PACKAGE = "dx2px.report.embedding"


def style() -> str:
    return resource(PACKAGE, "map.css")


def script() -> str:
    return resource(PACKAGE, "map.js")


def draw(map_: CodeMap) -> Markup:
    """The map, to be put into a page with `style` and `script`."""
    xy = _on_paper(map_)
    return el(
        "div",
        _search(),
        el("div", _picture(map_, xy), _buttons(), el("div", id="map-tip", hidden=True), class_="map-frame"),
        el("p", id="map-status", role="status", class_="muted"),
        _legend(map_),
        _data(map_, xy),
        class_="map",
    )


def _picture(map_: CodeMap, xy: NDArray[np.float64]) -> Markup:
    describes = (
        f"Map of {len(map_):,} codes. Keyboard: arrows move between codes, + and - zoom, Escape deselects."
    )
    return el(
        "svg",
        el("title", describes),
        el("g", _marks(map_, xy), id="map-marks"),
        el("path", id="map-lines"),
        el("path", id="map-found-round"),
        el("path", id="map-found-corner"),
        el("path", id="map-point"),
        el("g", _labels(map_, xy), id="map-labels"),
        id="map-picture",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        tabindex="0",
        role="application",
        aria_label=describes,
    )


def _marks(map_: CodeMap, xy: NDArray[np.float64]) -> Iterator[Markup]:
    """The largest chapters are drawn first, so that they do not cover small ones."""
    sizes = np.bincount(map_.group_of, minlength=len(map_.groups))
    bands = np.full(len(map_), 2) if map_.bands is None else map_.bands
    for number in np.argsort(-sizes, kind="stable").tolist():
        one = map_.groups[number]
        inside = map_.group_of == number
        paths = [
            _paths(xy[inside & (bands == band)], one, band)
            for band in range(6)
            if (inside & (bands == band)).any()
        ]
        yield el("g", paths, class_=f"{one.kind} family-{one.family} {one.fill}", data_group=str(number))


def _paths(xy: NDArray[np.float64], one: Group, band: int) -> list[Markup]:
    """A ring is a mark with a smaller mark in the page's colour on it."""
    cap = "h0" if one.kind == "diagnosis" else "l.01.01"
    d = "".join(f"M{x:.1f} {y:.1f}{cap}" for x, y in xy)
    marks = [el("path", d=d, class_=f"mark size-{band}")]
    return [*marks, el("path", d=d, class_=f"hole size-{band}")] if one.fill == RING else marks


def _labels(map_: CodeMap, xy: NDArray[np.float64]) -> list[Markup]:
    """Names of diagnosis chapters where they are densest, if they are in the majority and names do not overlap."""
    taken: list[tuple[float, float, float, float]] = []
    texts = []
    families = np.array([one.family for one in map_.groups])[map_.group_of]
    sizes = np.bincount(map_.group_of, minlength=len(map_.groups))
    for number in np.argsort(-sizes, kind="stable").tolist():
        one = map_.groups[number]
        if one.kind != "diagnosis" or one.family == GENERAL:
            continue
        name = one.name.split(",")[0].split(" and ")[0]
        dense = _dense(xy, map_.group_of == number, families == one.family)
        place = _free_place(dense, len(name), taken)
        if place is not None:
            texts.append(
                el("text", name, x=place[0], y=place[1], text_anchor="middle", data_group=str(number))
            )
    return texts


def _dense(xy: NDArray[np.float64], own: NDArray[np.bool_], family: NDArray[np.bool_]) -> NDArray[np.float64]:
    """A chapter's marks by how many of its own are around them, if its colour is in the majority there."""
    rows = np.flatnonzero(own)
    near = ((xy[rows, None, :] - xy[None, :, :]) ** 2).sum(axis=2) < (WIDTH / 22) ** 2  # (own, n)
    alike = (near & own).sum(axis=1)
    prevails = 2 * (near & family).sum(axis=1) >= near.sum(axis=1)
    order = np.argsort(-alike, kind="stable")
    kept = order[(prevails & (alike >= FEWEST))[order]]
    found: NDArray[np.float64] = xy[rows[kept]]
    return found


def _free_place(
    places: NDArray[np.float64], letters: int, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float] | None:
    half = letters * _LETTER / 2
    for x, y in places[:: max(1, len(places) // 30)].tolist():
        x = min(max(x, half), WIDTH - half)
        box = (x - half, y - _LINE, x + half, y + _LINE / 2)
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            return x, y
    return None


def _search() -> Markup:
    return el(
        "form",
        el(
            "label",
            "Find a code or words",
            el(
                "input",
                id="map-search",
                type="search",
                autocomplete="off",
                spellcheck="false",
                role="combobox",
                aria_expanded="false",
                aria_controls="map-results",
                aria_autocomplete="list",
            ),
        ),
        el("ul", id="map-results", role="listbox", aria_label="Codes found", hidden=True),
        id="map-form",
        role="search",
    )


def _buttons() -> Markup:
    pairs = (("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("all", "⤢", "Show all"))
    return el(
        "div",
        [
            el("button", sign, type="button", data_zoom=name, aria_label=words, title=words)
            for name, sign, words in pairs
        ],
        class_="map-zoom",
    )


def _legend(map_: CodeMap) -> Markup:
    sizes = np.bincount(map_.group_of, minlength=len(map_.groups)).tolist()
    columns = []
    for kind, shown in KINDS.items():
        numbers = [n for n, one in enumerate(map_.groups) if one.kind == kind]
        switches = [el("li", _switch(map_.groups[n], n, sizes[n])) for n in numbers]
        mark = "round marks" if kind == "diagnosis" else "diamonds"
        every = el("button", "all", type="button", class_="every", data_kind=kind, aria_label=f"All {shown}")
        columns.append(el("div", el("h4", f"{shown} ({mark}) ", every), el("ul", switches)))
    return el("div", columns, class_="map-legend")


def _switch(one: Group, number: int, codes: int) -> Markup:
    cap = "M8 8h0" if one.kind == "diagnosis" else "M8 8l.01.01"
    marks = [el("path", d=cap, class_="mark")]
    if one.fill == RING:
        marks.append(el("path", d=cap, class_="hole"))
    sample = el(
        "svg",
        marks,
        viewBox="0 0 16 16",
        class_=f"sample {one.kind} family-{one.family} {one.fill}",
        aria_hidden="true",
    )
    return el(
        "button",
        sample,
        el("span", one.name),
        el("span", f"{codes:,}", class_="muted"),
        type="button",
        aria_pressed="true",
        data_group=str(number),
    )


def _data(map_: CodeMap, xy: NDArray[np.float64]) -> Markup:
    """What the script shows of each code."""
    return data_block(
        "map-data",
        {
            "codes": map_.shown,
            "titles": map_.titles,
            "x": np.round(xy[:, 0], 1).tolist(),
            "y": np.round(xy[:, 1], 1).tolist(),
            "group": map_.group_of.tolist(),
            "band": None if map_.bands is None else map_.bands.tolist(),
            "bands": map_.band_names(),
            "groups": [{"name": one.name, "kind": one.kind} for one in map_.groups],
            "nearest": map_.nearest.tolist(),
        },
    )


def reading(map_: CodeMap) -> Markup:
    """How to read the map, with the measured share of neighbours that it keeps."""
    text = (
        f"{map_.names.name} codes are close together if their vectors are similar (t-SNE of the directions). Of a "
        f"code's ten nearest by vector, {map_.kept:.0%} are among its ten nearest on the map; distances between groups "
        "mean little. Chapters of one part of medicine share a colour. Larger marks had more training stays."
    )
    return el("p", joined(text), class_="muted")


def _on_paper(map_: CodeMap) -> NDArray[np.float64]:
    """Places in units of the picture."""
    found: NDArray[np.float64] = map_.places * (WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE) + EDGE
    return found
