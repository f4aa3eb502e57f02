"""Many methods on many cohorts, cross-validated: runs kept as files, tables made from the files.

plan ─▶ runs (one process each, cached) ─▶ tables, paired comparisons
"""

from dx2px.evaluation.benchmark.comparison import Comparison, compare
from dx2px.evaluation.benchmark.plan import BenchmarkConfig, Job, plan
from dx2px.evaluation.benchmark.runs import Progress, run_all
from dx2px.evaluation.benchmark.tables import Cell, Row, rows_of, runs_table

__all__ = [
    "BenchmarkConfig",
    "Cell",
    "Comparison",
    "Job",
    "Progress",
    "Row",
    "compare",
    "plan",
    "rows_of",
    "run_all",
    "runs_table",
]
