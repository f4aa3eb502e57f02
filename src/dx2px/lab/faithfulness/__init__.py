"""Are explanations true? Tested against planted causes, by deletion, and from run to run (docs/faithfulness.md)."""

from dx2px.lab.faithfulness.study import StudyConfig, study
from dx2px.lab.faithfulness.subject import Subject

__all__ = ["StudyConfig", "Subject", "study"]
