"""The command that tests explanations: faithfulness."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import check_folder, print_table, remark, sleep_while_waiting, working
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.lab.faithfulness import Subject


def faithfulness(
    models: Annotated[
        list[Path],
        typer.Argument(
            help="Model folders, or names of models in the package; several are also compared with each other."
        ),
    ],
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    out: Annotated[Path, typer.Option(help="Folder for faithfulness.json, faithfulness.md and the figures.")],
    samples: Annotated[int, typer.Option(help="How many stays to use, at most.", min=1)] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the sample and all draws.", min=0)] = 0,
) -> None:
    """Measure whether explanations are true.

    Uses stays that the models did not learn from. Removes the diagnosis that an explanation names and measures how far
    the procedure's score falls; compares several models of one method with each other; on synthetic cohorts, compares
    with the planted causes. docs/faithfulness.md explains the numbers.
    """
    check_folder(out)
    sleep_while_waiting()
    from dx2px.lab.faithfulness import StudyConfig, study
    from dx2px.lab.faithfulness.figures import save_figures
    from dx2px.lab.faithfulness.markdown import markdown
    from dx2px.storage import write_text

    subjects = [_subject(model) for model in models]
    with working("faithfulness") as say, _unconverged_in_one_remark():
        record = study(subjects, cohort, StudyConfig(samples, seed), say)
    out.mkdir(parents=True, exist_ok=True)
    write_text(
        out / "faithfulness.json", json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )
    write_text(out / "faithfulness.md", markdown(record))
    save_figures(record, out)
    _show(record)
    remark(f"The results are in {out}.")


@contextmanager
def _unconverged_in_one_remark() -> Iterator[None]:
    """Count the batches of transport plans that did not converge, instead of a warning for each."""
    from dx2px.methods.paper.transport import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    worst = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    for one in caught:
        if one not in worst:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if worst:
        remark(
            f"Transport plans stopped before they converged, {counted(len(worst), 'time')}; {worst[0].message}."
        )


def _subject(model: Path) -> Subject:
    from dx2px.answers.shipped import model_path
    from dx2px.lab.faithfulness import Subject
    from dx2px.scoring.folder import read_folder

    path = model_path(model)
    return Subject(path.resolve().name, read_folder(path))


def _show(record: dict[str, Any]) -> None:
    """For each model, what its own explanation attains."""
    from dx2px.lab.faithfulness.markdown import OWN

    rows = []
    for name, model in record["models"].items():
        known = model["deletion"].get("coded", {})
        own = next((attribution for attribution in OWN if attribution in known), "leave-one-out")
        removed = (model["deletion"].get(target, {}).get(own) for target in ("coded", "ranked first"))
        shares = [None if one is None else one["of_best"] for one in removed]
        falls = [None if share is None else f"{100 * share['value']:.1f}" for share in shares]
        planted = model.get("planted", {}).get(own)
        right = None if planted is None else f"{100 * planted['of_posterior']['value']:.1f}"
        steady = record["stability"].get(model["family"], {}).get("significance")
        rows.append([name, own, right, *falls, None if steady is None else f"{steady['spearman']:.3f}"])
    head = ["model", "explanation", "causes, %", "deletion, coded, %", "deletion, first, %", "rank agreement"]
    print_table("Per cent of the best possible; rank agreement of significance between models", head, rows)
