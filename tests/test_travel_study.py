"""The document about travelling and adapting says what the kept runs say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from dx2px.lab.blocks import blocks_of

ROOT = Path(__file__).parents[1]


def test_the_page_says_what_the_kept_runs_say() -> None:
    """Where this fails: python studies/travel.py tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "studies"))
        study = importlib.import_module("travel")
    made = study.blocks(json.loads((ROOT / "results" / "travel.json").read_text(encoding="utf-8")))
    shown = blocks_of((ROOT / "docs" / "travel.md").read_text(encoding="utf-8"))
    assert shown == {name: made[name].rstrip() + "\n" for name in shown}
    assert {"mdcr_icd9", "regions", "abroad"} <= shown.keys()
