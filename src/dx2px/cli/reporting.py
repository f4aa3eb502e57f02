"""The command that writes one page about a model: report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dx2px.cli.console import remark, sleep_while_waiting, working
from dx2px.cli.measuring import PART_DEFAULT, PartName
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] COHORT",
            help="A model folder or the name of a model in the package, and a cohort file. With a cohort alone, the "
            "package's default model is used.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The .html page to write.")] = Path("report.html"),
    on: Annotated[
        PartName | None,
        typer.Option(help="Which stays to measure on.", show_default=PART_DEFAULT),
    ] = None,
    stays: Annotated[
        int, typer.Option(help="How many single stays to explain; 0 for none.", min=0, max=100)
    ] = 10,
    map_out: Annotated[
        Path | None,
        typer.Option("--map", help="Also write the map of the codes as an .html page of its own."),
    ] = None,
) -> None:
    """Write one page about a model and a cohort.

    It shows accuracy, calibration, explained stays, a map of the codes and the model card, and opens without a
    network. With --stays above 0 it holds codes of single stays: keep it as safe as the cohort.

    \b
    Examples:
      dx2px report MODEL C.parquet --out report.html
      dx2px report C.parquet --stays 0
    """
    if len(paths) > 2:
        raise InputError(
            f"Give a model and a cohort, or a cohort alone for the package's model, not {len(paths)} names."
        )
    for page in (out, map_out):
        _check_page(page)
    if map_out is not None and map_out.absolute() == out.absolute():
        raise InputError("The report and the map need two files: --out and --map name the same one.")
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
    """Measure, write the page and print where it is."""
    sleep_while_waiting()
    from dx2px.answers import Model
    from dx2px.answers.shipped import model_path
    from dx2px.cohort import Cohort

    folder = model_path(model)
    loaded, whole = Model.load(folder), Cohort.load(cohort)
    if map_out is not None and "U" not in loaded.files.arrays:
        raise InputError(
            f"--map: models of the method {loaded.files.method!r} have no vectors of codes to map."
        )
    if {"U", "V"} <= loaded.files.arrays.keys():
        import sklearn  # noqa: F401 - it draws the map of the codes; if it is missing, say so before the work
    from dx2px.report.embedding import save_map
    from dx2px.report.page import ReportConfig, measure, save_report

    names = {"name": folder.resolve().name, "cohort_name": cohort.name}
    with working("report") as say:
        content = measure(loaded, whole, ReportConfig(stays, part), **names, say=say)
    save_report(content, out)
    if map_out is not None and content.vectors is not None:
        save_map(content.vectors.map, map_out, content.name)
        remark(f"The map is in {map_out}.")
    if content.stays and not content.synthetic:
        shown = counted(len(content.stays), "stay")
        remark(f"The page shows the codes of {shown}, without ids: keep it as safe as the cohort.")
    remark(f"The report is in {out}.")


def _check_page(page: Path | None) -> None:
    """Check, before any work, that a page can be written there."""
    if page is None:
        return
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"A page is an .html file, not {page.name!r}: choose another name.")
    check_place(page)
