"""Which causes does an explanation miss? Accuracy of the default model's shares and of lift, by frequency of the cause.

Run: python studies/cause_frequency.py MODEL COHORT
MODEL is a folder of the method `coupling` that `dx2px train` made from COHORT, a synthetic cohort with its planted
truth beside it. Measured on all its test stays. Prints Markdown; docs/faithfulness.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort
from dx2px.lab.faithfulness.attributions import attributions
from dx2px.lab.faithfulness.planted import Planted
from dx2px.lab.faithfulness.study import Stays, StudyConfig
from dx2px.lab.faithfulness.subject import Subject
from dx2px.lab.synthetic import Truth
from dx2px.scoring.folder import read_folder

BANDS = (0, 40, 80, 200, 1000, 5000)  # training stays with the cause


def table(model: Path, path: Path) -> str:
    """One row per band of frequency, and one for all causes."""
    cohort = Cohort.load(path)
    subject = Subject(model.name, read_folder(model))
    stays = Stays.of([subject], cohort, StudyConfig(samples=len(cohort)))
    planted, background = Planted.of(Truth.load(path), cohort, stays.rows), stays.background
    if background is None or subject.method != "coupling":
        raise SystemExit(f"{model} is not a model of the method coupling that learned from {path}.")
    named = attributions(subject, background, seed=0)
    pairs, kept = planted.pairs, planted.explained
    values = {"posterior": planted.posterior, **{name: named[name](pairs) for name in ("shares", "lift")}}
    right = {name: planted.right(found)[kept] for name, found in values.items()}
    cause = pairs.diagnoses.values[pairs.source[planted.cause & kept[pairs.entry]]]  # (explained procedures,)
    band = np.digitize(background.diagnoses[cause], BANDS[1:])
    lines = [
        "| training stays with the cause | procedures, % | "
        + " | ".join(f"{name}, %" for name in right)
        + " |"
    ]
    lines.append("|---" * (2 + len(right)) + "|")
    for number, least in enumerate(BANDS):
        most = f"{least:,} to {BANDS[number + 1] - 1:,}" if number + 1 < len(BANDS) else f"{least:,} and more"
        if (band == number).any():
            lines.append(row(most, band == number, right))
    lines.append(row("all", np.ones(len(band), bool), right))
    first = pairs.diagnoses.values[pairs.source[pairs.order(values["shares"]) == 0]][kept]
    lost = (right["shares"] < 1) & (right["lift"] == 1)
    medians = [np.median(background.diagnoses[codes[lost]]) for codes in (cause, first)]
    remark = (
        f"For {lost.sum():,} procedures lift names the cause and the shares do not: there the cause has "
        f"{medians[0]:,.0f} training stays (median), the diagnosis named by the shares {medians[1]:,.0f}."
    )
    return "\n".join([*lines, "", remark])


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
