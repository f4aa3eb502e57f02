"""The progress of a benchmark: on a terminal a table that is kept up to date, elsewhere one line per change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dx2px.cli.console import remark

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from dx2px.lab.benchmark import Progress
    from dx2px.lab.benchmark.progress import Tally

Tell = Callable[["Progress"], None]


@contextmanager
def board(what: str) -> Iterator[Tell]:
    """Yield a function that shows how far the runs are."""
    if not sys.stderr.isatty():
        yield lambda progress: remark(f"{what}: {progress.line}")
        return
    from rich.console import Console
    from rich.live import Live

    view = View(what)
    with Live(view, console=Console(stderr=True), refresh_per_second=1) as live:

        def tell(progress: Progress) -> None:
            view.progress = progress
            live.refresh()

        yield tell


class View:
    """The last known state; what depends on the clock is computed whenever it is drawn."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.progress: Progress | None = None

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        if self.progress is None:
            return Text(self.what)
        now = time.monotonic()
        lines = [f"{self.what}: {self.progress.summary(now - self.progress.at)}"]
        lines += [f"  {run.name}, {_clock(now - run.since)}" for run in self.progress.running]
        return Group(grid(self.progress), *(Text(line) for line in lines))


def grid(progress: Progress) -> Table:
    """One row per method, one column per cohort: runs done, running and failed."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cohorts = list(dict.fromkeys(tally.cohort for tally in progress.tallies))
    known = {(tally.cohort, tally.method): tally for tally in progress.tallies}
    table = Table("", box=SIMPLE_HEAD, pad_edge=False)
    for cohort in cohorts:
        table.add_column(Text(cohort))
    for method in dict.fromkeys(tally.method for tally in progress.tallies):
        table.add_row(method, *(_cell(known.get((cohort, method))) for cohort in cohorts))
    return table


def _cell(tally: Tally | None) -> Any:
    from rich.text import Text

    if tally is None:
        return Text("–", style="dim")
    running = f" · {tally.running} running" if tally.running else ""
    failed = f" · {tally.failed} failed" if tally.failed else ""
    complete = tally.done == tally.total
    style = "red" if failed else "green" if complete else "bold" if running else ""
    return Text(f"{tally.done}/{tally.total}{running}{failed}", style=style)


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
