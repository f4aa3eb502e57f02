"""A saved model answers, with numpy alone: recommendation, explanation, neighbours, scores, export."""

from dx2px.inference.export import export
from dx2px.inference.recommender import Model
from dx2px.inference.results import (
    Coverage,
    Diagnosis,
    Explanation,
    Mapped,
    Neighbor,
    Neighbors,
    Procedure,
    Reason,
    Recommendation,
    Recommended,
    StandIn,
)
from dx2px.inference.scoring import AttentionScorer, Ranked, Scorer, rank, scorer_for
from dx2px.inference.transport import Transport

__all__ = [
    "AttentionScorer",
    "Coverage",
    "Diagnosis",
    "Explanation",
    "Mapped",
    "Model",
    "Neighbor",
    "Neighbors",
    "Procedure",
    "Ranked",
    "Reason",
    "Recommendation",
    "Recommended",
    "Scorer",
    "StandIn",
    "Transport",
    "export",
    "rank",
    "scorer_for",
]
