"""The figures of a study of faithfulness."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dx2px.lab.faithfulness.markdown import OWN, Record, best_first
from dx2px.report.figures import BLUE, ORANGE, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Part = Callable[[Record], Record | None]
GREEN, PINK, SKY, GREY = "#009E73", "#CC79A7", "#56B4E9", "#999999"
LINES = {  # the attributions that the curves show
    "shares": (BLUE, "o"),
    "contrast": (SKY, "v"),
    "plan": (BLUE, "o"),
    "own plan": (BLUE, "s"),
    "semi-relaxed plan": (GREEN, "s"),
    "significance": (ORANGE, "^"),
    "lift": (PINK, "D"),
    "leave-one-out": ("black", "x"),
    "random": (GREY, "."),
}
ENDINGS = (".png", ".svg")
COLUMNS = 3  # of panels


def save_figures(record: Record, folder: str | os.PathLike[str]) -> list[Path]:
    """Each figure as PNG and SVG; one panel for the first model of each family."""
    shown = _first_of_family(record["models"])
    drawn = {
        "planted": _bars(shown, _recovered, "accuracy", "posterior", "top-1 cause accuracy, %"),
        "deletion": _bars(shown, _coded, "of_best", "leave-one-out", "fall, % of leave-one-out's"),
        "curves": _curves(shown),
        "stability": _steadiness(record["stability"]),
        "plan-steps": _steps(shown),
    }
    paths = []
    for name, figure in drawn.items():
        if figure is not None:
            files = [Path(folder) / f"{name}{ending}" for ending in ENDINGS]
            for file in files:
                save_figure(figure, file)
            paths += files
    return paths


def _recovered(model: Record) -> Record | None:
    return model.get("planted")


def _coded(model: Record) -> Record | None:
    found: Record = model["deletion"].get("coded", {})
    return {attribution: one for attribution, one in found.items() if one["of_best"] is not None}


def _first_of_family(models: Record) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for model in models.values():
        found.setdefault(model["family"], model)
    return found


def _panels(count: int, columns: int, size: tuple[float, float], **shared: Any) -> tuple[Figure, list[Axes]]:
    """So many axes, at most `columns` side by side, each of this size in inches."""
    from matplotlib.figure import Figure

    across, down = min(count, columns), -(-count // columns)
    figure = Figure(figsize=(size[0] * across, size[1] * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False, **shared).ravel())
    for one in axes[count:]:
        one.axis("off")
    for one in axes[:count]:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def _bars(shown: Mapping[str, Record], part: Part, measure: str, best: str, label: str) -> Figure | None:
    """Attributions, best on top; blue is what the method itself shows, black the best possible."""
    panels = {family: found for family, model in shown.items() if (found := part(model))}
    if not panels:
        return None
    figure, axes = _panels(len(panels), COLUMNS, (4.0, 0.7 + 0.25 * max(map(len, panels.values()))))
    for one, (family, found) in zip(axes, panels.items(), strict=True):
        ranked = best_first(found, measure)
        values = [100 * r[measure]["value"] for _, r in ranked]
        spans = [
            [v - 100 * r[measure]["low"] for v, (_, r) in zip(values, ranked, strict=True)],
            [100 * r[measure]["high"] - v for v, (_, r) in zip(values, ranked, strict=True)],
        ]
        colours = [
            BLUE if attribution in OWN else "0.2" if attribution == best else ORANGE
            for attribution, _ in ranked
        ]
        one.barh(range(len(ranked)), values, xerr=spans, color=colours, error_kw={"lw": 1, "ecolor": "0.4"})
        one.set_yticks(range(len(ranked)), [attribution for attribution, _ in ranked])
        one.invert_yaxis()
        one.set_title(family, fontsize=10)
        one.set_xlabel(label)
    return figure


def _curves(shown: Mapping[str, Record]) -> Figure | None:
    panels = {family: m["curves"]["coded"] for family, m in shown.items() if m["curves"].get("coded")}
    if not panels:
        return None
    figure, axes = _panels(2 * len(panels), 2, (4.0, 2.8))
    sides = [(f, found, side) for f, found in panels.items() for side in ("comprehensiveness", "sufficiency")]
    for one, (family, found, side) in zip(axes, sides, strict=True):
        for attribution, (colour, mark) in LINES.items():
            if attribution in found:
                values = found[attribution][side]
                one.plot(
                    range(1, len(values) + 1), values, color=colour, marker=mark, ms=4, label=attribution
                )
        verb = "removed (higher is better)" if side == "comprehensiveness" else "kept (lower is better)"
        one.set_xlabel(f"diagnoses of largest attribution {verb}", fontsize=8)
        one.set_ylabel("fall of log probability", fontsize=8)
        one.set_title(f"{family}: {side}", fontsize=9)
        one.set_xticks(range(1, len(next(iter(found.values()))[side]) + 1))
    for one in axes[1::2]:  # curves of sufficiency fall, so this corner is free
        one.legend(frameon=False, fontsize=7, loc="upper right")
    return figure


def _steadiness(found: Record) -> Figure | None:
    if not found:
        return None
    figure, axes = _panels(len(found), COLUMNS, (4.0, 2.6))
    for one, (family, record) in zip(axes, found.items(), strict=True):
        agreement = record["significance"]
        named = {attribution: o["first"] for attribution, o in record["overlap"].items()}
        if agreement is not None:
            named = {
                "significance: first": agreement["first"],
                "significance: Spearman": agreement["spearman"],
            } | named
        colours = [
            BLUE if attribution in OWN or attribution.startswith("sig") else ORANGE for attribution in named
        ]
        one.barh(range(len(named)), [100 * value for value in named.values()], color=colours)
        one.set_yticks(range(len(named)), list(named))
        one.invert_yaxis()
        one.set_xlim(0, 105)
        one.set_title(f"{family}\n{len(record['models'])} models", fontsize=9)
        one.set_xlabel("agreement, %")
    return figure


def _steps(shown: Mapping[str, Record]) -> Figure | None:
    """Total variation from the default plan by the number of steps, one line per β."""
    panels = {family: m["plan_settings"] for family, m in shown.items() if "plan_settings" in m}
    if not panels:
        return None
    figure, axes = _panels(len(panels), COLUMNS, (4.0, 3.0), sharey=True)
    for one, (family, settings) in zip(axes, panels.items(), strict=True):
        lines: dict[float, list[Record]] = {}
        for setting in settings:
            lines.setdefault(setting["beta"], []).append(setting)
        for (beta, line), colour in zip(lines.items(), (BLUE, ORANGE, GREEN), strict=True):
            values = [s["overlap"]["variation"] for s in line]
            one.plot(
                [s["steps"] for s in line], values, color=colour, marker="o", ms=4, label=f"β = {beta:g}"
            )
        one.set_xscale("log")
        one.set_xlabel("steps")
        one.set_title(family, fontsize=10)
    axes[0].set_ylabel("total variation from the default plan")
    axes[0].legend(frameon=False, fontsize=8)
    return figure
