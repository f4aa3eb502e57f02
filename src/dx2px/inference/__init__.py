"""A saved model answers, with numpy alone: recommendation, explanation, neighbours, scores, export."""

from dx2px.inference.export import export
from dx2px.inference.plans import Plan, PlanChoice, PlanKind
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
    Source,
    StandIn,
    explanation_schema,
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
    "Plan",
    "PlanChoice",
    "PlanKind",
    "Procedure",
    "Ranked",
    "Reason",
    "Recommendation",
    "Recommended",
    "Scorer",
    "Source",
    "StandIn",
    "Transport",
    "explanation_schema",
    "export",
    "rank",
    "scorer_for",
]
