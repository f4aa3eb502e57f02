"""How good a method is: metrics over stays, and cohorts seen through a model's vocabularies."""

from dx2px.evaluation.metrics import Metrics, evaluate, evaluate_ranking, top_l
from dx2px.evaluation.projection import Projection, ProjectionCounts, SetAside, project

__all__ = [
    "Metrics",
    "Projection",
    "ProjectionCounts",
    "SetAside",
    "evaluate",
    "evaluate_ranking",
    "project",
    "top_l",
]
