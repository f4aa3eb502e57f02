"""A saved model answers, with numpy alone: recommendation, explanation, neighbours, scores, export."""

from dx2px.inference.export import export
from dx2px.inference.recommender import Model
from dx2px.inference.results import (
    Diagnosis,
    Explanation,
    Neighbor,
    Neighbors,
    Procedure,
    Reason,
    Recommendation,
    Recommended,
)
from dx2px.inference.scoring import AttentionScorer, Ranked, Scorer, rank, scorer_for
from dx2px.inference.transport import Transport

__all__ = [
    "AttentionScorer",
    "Diagnosis",
    "Explanation",
    "Model",
    "Neighbor",
    "Neighbors",
    "Procedure",
    "Ranked",
    "Reason",
    "Recommendation",
    "Recommended",
    "Scorer",
    "Transport",
    "export",
    "rank",
    "scorer_for",
]
