"""Many methods on many cohorts, cross-validated: runs kept as files, tables made from the files.

plan ─▶ runs (one process each, cached) ─▶ tables, paired comparisons
"""

from dx2px.evaluation.benchmark.comparison import Comparison, Verdict, compare, verdicts
from dx2px.evaluation.benchmark.durations import Durations
from dx2px.evaluation.benchmark.plan import BenchmarkConfig, CohortId, Job, plan
from dx2px.evaluation.benchmark.progress import Progress
from dx2px.evaluation.benchmark.rules import RuleRow, rules_of
from dx2px.evaluation.benchmark.runs import run_all
from dx2px.evaluation.benchmark.tables import Cell, Row, rows_of, runs_table

__all__ = [
    "BenchmarkConfig",
    "Cell",
    "CohortId",
    "Comparison",
    "Durations",
    "Job",
    "Progress",
    "Row",
    "RuleRow",
    "Verdict",
    "compare",
    "plan",
    "rows_of",
    "rules_of",
    "run_all",
    "runs_table",
    "verdicts",
]
