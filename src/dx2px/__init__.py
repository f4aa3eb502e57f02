"""dx2px: from the diagnoses of a hospital stay to its procedures, with reasons.

It learns from coded stays and reproduces coding habits; it is a research tool, and its answers are not medical advice.

Names are loaded when first used, so that importing dx2px is quick and needs no optional dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dx2px.version import __version__

if TYPE_CHECKING:
    from dx2px.answers import Model, export
    from dx2px.answers.audit import audit_stay
    from dx2px.answers.audit_file import audit_file
    from dx2px.answers.audit_stream import audit_batches
    from dx2px.answers.defects import AuditSettings
    from dx2px.answers.loading import load
    from dx2px.answers.population import score_batches
    from dx2px.answers.population_file import score_file
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
    from dx2px.cohort.sources import SourceOptions
    from dx2px.errors import (
        CodeError,
        CohortError,
        Dx2pxError,
        InputError,
        ModelError,
        OtherVersionError,
        TrainingError,
        UnknownCodesError,
    )
    from dx2px.methods.coupling import CouplingConfig, CouplingTraining
    from dx2px.methods.estimator import ProcedureRecommender
    from dx2px.methods.paper import PaperConfig, PaperTraining
    from dx2px.methods.train import RunConfig
    from dx2px.scoring.methods import Method, declare
    from dx2px.trained import Trained, adapt, train
    from dx2px.training.run import SplitConfig

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
    "dx2px.cohort.sources": ("SourceOptions",),
    "dx2px.answers": ("Model", "export"),
    "dx2px.answers.audit": ("audit_stay",),
    "dx2px.answers.audit_file": ("audit_file",),
    "dx2px.answers.audit_stream": ("audit_batches",),
    "dx2px.answers.defects": ("AuditSettings",),
    "dx2px.answers.loading": ("load",),
    "dx2px.answers.population": ("score_batches",),
    "dx2px.answers.population_file": ("score_file",),
    "dx2px.methods.coupling": ("CouplingConfig", "CouplingTraining"),
    "dx2px.methods.estimator": ("ProcedureRecommender",),
    "dx2px.methods.paper": ("PaperConfig", "PaperTraining"),
    "dx2px.methods.train": ("RunConfig",),
    "dx2px.scoring.methods": ("Method", "declare"),
    "dx2px.trained": ("Trained", "adapt", "train"),
    "dx2px.training.run": ("SplitConfig",),
    "dx2px.errors": (
        "CodeError",
        "CohortError",
        "Dx2pxError",
        "InputError",
        "ModelError",
        "OtherVersionError",
        "TrainingError",
        "UnknownCodesError",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AuditSettings",
    "CodeError",
    "Cohort",
    "CohortError",
    "CohortFile",
    "CohortWriter",
    "CouplingConfig",
    "CouplingTraining",
    "Dx2pxError",
    "InputError",
    "Method",
    "Model",
    "ModelError",
    "OtherVersionError",
    "PaperConfig",
    "PaperTraining",
    "ProcedureRecommender",
    "RunConfig",
    "SourceOptions",
    "Split",
    "SplitConfig",
    "System",
    "Trained",
    "TrainingError",
    "UnknownCodesError",
    "Vocabulary",
    "__version__",
    "adapt",
    "audit_batches",
    "audit_file",
    "audit_stay",
    "declare",
    "describe",
    "export",
    "find",
    "load",
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
