"""The tables of a confirmation, in Markdown, from its record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dx2px.codes.shown import shown_code
from dx2px.lab.confirmation.records import read_records
from dx2px.lab.tables import table
from dx2px.version import __version__

NOT_YET = "The confirmation is made once per release and has not been run for this version yet.\n"


def confirmation_blocks(folder: Path, version: str = __version__) -> dict[str, str]:
    """The newest confirmation, in short and in detail; if it is not of this version, a sentence says so first."""
    records = read_records(folder)
    own = [record for record in records if record["version"] == version]
    before = [] if own else [NOT_YET]
    newest = (own or records)[:1]
    made = {"confirmation": SHORT, "confirmation details": DETAIL}
    return {
        name: "\n".join([*before, *(part(record) for record in newest for part in parts)])
        for name, parts in made.items()
    }


def record_markdown(record: Mapping[str, Any]) -> str:
    """What was measured on, then ranking and completion, differences, probabilities, alternatives."""
    return "\n".join(part(record) for part in (*SHORT, *DETAIL))


def _heading(record: Mapping[str, Any]) -> str:
    kept, learned = record["projection"], record["training"]
    aside = (
        f"{kept[kind]['entries_set_aside']:,} of {kept[kind]['entries']:,} {kind}"
        for kind in ("diagnoses", "procedures")
    )
    share = record["dry_run"]
    what = (
        f"Version {record['version']}, confirmed on {record['date'][:10]}"
        if share is None
        else f"Dry run, not a confirmation: version {record['version']}, {100 * share:g} % of the sample held out"
    )
    lines = (
        f"{what}.",
        f"Learned from {learned['stays']:,} stays and calibrated on {learned['validation']:,} others.",
        f"Measured on the {kept['stays_kept']:,} of {kept['stays']:,} stays that keep a diagnosis and a procedure.",
        f"Set aside, since the models do not know them: {' and '.join(aside)}.",
    )
    return "\n".join(lines) + "\n"


def _ranking(record: Mapping[str, Any]) -> str:
    models = record["models"]
    lengths, places = models[0]["f1"], models[0]["removed"]["among"]
    head = [
        "model",
        *(f"F1@{L}, %" for L in lengths),
        *("found first, %" if L == "1" else f"found in the first {L}, %" for L in places),
    ]
    rows = [
        [
            one["name"],
            *(_interval(found) for found in one["f1"].values()),
            *(_interval(found) for found in one["removed"]["among"].values()),
        ]
        for one in models
    ]
    return table(head, rows)


def _differences(record: Mapping[str, Any]) -> str:
    head = ["F1 of", "minus F1 of", *(f"F1@{L}, points" for L in record["models"][0]["f1"])]
    rows = [
        [one["model"], one["opponent"], *(_interval(found, "+.2f") for found in one["f1"].values())]
        for one in record["differences"]
    ]
    return table(head, rows)


def _probabilities(record: Mapping[str, Any]) -> str:
    head = [
        "model",
        "log loss per stay",
        "mean gap at 30 % or more, points",
        "by chance, points",
        "procedures measured",
        "expected / observed, 5 to 95 % of procedures",
    ]
    rows = []
    for one in record["models"]:
        found = one["procedures"]
        ratios = found["expected_over_observed"]
        rows.append(
            [
                one["name"],
                f"{one['log_loss']:.3f}",
                *(
                    "–" if found[name] is None else f"{100 * found[name]:.1f}"
                    for name in ("mean_gap", "by_chance")
                ),
                found["measured"],
                "–" if ratios is None else f"{ratios[0]:.2f} to {ratios[1]:.2f}",
            ]
        )
    return table(head, rows)


def _alternatives(record: Mapping[str, Any]) -> str:
    head = ["model", "diagnosis", "alternatives", "stays", "coded per stay", "mean sum", "95th percentile"]
    rows = [
        [
            one["name"],
            shown_code(found["diagnosis"]),
            " + ".join(map(shown_code, found["pair"])),
            f"{found['stays']:,}",
            *(f"{found[name]:.2f}" for name in ("coded_per_stay", "mean", "p95")),
            f"{100 * found['too_much']:.1f}",
        ]
        for one in record["models"]
        for found in one["alternatives"]
    ]
    return table([*head, "stays above 1.05, %"], rows) if rows else ""


def _interval(found: Mapping[str, float], form: str = ".1f") -> str:
    return f"{found['value']:{form}} ({found['low']:{form}} to {found['high']:{form}})"


SHORT = (_heading, _ranking)
DETAIL = (_differences, _probabilities, _alternatives)
