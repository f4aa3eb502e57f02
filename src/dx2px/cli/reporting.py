"""The command that writes one page about a model: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dx2px.cli.console import remark, sleep_while_waiting, working
from dx2px.cli.measuring import PartName
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] COHORT",
            help="A model folder, or a name from `dx2px models` [default: the package's own], and a cohort file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write, .html.")] = Path("report.html"),
    on: Annotated[
        PartName | None,
        typer.Option(help="Which stays [default: test of the cohort it learned from, all of another]."),
    ] = None,
    stays: Annotated[int, typer.Option(help="How many stays to explain; 0 for none.", min=0, max=100)] = 10,
    map_out: Annotated[
        Path | None, typer.Option("--map", help="Also the map of the codes alone, .html.")
    ] = None,
) -> None:
    """Write one page about a model and a cohort: accuracy, calibration, explained stays, map of the codes, card.

    It is measured on the test part of the cohort that the model learned from, or on all stays of another. The page
    opens without a network. With --stays above 0 it holds codes of single stays: treat it as you treat the cohort.
    """
    if len(paths) > 2:
        raise InputError("Give a model and a cohort, or a cohort alone for the package's model.")
    for page in (out, map_out):
        _check_page(page)
    if map_out is not None and map_out.absolute() == out.absolute():
        raise InputError("The report and the map need a file each.")
    model = paths[0] if len(paths) == 2 else None
    write_report(model, paths[-1], out, on.value if on else None, stays, map_out)


def write_report(
    model: Path | None,
    cohort: Path,
    out: Path,
    part: str | None = None,
    stays: int = 10,
    map_out: Path | None = None,
) -> None:
    """Measure and write; the last line says where the page is."""
    sleep_while_waiting()
    from dx2px.cohort import Cohort
    from dx2px.inference import Model
    from dx2px.inference.shipped import model_path

    folder = model_path(model)
    loaded, whole = Model.load(folder), Cohort.load(cohort)
    if map_out is not None and "U" not in loaded.files.arrays:
        raise InputError(f"Models of the method {loaded.files.method!r} have no vectors of codes to map.")
    from dx2px.report.embedding import save_map
    from dx2px.report.page import ReportConfig, measure, save_report

    names = {"name": folder.resolve().name, "cohort_name": cohort.name}
    with working("report") as say:
        content = measure(loaded, whole, ReportConfig(stays, part), **names, say=say)
    save_report(content, out)
    if map_out is not None and content.vectors is not None:
        save_map(content.vectors.map, map_out, content.name)
        remark(f"The map is in {map_out}.")
    if content.stays:
        shown = counted(len(content.stays), "stay")
        remark(f"The page holds codes of {shown}, without ids: treat it as you treat the cohort.")
    remark(f"The report is in {out}.")


def _check_page(page: Path | None) -> None:
    """Before any work: an ending that a browser knows, and a place that can be written to."""
    if page is None:
        return
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"A page is an .html file, not {page.name!r}.")
    check_place(page)
