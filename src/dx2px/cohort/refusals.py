"""What `prepare` refuses or warns about: too many rejects, exchanged kinds of code, files cut off, nothing left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dx2px.codes import Kind
from dx2px.cohort.accounting import Counts
from dx2px.cohort.text_tables import Staged
from dx2px.cohort.verdicts import (
    MISSING_KIND,
    NOT_ICD_VOCABULARY,
    OUTSIDE_STAY,
    WITHDRAWN,
    Written,
    is_listed_as,
    sentence,
)
from dx2px.errors import CohortError
from dx2px.words import counted

TOLERATED_REJECTS = (
    0.01  # the share of rejected entries above which `prepare` warns, or with `strict` refuses
)
MAX_REJECTED = 0.25  # the share above which it refuses in any case, unless the user allows more
# The source itself says that these are something else, as many do: they are not a sign of a misread file.
EXPECTED_REASONS = (NOT_ICD_VOCABULARY, MISSING_KIND, OUTSIDE_STAY, WITHDRAWN)
# In the open data, at least 97 % of a kind's entries are listed as that kind, and at most 37 % as the other one.
OTHER_KIND_SHARE, OTHER_KIND_LEAD = 0.6, 1.5
SIGNS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
USUAL = (("UTF-8", None), ("UTF-8", ","))  # encoding and separator that need no word
OTHER: dict[Kind, Kind] = {"diagnosis": "procedure", "procedure": "diagnosis"}
PLURAL: dict[Kind, str] = {"diagnosis": "diagnoses", "procedure": "procedures"}


@dataclass(frozen=True)
class Limits:
    """How many rejects are tolerated: the largest share, and whether 1 % is already too much."""

    max_rejected: float = MAX_REJECTED
    strict: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.max_rejected <= 1:
            raise CohortError("The largest share of rejected entries must be between 0 and 1.")

    def check_lines(self, staged: Mapping[Path, Staged]) -> None:
        """Refuse files most of whose lines are no records, and say what is wrong with them."""
        reasons = Counter(item.reason for text in staged.values() for item in text.malformed)
        malformed = reasons.total()
        lines = malformed + sum(text.records for text in staged.values())
        if malformed <= self.max_rejected * lines:
            return
        reason, times = reasons.most_common(1)[0]
        raise CohortError(
            f"{malformed:,} of {counted(lines, 'line')} cannot be read as records; the most frequent reason "
            f"({times:,}): {reason}. Nothing was written."
        )

    def check_entries(self, rejected: Mapping[str, int], usable: int) -> tuple[str, ...]:
        """A warning if more entries were rejected than in a healthy source; an error if far more."""
        total = sum(rejected.values())
        read = total + usable
        if total <= TOLERATED_REJECTS * read:
            return ()
        message = f"{total:,} of {read:,} entries ({total / read:.1%}) are rejected: {_top(rejected)}."
        if self.strict:
            raise CohortError(
                f"{message} Nothing was written; without --strict, they are listed in a rejects file."
            )
        unexpected = sum(count for reason, count in rejected.items() if reason not in EXPECTED_REASONS)
        if unexpected > self.max_rejected * read:
            raise CohortError(
                f"{message} This is too much, so nothing was written: check the files, their columns and the ICD "
                "version, or allow it with --max-rejected 1 (max_rejected=1 in Python)."
            )
        return (message,)


def check_kinds(texts: Sequence[Written]) -> tuple[str, ...]:
    """Refuse diagnoses and procedures that look exchanged; warn if the codes of one kind look like the other."""
    strange = [kind for kind in OTHER if _looks_like_other(kind, texts)]
    if len(strange) == len(OTHER):
        raise CohortError(
            "Diagnoses and procedures look swapped: most diagnoses are listed as procedures, and most procedures as "
            "diagnoses. Exchange the two files or columns."
        )
    return tuple(
        f"Most {PLURAL[kind]} look like {PLURAL[OTHER[kind]]}; check the columns." for kind in strange
    )


def _looks_like_other(kind: Kind, texts: Sequence[Written]) -> bool:
    written = [item for item in texts if item.kind == kind]
    total = sum(item.entries for item in written)
    own, other = (
        sum(item.entries for item in written if is_listed_as(item, listed)) for listed in (kind, OTHER[kind])
    )
    return other > OTHER_KIND_SHARE * total and other > OTHER_KIND_LEAD * own


def read_as(staged: Mapping[Path, Staged], always: bool) -> tuple[str, ...]:
    """A note on the encoding and separator of each text file; without `always`, only where they are unusual."""
    return tuple(
        f"{path.name}: {_encoding(text)}{_separator(text)} (guessed)."
        for path, text in staged.items()
        if text.lines > text.blank
        and ((always and text.delimiter) or text.western or (text.encoding, text.delimiter) not in USUAL)
    )


def _encoding(text: Staged) -> str:
    if not text.western:
        return f"read as {text.encoding}"
    lines = counted(text.western, "line that is not UTF-8", "lines that are not UTF-8")
    return f"read as UTF-8, and {lines} as Windows-1252"


def _separator(text: Staged) -> str:
    return f", fields separated by {SIGNS[text.delimiter]}" if text.delimiter else ""


def unended(staged: Mapping[Path, Staged]) -> tuple[str, ...]:
    """A note for each file whose last line has no end, as in a file that was cut off."""
    return tuple(
        f"{path.name} does not end with a line end; if it was cut off, its last code may be incomplete."
        for path, text in staged.items()
        if not text.ended
    )


def check_not_empty(counts: Counts, min_count: int) -> None:
    """Refuse a cohort without stays, and say why it has none."""
    if counts.stays:
        return
    both = counts.stays_with_both_kinds
    if not counts.entries_read:
        raise CohortError("No stay is left: the tables have no entries.")
    if not both:
        rejected = f" Rejected: {_top(counts.rejected)}." if counts.rejected else ""
        raise CohortError(
            f"No stay is left: of {counts.stays_read:,} read, none has a diagnosis and a procedure.{rejected}"
        )
    raise CohortError(
        f"No stay is left: {both:,} of {counted(counts.stays_read, 'stay')} had a diagnosis and a procedure, but "
        f"none keeps both without the codes found in fewer than {counted(min_count, 'stay')}. "
        "Use a lower minimum count."
    )


def _top(rejected: Mapping[str, int]) -> str:
    return ", ".join(
        f"{sentence(reason).rstrip('.')} ({count:,})" for reason, count in list(rejected.items())[:3]
    )
