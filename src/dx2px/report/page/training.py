"""How the model was made: curves of training, settings, card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dx2px.report.markup import Child, Markup, el, joined
from dx2px.report.page.charts import Line, curves
from dx2px.report.page.content import Content
from dx2px.report.page.words import figure, section, table


def training_section(content: Content) -> Markup:
    """Losses and validation F1 by epoch, where the training loop made the model."""
    losses = [
        line
        for name, column in (("predictive loss", "loss_predictive"), ("transport loss", "loss_transport"))
        if (line := _line(content, name, column)) is not None and any(line.y)
    ]
    f1 = _line(content, "validation F1@5", "validation_f1")
    figures = []
    if losses:
        chart = curves(losses, "epoch", "loss a stay")
        figures.append(figure("Loss a stay on the training part", chart))
    if f1 is not None:
        figures.append(figure("F1@5 on the validation part", curves([f1], "epoch", "F1@5, per cent")))
    none = el("p", f"The method {content.model.files.method} kept no curves: it is not learned in epochs.")
    return section("training", "Training", el("div", figures, class_="figures") if figures else none)


def settings_section(content: Content) -> Markup:
    """Every setting that the model folder holds."""
    files = content.model.files
    rows: list[list[Child]] = [
        [name, el("span", value, class_="code")] for name, value in _flat(files.settings)
    ]
    rows = [["method", files.method], ["made by", f"dx2px {files.version}"], *rows]
    return section(
        "settings",
        "Settings",
        el("details", el("summary", "All settings"), table(["setting", "value"], rows)),
    )


def card_section(content: Content) -> Markup:
    """The model's own card."""
    return section("card", "Model card", el("div", rendered(content.model.files.card), class_="card"))


def rendered(text: str) -> Markup:
    """Markdown as HTML; markup inside it stays text, and pictures become their descriptions."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", _description)
    return Markup(reader.render(text))


def _description(renderer: Any, tokens: Any, place: int, options: Any, environment: Any) -> str:
    return joined(tokens[place].content)


def _line(content: Content, name: str, column: str) -> Line | None:
    """A column of the history over the epochs; None where it is missing or holds what is no number."""
    history = content.model.files.history
    if not history.num_rows or not {"epoch", column} <= set(history.column_names):
        return None
    values = history.column(column).to_pylist()
    if not all(value is not None and math.isfinite(value) for value in values):
        return None
    return Line(name, [float(epoch) for epoch in history.column("epoch").to_pylist()], values)


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name} · ")
        else:
            yield f"{above}{name}", "–" if value is None else str(value)
