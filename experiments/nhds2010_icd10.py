"""Make the package's model of ICD-10-PCS families from `nhds2010`: it ranks as that model does.

Run: python experiments/nhds2010_icd10.py nhds2010.parquet nhds2010-icd10.parquet --maps MAPS --out MODEL
The cohorts are those of nhds2010.toml and nhds2010-icd10.toml, whose heads say how they are prepared; `make
model-icd10` does it all. How a family gets its vector stands in `dx2px.methods.coupling.translated`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from dx2px import Cohort, Model
from dx2px.cohort.translation import PcsMap
from dx2px.methods.coupling.translated import translated
from dx2px.training.loop import set_threads
from dx2px.training.recipe import card_notes

RECIPE = Path(__file__).with_name("nhds2010-icd10.toml")
BASE = "nhds2010"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nine", type=Path, help="the cohort of nhds2010")
    parser.add_argument("ten", type=Path, help="the same stays, procedures as families")
    parser.add_argument("--maps", type=Path, required=True, help="CMS's maps of procedures")
    parser.add_argument("--out", type=Path, required=True, help="the model folder to write")
    told = parser.parse_args()
    set_threads(1)
    nine, ten = Cohort.load(told.nine), Cohort.load(told.ten)
    made = translated(Model.load(BASE).files, BASE, nine, ten, PcsMap.read(told.maps), half=True)
    replace(made, notes=card_notes(RECIPE)).save(told.out)


if __name__ == "__main__":
    main()
