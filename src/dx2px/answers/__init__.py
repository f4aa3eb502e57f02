"""A saved model answers questions, with numpy alone: recommendation, explanation, neighbours, scores, export."""

from dx2px.answers.export import export
from dx2px.answers.model import Model
from dx2px.answers.remarks import Remark
from dx2px.answers.results import (
    Answer,
    Coverage,
    Diagnosis,
    Explanation,
    Mapped,
    Neighbor,
    Neighbors,
    Procedure,
    Reason,
    Recommendation,
    Source,
    StandIn,
    explanation_schema,
)
from dx2px.scoring.plans import Plan, PlanChoice, PlanKind
from dx2px.scoring.scorer import Ranked, Scorer, rank
from dx2px.scoring.transport import Transport

__all__ = [
    "Answer",
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
    "Remark",
    "Scorer",
    "Source",
    "StandIn",
    "Transport",
    "explanation_schema",
    "export",
    "rank",
]
