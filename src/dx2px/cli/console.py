"""Printing: results on standard output, remarks and progress on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from dx2px.errors import InputError

INTERRUPTED = 130  # the exit code of a command that Ctrl+C stopped
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def refuse_options(options: Iterable[str], whom: str) -> None:
    """An `InputError` where options were given that mean nothing to what they were given to."""
    given = [f"--{name.replace('_', '-')}" for name in options]
    if given:
        verb = "means" if len(given) == 1 else "mean"
        raise InputError(f"{', '.join(given)} {verb} nothing to {whom}.")


def remark(message: str) -> None:
    """Something the user should know, apart from the result."""
    typer.echo(message, err=True)


def print_json(value: Any) -> None:
    """A value as JSON, and nothing else, on standard output; in ASCII where that cannot show every character."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    typer.echo(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table whose number columns (those not first) stand to the right, unless they hold text."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    body = [[_shown(cell) for cell in row] for row in rows]
    numbers = [all(_is_number(row[place]) for row in body) for place in range(len(columns))]
    # As text, for codes and titles may hold brackets, which rich would read as its markup.
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(Text(name), justify="right" if numbers[place] else "left", no_wrap=numbers[place])
    for row in body:
        table.add_row(*map(Text, row))
    Console(highlight=False, width=None if sys.stdout.isatty() else 110).print(table)


def print_text(text: str) -> None:
    """Text as it is, on standard output."""
    typer.echo(text)


@contextmanager
def working(what: str) -> Iterator[Any]:
    """Yield a function that tells what is being done: a spinner on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda message: remark(f"{what}: {message}")
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(what) as status:
        yield lambda message: status.update(Text(f"{what}: {message}"))


@contextmanager
def counting(what: str, total: int) -> Iterator[Any]:
    """Yield a function that is told how many are done: a bar on a terminal, a line each tenth elsewhere."""
    if not sys.stderr.isatty():
        yield _tenths(what, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def training_progress(what: str, epochs: int, shown: bool = True) -> Iterator[Any]:
    """Yield a function from a stop question to training hooks: a bar on a terminal, a line an epoch elsewhere."""
    from dx2px.training.loop import Hooks

    if not shown:
        yield lambda stop: Hooks(stop=stop)
        return
    if not sys.stderr.isatty():
        yield lambda stop: Hooks(epoch=lambda e: remark(f"{what}: {_epoch_line(e, epochs)}"), stop=stop)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, state="")

        def step(p: Any) -> None:
            left = f"{p.seconds_left / 60:.0f} min" if p.seconds_left > 90 else f"{p.seconds_left:.0f} s"
            state = f"epoch {p.epoch}/{p.epochs} · loss {p.loss:.3f} · {p.stays_per_second:,.0f} stays/s · {left} left"
            bar.update(
                task, total=p.epochs * p.steps, completed=(p.epoch - 1) * p.steps + p.step, state=state
            )

        yield lambda stop: Hooks(
            progress=step,
            epoch=lambda e: bar.console.print(_epoch_line(e, epochs), highlight=False),
            stop=stop,
        )


def _epoch_line(e: Any, epochs: int) -> str:
    parts = [f"epoch {e.epoch}/{epochs}", f"predictive loss {e.loss_predictive:.4f}"]
    if e.loss_transport:
        parts.append(f"transport loss {e.loss_transport:.4f}")
    parts += [f"validation F1@5 {e.validation_f1:.2f}", f"{e.stays_per_second:,.0f} stays/s"]
    if e.unconverged > 0.01:
        parts.append(f"{e.unconverged:.2%} of the transport problems unconverged")
    return "  ".join(parts)


def _tenths(what: str, total: int) -> Any:
    shown = 0

    def tell(done: int) -> None:
        nonlocal shown
        tenth = 10 * done // max(total, 1)
        if tenth > shown:
            shown = tenth
            remark(f"{what}: {done:,} of {total:,}")

    return tell


def _shown(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").replace("%", "").replace("–", "0").strip().isdigit()


def sleep_while_waiting() -> None:
    """Let waiting threads sleep: with another busy process on the machine, spinning ones cost a factor of five.

    The setting is read once, when torch is first imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
