"""Many methods on many cohorts, cross-validated. Runs are kept in a folder, and all tables are made from it.

plan ─▶ runs (a process each) ─▶ store ─▶ tables, paired comparisons
"""

from dx2px.lab.benchmark.comparison import Comparison, Verdict, compare, verdicts
from dx2px.lab.benchmark.durations import Durations
from dx2px.lab.benchmark.plan import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.progress import Progress
from dx2px.lab.benchmark.rules import RuleRow, rules_of
from dx2px.lab.benchmark.runs import Failure, run_all
from dx2px.lab.benchmark.store import RunStore
from dx2px.lab.benchmark.tables import Cell, Row, rows_of

__all__ = [
    "BenchmarkConfig",
    "Cell",
    "CohortId",
    "Comparison",
    "Durations",
    "Failure",
    "Job",
    "Progress",
    "Row",
    "RuleRow",
    "RunStore",
    "Verdict",
    "compare",
    "plan",
    "rows_of",
    "rules_of",
    "run_all",
    "verdicts",
]
