"""Whether explanations are true: against planted causes, by deletion, and from run to run (docs/faithfulness.md)."""

from dx2px.evaluation.faithfulness.study import StudyConfig, study
from dx2px.evaluation.faithfulness.subject import Subject

__all__ = ["StudyConfig", "Subject", "study"]
