"""Where the model does well and where it does not, and which procedures it confuses."""

from __future__ import annotations

from itertools import groupby

from dx2px.report.breakdown import Breakdown, Group
from dx2px.report.embedding.families import group
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.charts import bar_cell
from dx2px.report.page.content import Content
from dx2px.report.page.words import code, facts_words, percent, section, small_note, table
from dx2px.scoring.subgroups import SMALLEST


def breakdown_section(content: Content) -> Markup:
    """By chapter, by frequency, by groups of stays."""
    parts: list[Child] = [
        el(
            "p",
            "Bars run from 0 to 100 %; the line through the end of a bar is a 90 % interval.",
        ),
        el("h3", "Stays, by the chapter of their first-listed diagnosis"),
        _chapters(content.chapters, "stays", "F1@5"),
        el("h3", "Coded procedures found in the top ten, by their chapter"),
        _chapters(content.procedures, "coded procedures", "found in the top ten"),
    ]
    if content.frequencies is not None:
        parts += [
            el("h3", "Coded procedures found in the top ten, by their frequency in training"),
            _groups(
                content.frequencies,
                "training stays with the procedure",
                "coded procedures",
                "found in the top ten",
            ),
        ]
    if content.groups:
        parts += [el("h3", "Groups of stays"), *_subgroups(content)]
    return section("breakdown", "Where it does well", *parts)


def confusion_section(content: Content) -> Markup:
    """The pairs of procedures that are confused most often."""
    first = percent(content.wrong_first / len(content.metrics))
    rows: list[list[Child]] = [
        [
            code(one.instead, content.names),
            code(one.coded, content.names),
            f"{one.stays:,}",
            percent(one.share),
        ]
        for one in content.confusions
    ]
    reading = (
        f"In {first} of the stays the procedure ranked first was not coded. The table pairs it with the stay's highest "
        f"ranked coded procedure, and lists pairs found in at least {SMALLEST} stays. Many are close relatives, or "
        "several ways to code the same care: a difference is not always a mistake, and not always the model's."
    )
    found = table(
        ["ranked first, not coded", "coded", "stays", "share of these stays"],
        rows,
        numbers=(2, 3),
        stacked=True,
    )
    none = el("p", f"No pair occurs in {SMALLEST} stays or more.", class_="muted")
    return section("confusions", "Most frequent confusions", el("p", reading), found if rows else none)


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
        el("p", note, class_="muted") if note else None,
    )


def _bar(one: Group, measure: str) -> Markup:
    return bar_cell(one.value, 100, one.margin, f"{one.name}: {measure} {one.value:.1f}% ± {one.margin:.1f}")


def _subgroups(content: Content) -> list[Markup]:
    """F1@5 by columns of the cohort that are not codes."""
    seen = [name for name in dict.fromkeys(one.column for one in content.groups) if name in content.facts]
    sight = f"Of these the model sees {facts_words(seen)} alone" if seen else "The model does not see them"
    parts = [
        el(
            "p",
            f"F1@5 by other columns of the cohort. {sight}: differences show where what it sees says more, or less, "
            f"about what is coded. Groups smaller than {SMALLEST} stays are left out.",
            class_="muted",
        )
    ]
    for column, members in groupby(content.groups, key=lambda one: one.column):
        found = Breakdown(tuple(Group(m.group, m.stays, m.f1, m.f1_margin) for m in members), 0)
        parts.append(_groups(found, column.replace("_", " "), "stays", "F1@5"))
    return parts
