"""What all figures share: colours that colour-blind readers can tell apart, formats, saving all or nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dx2px.errors import InputError
from dx2px.storage import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#E69F00"
FORMATS = (".png", ".svg", ".pdf")


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of this size in inches, drawn without a display."""
    figure, [axes] = new_row(1, width, height)
    return figure, axes


def new_row(panels: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of several panels of this size, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * panels, height), layout="constrained")
    row = list(figure.subplots(1, panels, squeeze=False)[0])
    for axes in row:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, row


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a file ending that is not a figure's."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(
            f"A figure is saved as {', '.join(FORMATS)}; {os.fspath(path)} has another ending: change it."
        )


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure in the format its ending names."""
    check_format(path)
    from matplotlib import rc_context

    kind = Path(path).suffix[1:].lower()
    dateless = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}  # the same figure is the same file
    with atomic_path(path) as draft, rc_context({"svg.hashsalt": "dx2px"}):
        figure.savefig(draft, format=kind, dpi=150, metadata=dateless.get(kind))
