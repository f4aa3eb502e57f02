"""Kept runs for tests that need no learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dx2px.lab.benchmark import Job
from dx2px.lab.benchmark.settings import configured
from dx2px.scoring.metrics import AT, Metrics

Keep = Callable[..., dict[str, Any]]


@pytest.fixture
def keep() -> Keep:
    """A function that keeps a run of a job: three test stays, one procedure each, of which the first is found."""
    test = Metrics(
        AT,
        hits=np.repeat([[1], [0], [0]], len(AT), axis=1),
        recommended=np.tile(AT, (3, 1)),
        recorded=np.array([1, 1, 1]),
    )

    def kept(job: Job, **changes: Any) -> dict[str, Any]:
        record = {
            "key": job.key,
            "cohort": job.name,
            "data": job.cohort.data,
            "sizes": [15, 4, 2],
            "training_stays": 11,
            "version": "0",
            "settings": configured(job.method, job.model, job.seed, 11),
            "fit_seconds": 1.0,
            "threads": 1,
            "peak_mb": 100,
            "validation": test.to_dict(),
            "test": test.to_dict(),
        } | changes
        job.store.leave(record, test)
        job.store.add_pending()
        return record

    return kept
