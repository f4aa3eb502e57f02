"""A fingerprint of everything that a model's answers depend on: models with the same one answer the same."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from dx2px.scoring.calibration_record import to_record
from dx2px.scoring.folder import ModelFiles


def fingerprint(files: ModelFiles) -> str:
    """SHA-256 of method, settings, codes, counts, arrays and calibration; not of history, card or split."""
    calibration = to_record(files.calibration) if files.calibration is not None else None
    codes = [list(files.diagnoses), list(files.procedures), list(files.diagnosis_counts or ())]
    plain = [files.method, dict(files.settings), codes, calibration]
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, array in sorted(files.weights.items()):
        digest.update(f"{name} {array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
