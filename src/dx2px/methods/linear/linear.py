"""One logistic regression per procedure; its input is the stay's diagnoses as zeros and ones.

    s_p(S) = b_p + Σ_{d∈S} W_dp          the log odds of procedure p

The ridge λ is chosen on the validation stays; λ = 1/C in scikit-learn's terms. From the strongest on, each λ starts
from the solution of the previous one, so the whole grid costs little more than its weakest member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from dx2px.methods.baseline import Baseline, Fitted, Task
from dx2px.methods.counts import incidences
from dx2px.methods.linear.logistic import Regressions, Solution, SolverConfig, solve
from dx2px.methods.trials import Trial, choose
from dx2px.scoring.segments import Floats


@dataclass(frozen=True)
class LinearConfig:
    """The ridges that validation chooses from, and when a solution is good enough."""

    ridges: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3)
    solver: SolverConfig = field(default_factory=SolverConfig)


class Linear(Baseline):
    """One-vs-rest logistic regression."""

    method = "linear"

    def __init__(self, config: LinearConfig | None = None) -> None:
        self.config = config or LinearConfig()

    def _learn(self, task: Task) -> Fitted:
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
                yield Trial(record, task.f1(_arrays(solution)), solution)

        choice = choose(trials(), task.say)
        settings = asdict(self.config) | {"chosen": choice.best.record(), "tried": choice.tried}
        return Fitted(_arrays(choice.best.learned), settings)


def _arrays(solution: Solution) -> dict[str, Floats]:
    weights = solution.weights.numpy()
    return {"W": weights[:-1], "b": weights[-1]}  # (d, p) (p,)
