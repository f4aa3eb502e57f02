"""What an audit found, in numbers that fit a terminal of 80 columns: no stay and no id is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dx2px.answers.audit_file import FileAudit, Group
from dx2px.answers.drg import DrgCounts
from dx2px.answers.results import shown_probability
from dx2px.cli.console import print_table
from dx2px.codes import Notation
from dx2px.report.audit_words import WORDS
from dx2px.words import counted, shortened

GROUPS = 10  # printed
_WIDTH = 80
_TITLE = 2  # the column of the table of groups that gives way
_LONGEST_CODE = 20  # families may have more characters; files have them all
_BETWEEN = 14  # columns that the rules of this table take


def print_summary(found: FileAudit) -> None:
    """Print the findings by kind, and the largest groups."""
    counts = found.counts
    share = counts.stays_with_findings / max(counts.stays, 1)
    heading = f"{counted(counts.stays, 'stay')}, {counts.stays_with_findings:,} of them ({share:.1%}) with a finding"
    per_100 = 100 / max(counts.stays, 1)
    rows = [
        [WORDS[kind].name, counts.by_kind[kind], per_100 * counts.by_kind[kind], WORDS[kind].short]
        for kind in found.settings.kinds
    ]
    rows.append(["all", counts.findings, per_100 * counts.findings, ""])
    print_table(heading, ["finding", "number", "per 100 stays", "the procedure is"], rows)
    if groups := found.groups()[:GROUPS]:
        print_groups(groups)


def print_groups(groups: Sequence[Group]) -> None:
    """Print groups of findings about one procedure, with the share of such stays that have it."""
    notation = Notation.of(group.code for group in groups)
    columns = ["finding", notation.heading, "procedure", "stays", "have it"]
    rows = [
        [
            WORDS[group.kind].name,
            shortened(notation.write(group.code), _LONGEST_CODE),
            group.title,
            f"{group.stays:,}",
            shown_probability(group.probability),
        ]
        for group in groups
    ]
    widths = [max(len(row[place]) for row in (columns, *rows)) for place in range(len(columns))]
    room = max(_WIDTH - sum(widths) + widths[_TITLE] - _BETWEEN, len(columns[_TITLE]))
    for row in rows:
        row[_TITLE] = row[_TITLE] if len(row[_TITLE]) <= room else f"{row[_TITLE][: room - 1].rstrip()}…"
    print_table(
        "The largest groups, and the share of such stays that have the procedure", columns, rows, codes=(1,)
    )


def summary(found: FileAudit, drg: DrgCounts | None) -> dict[str, Any]:
    """The same as data, with all groups."""
    return {
        **found.counts.to_dict(),
        "kept": found.findings.num_rows,
        "groups": [asdict(group) for group in found.groups()],
        **({} if drg is None else {"drg": asdict(drg)}),
    }
