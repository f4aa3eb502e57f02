"""Confirming a finished method on stays that chose nothing, once per version: what is measured, kept and shown."""

from dx2px.lab.confirmation.measures import Asked, Confirmed, confirmed
from dx2px.lab.confirmation.records import check_first, keep_once, provenance, record_file
from dx2px.lab.confirmation.tables import confirmation_blocks, record_markdown

__all__ = [
    "Asked",
    "Confirmed",
    "check_first",
    "confirmation_blocks",
    "confirmed",
    "keep_once",
    "provenance",
    "record_file",
    "record_markdown",
]
