"""Printing: results on standard output, remarks and progress on standard error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from dx2px.cli.tables import print_table as print_table
from dx2px.errors import InputError
from dx2px.storage import check_home

INTERRUPTED = 130  # the exit code of a command that Ctrl+C stopped
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def refuse_options(options: Iterable[str], whom: str) -> None:
    """An `InputError` if options were given that have no effect on `whom`."""
    given = [f"--{name.replace('_', '-')}" for name in options]
    if given:
        verb, them = ("has", "it") if len(given) == 1 else ("have", "them")
        raise InputError(f"{', '.join(given)} {verb} no effect on {whom}: leave {them} out.")


def check_folder(out: Path) -> None:
    """An `InputError` if nothing can be written into a folder, before the work whose results go there."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the results need a folder.")
    check_home(out / "results")


def remark(message: str) -> None:
    """Print something the user should know, apart from the result. On a terminal, lines end between words."""
    if not sys.stderr.isatty():
        typer.echo(message, err=True)
        return
    room = shutil.get_terminal_size().columns
    lines = (_wrapped(line, room) for line in message.split("\n"))
    typer.echo("\n".join(lines), err=True)


def _wrapped(line: str, room: int) -> str:
    """A sentence in lines; what is indented was laid out on purpose, and addresses are never broken."""
    if line.startswith(" "):
        return line
    return textwrap.fill(line, room, break_long_words=False, break_on_hyphens=False)


def print_json(value: Any) -> None:
    """Print a value as JSON and nothing else; in ASCII if the terminal cannot show every character."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    typer.echo(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False))


@contextmanager
def working(what: str) -> Iterator[Any]:
    """Yield a function that shows what is being done: a spinner on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda message: remark(f"{what}: {message}")
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(what) as status:
        yield lambda message: status.update(Text(f"{what}: {message}"))


@contextmanager
def counting(what: str, total: int) -> Iterator[Any]:
    """Yield a function that shows how many are done: a bar on a terminal, a line per tenth elsewhere."""
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
def training_progress(what: str, shown: bool = True) -> Iterator[Any]:
    """Yield a function that makes training hooks: a bar on a terminal, one line per epoch elsewhere.

    Its argument is a function that returns whether training should stop.
    """
    from dx2px.training.loop import Hooks

    if not shown:
        yield lambda stop: Hooks(stop=stop)
        return
    if not sys.stderr.isatty():
        yield lambda stop: Hooks(
            epoch=lambda e, epochs: remark(f"{what}: {_epoch_line(e, epochs)}"), stop=stop
        )
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
            epoch=lambda e, epochs: bar.console.print(_epoch_line(e, epochs), highlight=False),
            stop=stop,
        )


def _epoch_line(e: Any, epochs: int) -> str:
    measures = dict(e.measures)
    unconverged = measures.pop("unconverged", 0.0)
    losses = {name: value for name, value in measures.items() if name.startswith("loss_")}
    parts = [f"epoch {e.epoch}/{epochs}"]
    parts += [f"{name.removeprefix('loss_')} loss {value:.4f}" for name, value in losses.items()]
    if e.validation_f1 == e.validation_f1:  # NaN without validation stays
        parts.append(f"validation F1@5 {e.validation_f1:.2f} %")
    parts.append(f"{e.stays_per_second:,.0f} stays/s")
    if unconverged > 0.01:
        parts.append(f"{unconverged:.2%} of the transport problems did not converge")
    return "  ".join(parts)


def _tenths(what: str, total: int) -> Any:
    shown = 0

    def show(done: int) -> None:
        nonlocal shown
        tenth = 10 * done // max(total, 1)
        if tenth > shown:
            shown = tenth
            remark(f"{what}: {done:,} of {total:,}")

    return show


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Let SIGTERM end the command as Ctrl-C does, so that nothing half written stays; yield the signals received.

    Not under torchrun, which ends its processes by SIGTERM while they wait for each other in compiled code, where
    Python would notice the signal too late. The next run removes what they leave.
    """
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    wanted = [signal.SIGINT] if "TORCHELASTIC_RUN_ID" in os.environ else [signal.SIGINT, signal.SIGTERM]
    usual = (signal.SIG_DFL, signal.default_int_handler)  # a signal that is ignored stays ignored
    main_thread = threading.current_thread() is threading.main_thread()
    before = {one: signal.getsignal(one) for one in wanted if main_thread and signal.getsignal(one) in usual}
    for one in before:
        signal.signal(one, note)
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def sleep_while_waiting() -> None:
    """Let waiting threads sleep. Next to another busy process, threads that spin slow the work down five times.

    torch reads the setting once, when it is first imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
