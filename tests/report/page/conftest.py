"""A model with planted answers and the cohort it stands for, of which the report's numbers can be counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dx2px.cohort import Cohort, split_cohort
from dx2px.cohort.fingerprint import fingerprint
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.folder import ModelFiles, write_folder

DIAGNOSES = (
    "icd9cm:25000",
    "icd9cm:41401",
    "icd9cm:42731",
    "icd9cm:4280",
    "icd9cm:486",
    "icd9cm:5856",
    "icd9cm:71536",
    "icd9cm:V3000",
)
PROCEDURES = tuple(
    f"icd9pcs:{code}"
    for code in ("3722", "3893", "3995", "6400", "8154", "8744", "8856", "9390", "9604", "9671", "9904")
)
LEADS = {  # each diagnosis's own procedures
    "icd9cm:25000": "9904",
    "icd9cm:41401": "3722",
    "icd9cm:42731": "8856",
    "icd9cm:4280": "9390",
    "icd9cm:486": "9671",
    "icd9cm:5856": "3995",
    "icd9cm:71536": "8154",
    "icd9cm:V3000": "6400",
}
LINE = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    False, LINE, np.array([1.0, 0.0, 0.0, 0.0]), LINE, np.array([0.5, 0.95]), np.array([0.9, 0.3])
)
CARD = (
    "# Model card: planted\n\n| top | F1 |\n|---|---|\n| 1 | 44.0 |\n\n"
    "<script>alert(1)</script> ![a graph](http://e.example/x.png) [data](https://data.example/)\n"
)


@pytest.fixture(scope="session")
def cohort() -> Cohort:
    """600 stays of 3 to 5 diagnoses, most with the procedures that these lead to; some ids that must not be told."""
    rng = np.random.default_rng(0)
    diagnoses = [rng.choice(DIAGNOSES, rng.integers(3, 6), replace=False).tolist() for _ in range(600)]
    procedures = []
    for codes in diagnoses:
        own = [f"icd9pcs:{LEADS[code]}" for code in codes if rng.random() < 0.6]
        procedures.append(list(dict.fromkeys([*own, str(rng.choice(PROCEDURES))])))
    ids = [f"secret-{row}" for row in range(600)]
    people = [f"person-{row // 2}" for row in range(600)]
    made = Cohort.from_lists(diagnoses, procedures, stay_ids=ids, patient_ids=people)
    context = pa.table({"sex": rng.choice(["F", "M"], 600).tolist()})
    return replace(made, context=context, provenance={"source": "table", "settings": {"min_count": 1}})


@pytest.fixture(scope="session")
def files(cohort: Cohort) -> ModelFiles:
    """E+MA with a direction for each procedure; 5 training stays with the rarest codes."""
    size = len(PROCEDURES)
    U = np.full((len(DIAGNOSES), size), -3, np.float32)
    for row, code in enumerate(DIAGNOSES):
        U[row, PROCEDURES.index(f"icd9pcs:{LEADS[code]}")] = 3
    split = split_cohort(cohort, by="stay", folds=4, seed=0)
    history = {
        "epoch": [1, 2, 3],
        "loss_predictive": [3.0, 2.0, 1.5],
        "loss_transport": [0.2, 0.1, 0.1],
        "validation_f1": [20.0, 30.0, 31.0],
    }
    return ModelFiles(
        method="e+ma",
        settings={"model": {"dim": size}, "data": fingerprint(cohort), "split": {"fold": 0, "by": "stay"}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays={"U": U, "V": np.eye(size, dtype=np.float32)},
        history=pa.table(history),
        card=CARD,
        diagnosis_counts=[200] * (len(DIAGNOSES) - 1) + [5],
        procedure_counts=[*range(100, 100 + size - 1), 7],
        split=_bytes(split),
        calibration=SIGMOID,
    )


def _bytes(split: object) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.parquet"
        split.save(path)  # type: ignore[attr-defined]
        return path.read_bytes()


@pytest.fixture(scope="session")
def folder(files: ModelFiles, cohort: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`model` and `C.parquet` as a user has them."""
    path = tmp_path_factory.mktemp("report")
    write_folder(path / "model", files)
    cohort.save(path / "C.parquet")
    return path
