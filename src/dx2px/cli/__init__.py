"""The command line: parse, call, print."""

from dx2px.cli.app import main

__all__ = ["main"]
