"""The vectors of a report: the map, how well neighbours share chapters, neighbours of well-known codes."""

from __future__ import annotations

from dx2px.evaluation.neighbourhoods import BEYOND, Sharing
from dx2px.inference import Neighbor, Neighbors
from dx2px.report.embedding.drawing import draw, reading
from dx2px.report.markup import Markup, el
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
    """What stands near what, and how much of it the books would put together."""
    if content.vectors is None:
        return None
    told = (
        "The share of a code's nearest codes of its kind, by cosine of the vectors, that the books put into the same "
        "chapter, category or group of the Clinical Classifications Software. The dark mark is chance; a bar can fill "
        "its grey track at most, for small groups have too few members. Codes alone in their group are left out. "
        "The default method lets codes of one category share a part of their vectors while it learns, so it is told "
        "some of this; the lines with the category left out count no neighbours of the code's own category."
    )
    return section(
        "neighbours",
        "Neighbours",
        el("h3", "How many neighbours are alike"),
        el("p", told),
        _sharing(content.vectors.sharing),
        el("h3", "Nearest codes of well-known ones"),
        el(
            "p",
            "Nearest by cosine, which is given. Near means coded in like company: siblings, causes, treatment.",
        ),
        _neighbours(content.vectors.neighbours),
    )


def _sharing(found: tuple[Sharing, ...]) -> Markup:
    heads = ["nearest codes with the same", "codes", "chance"]
    rows = []
    for one in found:
        told = [
            f"{share:.0%} of the {k} nearest, {one.chance:.1%} by chance, {possible:.0%} possible"
            for k, share, possible in zip(one.at, one.share, one.possible, strict=True)
        ]
        cells = [
            el("div", percent(share, 0), share_cell(share, one.chance, possible, words))
            for share, possible, words in zip(one.share, one.possible, told, strict=True)
        ]
        rows.append(
            [f"{LABELS[one.label]}, {KINDS[one.kind]}", f"{one.codes:,}", percent(one.chance), *cells]
        )
    at = found[0].at if found else ()
    heads += [f"{k} nearest" if k > 1 else "nearest" for k in at]
    return table(heads, rows, numbers=(1, 2), bars=range(3, 3 + len(at)), stacked=True)


def _neighbours(found: tuple[Neighbors, ...]) -> Markup:
    rows = [[code(one.code), _list(one.diagnoses), _list(one.procedures)] for one in found]
    return table(["code", "nearest diagnoses", "nearest procedures"], rows, stacked=True)


def _list(found: tuple[Neighbor, ...]) -> list[Markup]:
    return [el("div", code(one.code), el("span", f" {one.similarity:.2f}", class_="muted")) for one in found]
