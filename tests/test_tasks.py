"""Tasks of `docs/tasks.md` that no other test does: on a terminal of 80 columns, and in Python, as a user would."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

import dx2px
from command_line import dx2px as dx2px_command
from command_line import on_terminal

STAYS = """stay,kind,code
A1,diagnosis,585.6
A1,diagnosis,428.0
A1,procedure,39.95
A2,diagnosis,410.71
A2,procedure,39.95
"""


def seen(*words: str | Path) -> str:
    """What is on the screen, with nothing beyond its edge, as one text."""
    lines = on_terminal(*words)
    assert max(map(len, lines)) <= 80
    return " ".join(" ".join(lines).split())


def test_a_heart_attack_in_words() -> None:
    screen = seen("recommend", "heart", "attack")
    assert "Read 'heart attack' as 410.71 Subendocardial infarction" in screen
    assert "37.22 Left heart cardiac" in screen
    assert "not medical advice" in screen


def test_what_else_belongs_to_a_stay() -> None:
    screen = seen("recommend", "820.21", "--coded", "79.35,585.6", "--age", "81", "--sex", "F")
    assert "coded 79.35 Open reduction of fracture" in screen
    assert "1 99.04 Transfusion" in screen
    assert "79.35 Open" not in screen.split("Procedures")[1]  # it is not recommended again
    assert "585.6 is a diagnosis (End stage renal disease), not a procedure." in screen


def test_icd_10_is_answered_in_icd_10() -> None:
    screen = seen("recommend", "M17.11", "--top", "2")
    assert "0SR[CDTUVW] Replacement of knee joint" in screen
    assert "Mapped M17.11 (ICD-10-CM) → 715.16 (ICD-9-CM), approximate." in screen
    assert screen.count("rank") == 1  # one table, not two


def test_an_audit_is_handed_to_a_colleague(tmp_path: Path) -> None:
    table, cohort, findings, worklist = (
        tmp_path / name for name in ("s.csv", "s.parquet", "f.csv", "w.html")
    )
    table.write_text(STAYS)
    assert dx2px_command("prepare", "table", table, "--out", cohort).returncode == 0
    screen = seen("audit", cohort, "--out", findings, "--worklist", worklist)
    assert "unsupported 39.95 Hemodialysis 1" in screen
    assert "Unknown" not in screen  # nothing was, so nothing is said
    (found,) = csv.DictReader(findings.read_text().splitlines())
    assert found["stay_id"] == "A2"
    assert "Hemodialysis" in worklist.read_text()


def test_a_frame_of_stays_gives_a_frame_of_answers() -> None:
    stays = pd.DataFrame({"stay_id": ["a", "b"], "diagnoses": [["585.6", "427.5"], ["820.21"]]})
    answers = dx2px.load().recommend_many(stays, top=2)
    assert list(answers["stay_id"]) == ["a", "a", "b", "b"]
    assert answers["title"][2] == "Open reduction of fracture with internal fixation, femur"
    assert dx2px.load().recommend("585.6").to_frame()["code"][0] == "icd9pcs:3995"
