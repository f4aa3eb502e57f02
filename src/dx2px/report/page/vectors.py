"""The vectors in a report: the map, how often neighbours share a chapter, neighbours of well-known codes."""

from __future__ import annotations

from dx2px.answers import Neighbor, Neighbors
from dx2px.codes import Notation
from dx2px.report.embedding.drawing import draw, reading
from dx2px.report.markup import Markup, el
from dx2px.report.neighbourhoods import BEYOND, Sharing
from dx2px.report.page.charts import share_cell
from dx2px.report.page.content import Content
from dx2px.report.page.words import code, percent, section, table

LABELS = {
    "chapter": "ICD chapter",
    "category": "ICD category",
    "CCS": "CCS group",
    BEYOND: "ICD chapter, category left out",
}
KINDS = {"diagnosis": "diagnoses", "procedure": "procedures"}


def map_section(content: Content) -> Markup:
    """The map of all codes."""
    if content.vectors is None:
        note = (
            f"Models of the method {content.model.files.method} have no vectors of codes, so there is no map."
        )
        return section("map", "Map of the codes", el("p", note))
    return section("map", "Map of the codes", reading(content.vectors.map), draw(content.vectors.map))


def neighbour_section(content: Content) -> Markup | None:
    """Which codes are close, and how many of them ICD groups together."""
    if content.vectors is None:
        return None
    reading = (
        "Of a code's nearest codes of the same kind (by cosine of the vectors), the share in the same ICD chapter, ICD "
        "category or group of the Clinical Classifications Software (CCS). The dark mark is chance. The grey track is "
        "the most that is possible: small groups have too few members to fill it. Codes alone in their group are left "
        "out. In the default method, codes of one category share part of their vectors during training, so it knows "
        "some of this grouping; the lines with the category left out do not count neighbours of the same category."
    )
    return section(
        "neighbours",
        "Neighbours",
        el("h3", "How many neighbours are related"),
        el("p", reading),
        _sharing(content.vectors.sharing),
        el("h3", "Neighbours of well-known codes"),
        el(
            "p",
            "The nearest codes, with the cosine. Codes are near if they are coded in similar stays: siblings, causes, "
            "treatments.",
        ),
        _neighbours(content.vectors.neighbours, content.names),
    )


def _sharing(found: tuple[Sharing, ...]) -> Markup:
    heads = ["nearest codes with the same", "codes", "chance"]
    rows = []
    for one in found:
        readings = [
            f"{share:.0%} of the {k} nearest, {one.chance:.1%} by chance, {possible:.0%} possible"
            for k, share, possible in zip(one.at, one.share, one.possible, strict=True)
        ]
        cells = [
            el("div", percent(share, 0), share_cell(share, one.chance, possible, words))
            for share, possible, words in zip(one.share, one.possible, readings, strict=True)
        ]
        rows.append(
            [f"{LABELS[one.label]}, {KINDS[one.kind]}", f"{one.codes:,}", percent(one.chance), *cells]
        )
    at = found[0].at if found else ()
    heads += [f"{k} nearest" if k > 1 else "nearest" for k in at]
    return table(heads, rows, numbers=(1, 2), bars=range(3, 3 + len(at)), stacked=True)


def _neighbours(found: tuple[Neighbors, ...], names: Notation) -> Markup:
    rows = [
        [code(one.code, names), _list(one.diagnoses, names), _list(one.procedures, names)] for one in found
    ]
    return table(["code", "nearest diagnoses", "nearest procedures"], rows, stacked=True)


def _list(found: tuple[Neighbor, ...], names: Notation) -> list[Markup]:
    return [
        el("div", code(one.code, names), el("span", f" {one.similarity:.2f}", class_="muted"))
        for one in found
    ]
