"""Which causes an explanation misses: accuracy of the default model's shares and of lift by how frequent the cause is.

Run: python benchmarks/cause_frequency.py MODEL COHORT
MODEL is a folder of the method `coupling` that `dx2px train` made of COHORT, a synthetic cohort with its planted truth
beside it. Over all its test stays. Prints Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort
from dx2px.cohort.synthetic import Truth
from dx2px.evaluation.faithfulness.attributions import attributions
from dx2px.evaluation.faithfulness.planted import Planted
from dx2px.evaluation.faithfulness.study import Stays, StudyConfig
from dx2px.evaluation.faithfulness.subject import Subject
from dx2px.inference.scoring import scorer_for
from dx2px.model.folder import read_folder

BANDS = (0, 40, 80, 200, 1000, 5000)  # training stays with the cause


def table(model: Path, path: Path) -> str:
    """A row a band, and one of all."""
    cohort = Cohort.load(path)
    subject = Subject(model.name, read_folder(model), scorer_for)
    stays = Stays.of([subject], cohort, StudyConfig(samples=len(cohort)))
    planted, background = Planted.of(Truth.load(path), cohort, stays.rows), stays.background
    if background is None or subject.method != "coupling":
        raise SystemExit(f"{model} is no model of the method coupling that learned from {path}.")
    ways = attributions(subject, background, seed=0)
    pairs, kept = planted.pairs, planted.explained
    values = {"posterior": planted.posterior, **{way: ways[way](pairs) for way in ("shares", "lift")}}
    right = {way: planted.right(found)[kept] for way, found in values.items()}
    cause = pairs.diagnoses.values[pairs.source[planted.cause & kept[pairs.entry]]]  # (explained procedures,)
    band = np.digitize(background.diagnoses[cause], BANDS[1:])
    lines = [
        "| training stays with the cause | procedures, % | " + " | ".join(f"{way}, %" for way in right) + " |"
    ]
    lines.append("|---" * (2 + len(right)) + "|")
    for number, least in enumerate(BANDS):
        most = f"{least:,} to {BANDS[number + 1] - 1:,}" if number + 1 < len(BANDS) else f"{least:,} and more"
        lines.append(row(most, band == number, right))
    lines.append(row("all", np.ones(len(band), bool), right))
    blamed = pairs.diagnoses.values[pairs.source[pairs.order(values["shares"]) == 0]][kept]
    lost = (right["shares"] < 1) & (right["lift"] == 1)
    medians = [np.median(background.diagnoses[codes[lost]]) for codes in (cause, blamed)]
    told = (
        f"Of {lost.sum():,} procedures that lift puts down rightly and the shares do not, the cause has "
        "{:,.0f} training stays (median), the diagnosis blamed {:,.0f}."
    )
    return "\n".join([*lines, "", told.format(*medians)])


def row(name: str, chosen: np.ndarray, right: dict[str, np.ndarray]) -> str:
    numbers = [100 * chosen.mean(), *(100 * found[chosen].mean() for found in right.values())]
    return "| " + " | ".join([name, *(f"{number:.1f}" for number in numbers)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("cohort", type=Path)
    given = parser.parse_args()
    print(table(given.model, given.cohort))


if __name__ == "__main__":
    main()
