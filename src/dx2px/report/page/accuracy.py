"""Where the model does well and where not, and what it takes for what."""

from __future__ import annotations

from itertools import groupby

from dx2px.evaluation.breakdown import Breakdown, Group
from dx2px.evaluation.subgroups import SMALLEST
from dx2px.report.embedding.families import group
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.charts import bar_cell
from dx2px.report.page.content import Content
from dx2px.report.page.words import code, percent, section, small_note, table


def breakdown_section(content: Content) -> Markup:
    """By chapter, by frequency, by groups of stays."""
    parts: list[Child] = [
        el(
            "p",
            "Bars run from 0 to 100 %; the line through their end is a 90 % interval. Few entries mean wide intervals.",
        ),
        el("h3", "Stays, by the chapter of their first-listed diagnosis"),
        _chapters(content.chapters, "stays", "F1@5"),
        el("h3", "Coded procedures found among the first ten, by their chapter"),
        _chapters(content.procedures, "entries", "found"),
    ]
    if content.frequencies is not None:
        parts += [
            el("h3", "Coded procedures found among the first ten, by how often they were in training"),
            _groups(content.frequencies, "training stays with the procedure", "entries", "found"),
        ]
    if content.groups:
        parts += [el("h3", "Groups of stays"), *_subgroups(content)]
    return section("breakdown", "Where it does well", *parts)


def confusion_section(content: Content) -> Markup:
    """The pairs that stand in each other's place most often."""
    first = percent(content.wrong_first / len(content.metrics))
    rows: list[list[Child]] = [
        [code(one.instead), code(one.coded), f"{one.stays:,}", percent(one.share)]
        for one in content.confusions
    ]
    told = (
        f"In {first} of the stays the procedure ranked first was not coded. Then the coded procedure that ranked "
        f"highest is set beside it; pairs of at least {SMALLEST} stays are listed. Many are near relatives, or one of "
        "several ways to code the same care: a difference is not always a mistake, and not always the model's."
    )
    found = table(
        ["ranked first, not coded", "coded", "stays", "of these"], rows, numbers=(2, 3), stacked=True
    )
    none = el("p", f"No pair is met in {SMALLEST} stays or more.", class_="muted")
    return section("confusions", "Most frequent confusions", el("p", told), found if rows else none)


def _chapters(found: Breakdown, what: str, measure: str) -> Markup:
    named = Breakdown(
        tuple(Group(group(one.name).name, one.size, one.value, one.margin) for one in found.groups),
        found.left_out,
    )
    return _groups(named, "chapter", what, measure)


def _groups(found: Breakdown, name: str, what: str, measure: str) -> Markup:
    rows = [[one.name, f"{one.size:,}", f"{one.value:.0f}%", _bar(one, measure)] for one in found.groups]
    note = small_note(found.left_out, what)
    return el(
        "div",
        table([name, what, measure, ""], rows, numbers=(1, 2), bars=(3,)),
        [el("p", note.strip(), class_="muted")] if note else None,
    )


def _bar(one: Group, measure: str) -> Markup:
    return bar_cell(one.value, 100, one.margin, f"{one.name}: {measure} {one.value:.1f}% ± {one.margin:.1f}")


def _subgroups(content: Content) -> list[Markup]:
    """The model is not told these columns."""
    parts = [
        el(
            "p",
            "F1@5 by what the cohort knows of its stays. The model is not told these columns: differences show where "
            f"diagnoses say more, or less, of what is coded. Groups below {SMALLEST} stays are left out.",
            class_="muted",
        )
    ]
    for column, members in groupby(content.groups, key=lambda one: one.column):
        found = Breakdown(tuple(Group(m.group, m.stays, m.f1, m.f1_margin) for m in members), 0)
        parts.append(_groups(found, column.replace("_", " "), "stays", "F1@5"))
    return parts
