"""The head of a report: what was measured, on which stays, and the numbers of the paper's Table 1."""

from __future__ import annotations

import math

import numpy as np

from dx2px.codes import Notation
from dx2px.cohort.projection import ProjectionCounts
from dx2px.report.breakdown import HALF_WIDTH
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.content import Content
from dx2px.report.page.words import SCOPE, SYNTHETIC, facts_words, few, section, table
from dx2px.scoring.metrics import Metrics


def head(content: Content) -> list[Markup]:
    """Title and scope."""
    stays = "synthetic stays" if content.synthetic else "stays"
    measured = f"Method {content.model.files.method}, measured on {stays} of {content.cohort_name}."
    return [
        el("h1", f"Report on {content.name}"),
        el("p", measured, class_="muted"),
        el("p", SYNTHETIC if content.synthetic else SCOPE, class_="scope"),
    ]


def main_numbers(content: Content) -> Markup:
    """How much was measured, and how well the model does."""
    files = content.model.files
    metrics = content.metrics
    model_names = Notation.of((*files.diagnoses, *files.procedures))
    facts = [
        ("stays measured", f"{len(metrics):,}", _part(content)),
        (
            "diagnoses · procedures",
            f"{len(files.diagnoses):,} · {len(files.procedures):,}",
            f"{model_names.name} codes that the model knows",
        ),
        ("F1@5", f"{metrics.mean('f1')[5]:.1f}%", "mean over stays"),
        ("recall@10", f"{metrics.mean('recall')[10]:.1f}%", "of a stay's coded procedures"),
    ]
    if content.trust is not None:
        facts.append(("calibration error", f"{content.trust.top.ece:.3f}", "first ten per stay; 0 is best"))
    tiles = [el("div", el("dt", name), el("dd", value, el("small", note))) for name, value, note in facts]
    return el("dl", tiles, class_="facts")


def accuracy_section(content: Content) -> Markup:
    """Recall, precision and F1 of the top 1, 3, 5 and 10, compared with popularity."""
    metrics, popular = content.metrics, content.popular
    heads = ["", "recall (%)", "precision (%)", "F1 (%)"]
    others = {"F1 from diagnoses alone (%)": content.codes, "F1 of popularity (%)": popular}
    beside = {name: found for name, found in others.items() if found is not None}
    heads += beside
    rows = [_row(metrics, list(beside.values()), place) for place in range(len(metrics.at))]
    reading = (
        f"Means over {len(metrics):,} stays ({_part(content)}). Recall: the share of a stay's coded procedures that "
        "are in the top list. Precision: the share of the list that was coded. F1: the harmonic mean of the two, "
        "averaged over stays. ± is half of a 90 % interval."
    )
    if content.codes is not None:
        reading += (
            f" The model was told {facts_words(content.facts)} besides the diagnoses; a column beside it has its F1 "
            "from the same stays' diagnoses alone."
        )
    if popular is not None:
        reading += (
            " Popularity recommends the same most frequent procedures for every stay: a model must beat it."
        )
    return section(
        "accuracy",
        "Accuracy",
        el("p", reading),
        table(heads, rows, numbers=range(1, len(heads))),
        _set_aside(content.measured.counts) if content.measured.counts is not None else None,
    )


def _row(metrics: Metrics, others: list[Metrics], place: int) -> list[Child]:
    """A row of the table: one length of the list, and the F1 of others."""
    cells: list[Child] = [f"top {metrics.at[place]}"]
    for measure in ("recall", "precision", "f1"):
        values = 100 * getattr(metrics, measure)[:, place]
        margin = HALF_WIDTH * float(np.std(values)) / math.sqrt(len(values))
        cells.append([f"{values.mean():.1f}", el("small", f" ±{margin:.1f}", class_="muted")])
    return [*cells, *(f"{100 * one.f1[:, place].mean():.1f}" for one in others)]


def _part(content: Content) -> str:
    if content.measured.counts is not None:
        return "a cohort it did not learn from"
    return {"test": "test stays, not used for learning", "train": "training stays", "all": "all stays"}[
        content.measured.part
    ]


def _set_aside(counts: ProjectionCounts) -> Markup:
    asides = (("diagnoses", counts.diagnoses), ("procedures", counts.procedures))
    left_out = " ".join(
        f"{one.codes_set_aside:,} of {one.codes:,} distinct {kind} ({few(one.entries_set_aside)} of {one.entries:,} "
        f"entries) are unknown to the model and were left out."
        for kind, one in asides
        if one.codes_set_aside
    )
    stays = f"{counts.stays_kept:,} of {counts.stays:,} stays"
    measured = f"{stays} still have a diagnosis and a procedure, and were measured."
    return el(
        "p",
        " ".join(filter(None, ["The model did not learn from this cohort.", left_out, measured])),
        class_="notice",
    )
