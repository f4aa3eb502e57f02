"""The command line: parse, call, print."""

import signal
import threading


def main() -> None:
    """Run the command line. Ctrl-C while it is still being imported ends it at once, without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    quiet = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if quiet:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dx2px.cli.app import main as run

    if quiet:
        signal.signal(signal.SIGINT, before)
    run()


__all__ = ["main"]
