"""One logistic regression for each procedure on the stay's diagnoses as zeros and ones.

    s_p(S) = b_p + Σ_{d∈S} W_dp          the log odds of procedure p

The ridge λ is chosen on the validation stays; λ = 1/C in scikit-learn's terms. From the strongest on, each λ starts
where the one before it ended, so the whole grid costs little more than its weakest member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from dx2px.baselines.logistic import Regressions, Solution, SolverConfig, solve
from dx2px.baselines.method import Fitted, Method, Task
from dx2px.baselines.stays import Seen, incidence, incidences
from dx2px.baselines.validation import Trial, choose
from dx2px.cohort import Ragged
from dx2px.training.recommender import Floats


@dataclass(frozen=True)
class LinearConfig:
    """The grid that validation chooses from, strongest first, and when a solution is good enough."""

    ridges: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3)
    solver: SolverConfig = field(default_factory=SolverConfig)


class Linear(Method):
    """One-vs-rest logistic regression."""

    method = "linear"

    def __init__(self, config: LinearConfig | None = None) -> None:
        self.config = config or LinearConfig()

    def _learn(self, task: Task) -> Fitted:
        seen, held_out = Seen.of(task.cohort, task.training), task.held_out()
        data = Regressions(*incidences(task.cohort, task.training))

        def trials() -> Iterator[Trial[Solution]]:
            solution: Solution | None = None
            for ridge in sorted(self.config.ridges, reverse=True):
                start = None if solution is None else solution.weights
                solution = solve(data, ridge, start, self.config.solver)
                record = {
                    "ridge": ridge,
                    "iterations": solution.iterations,
                    "unconverged": solution.unconverged,
                }
                yield Trial(record, held_out.f1(_fitted(seen, solution).scores), solution)

        choice = choose(trials(), task.say)
        settings = asdict(self.config) | {"chosen": choice.best.record(), "tried": choice.tried}
        return _fitted(seen, choice.best.learned, settings)


def _fitted(seen: Seen, solution: Solution, settings: dict[str, object] | None = None) -> Fitted:
    weights = solution.weights.numpy()
    W, b = weights[:-1], weights[-1]  # (d, p) (p,)

    def score(rows: Ragged) -> Floats:
        odds: Floats = incidence(rows, len(W)) @ W
        odds += b
        return odds  # (i, p)

    return Fitted(seen, score, {"W": W, "b": b}, settings or {})
