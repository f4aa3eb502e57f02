"""dx2px: from the diagnoses of a hospital stay to its procedures, with reasons.

It learns from coded stays and reproduces coding habits; it is a research tool and gives no medical advice.

Names are loaded when first used, so that importing dx2px is quick and needs no optional dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dx2px.version import __version__

if TYPE_CHECKING:
    from dx2px.codes import System, find, normalize, resolve, title
    from dx2px.cohort import (
        Cohort,
        CohortFile,
        CohortWriter,
        Split,
        Vocabulary,
        describe,
        prepare,
        split_cohort,
    )
    from dx2px.errors import CodeError, CohortError, Dx2pxError, InputError, ModelError, TrainingError
    from dx2px.evaluation.estimator import ProcedureRecommender
    from dx2px.evaluation.run import RunConfig, SplitConfig, Trained, train
    from dx2px.inference import Model, export
    from dx2px.inference.audit import audit_stay
    from dx2px.inference.audit_file import audit_file
    from dx2px.inference.audit_stream import audit_batches
    from dx2px.inference.population import score_batches
    from dx2px.inference.population_file import score_file
    from dx2px.model.defects import AuditSettings
    from dx2px.training.config import TrainingConfig

_HOMES = {
    "dx2px.codes": ("System", "find", "normalize", "resolve", "title"),
    "dx2px.cohort": (
        "Cohort",
        "CohortFile",
        "CohortWriter",
        "Split",
        "Vocabulary",
        "describe",
        "prepare",
        "split_cohort",
    ),
    "dx2px.evaluation.estimator": ("ProcedureRecommender",),
    "dx2px.evaluation.run": ("RunConfig", "SplitConfig", "Trained", "train"),
    "dx2px.inference": ("Model", "export"),
    "dx2px.inference.audit": ("audit_stay",),
    "dx2px.inference.audit_file": ("audit_file",),
    "dx2px.inference.audit_stream": ("audit_batches",),
    "dx2px.inference.population": ("score_batches",),
    "dx2px.inference.population_file": ("score_file",),
    "dx2px.model.defects": ("AuditSettings",),
    "dx2px.training.config": ("TrainingConfig",),
    "dx2px.errors": ("CodeError", "CohortError", "Dx2pxError", "InputError", "ModelError", "TrainingError"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AuditSettings",
    "CodeError",
    "Cohort",
    "CohortError",
    "CohortFile",
    "CohortWriter",
    "Dx2pxError",
    "InputError",
    "Model",
    "ModelError",
    "ProcedureRecommender",
    "RunConfig",
    "Split",
    "SplitConfig",
    "System",
    "Trained",
    "TrainingConfig",
    "TrainingError",
    "Vocabulary",
    "__version__",
    "audit_batches",
    "audit_file",
    "audit_stay",
    "describe",
    "export",
    "find",
    "normalize",
    "prepare",
    "resolve",
    "score_batches",
    "score_file",
    "split_cohort",
    "title",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dx2px' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
