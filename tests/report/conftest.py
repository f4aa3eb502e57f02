"""An explanation with all kinds of evidence, and one browser for all pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser import chromium
from dx2px.answers import Explanation, Model
from dx2px.scoring.evidence import EvidenceLayout

from .test_explanation import drawn


@pytest.fixture(scope="module")
def with_evidence() -> Explanation:
    """All kinds of evidence; the type of admission counts for nothing."""
    diagnoses = ["icd9cm:25000", "icd9cm:4280", "icd9cm:5856"]
    procedures = ["icd9pcs:3722", "icd9pcs:3893", "icd9pcs:3995"]
    files = drawn("coupling", diagnoses, procedures, EvidenceLayout(3, 3, True, ("elective",)))
    files.arrays.update({name: array / 10 for name, array in files.arrays.items()})
    files.arrays["context_s"][-1] = -20
    facts: dict[str, Any] = {"principal": "428.0", "age": 80, "sex": "F", "admission": "elective"}
    return Model(files).explain(["585.6", "428.0"], ["39.95", "37.22"], coded=["38.93", "00.66"], **facts)


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    with chromium(1280, 1000) as found:
        yield found
