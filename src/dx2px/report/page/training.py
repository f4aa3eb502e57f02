"""How the model was learned: training curves, settings, model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dx2px.report.curves import F1, curve, epochs_of, loss_curves
from dx2px.report.markup import Child, Markup, el
from dx2px.report.page.charts import Line, curves
from dx2px.report.page.content import Content
from dx2px.report.page.words import figure, rendered, section, table


def training_section(content: Content) -> Markup:
    """Losses and validation F1@5 by epoch, if the model was learned in epochs."""
    history = content.model.files.history
    losses, f1 = loss_curves(history), curve(history, F1)
    figures = []
    if losses:
        lines = [Line(name, epochs_of(history), values) for name, values in losses.items()]
        figures.append(figure("Loss on the training stays", curves(lines, "epoch", "loss per stay")))
    if f1 is not None:
        line = Line("validation F1@5", epochs_of(history), f1)
        figures.append(figure("F1@5 on the validation stays", curves([line], "epoch", "F1@5 (per cent)")))
    none = el("p", f"The method {content.model.files.method} has no curves: it is not learned in epochs.")
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


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name} · ")
        else:
            yield f"{above}{name}", "–" if value is None else str(value)
