"""Plans: how much each diagnosis of a stay accounts for each procedure that is explained, and how far to trust that.

A plan is a table of mass, with one row per diagnosis, then one per other piece of evidence, and one column per
procedure. Its kinds:

coupling             π(d, p) of the default method, for these procedures: the terms that the scores are sums of
transport            the paper's T: significance moved to the procedures; every diagnosis sends its whole weight
penalised-transport  the same, with the marginal penalties that the model was trained with
leave-one-out        for methods without vectors: how far each score falls without a diagnosis, as shares

How often each kind names the cause of a procedure was measured (docs/faithfulness.md); every plan states the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dx2px.scoring.segments import Doubles
from dx2px.scoring.transport import Transport, column_shares

PlanKind = Literal["coupling", "transport", "penalised-transport", "leave-one-out"]
PlanChoice = Literal["own", "transport"]

READINGS: dict[PlanKind, str] = {
    "coupling": (
        "The model's own weights: mass is a share of all procedures expected for this stay. What is missing from a "
        "diagnosis's significance goes to procedures that are not listed."
    ),
    "transport": (
        "The paper's transport plan: the significance of the diagnoses is moved to the procedures at the least cost, "
        "and all procedures receive the same mass."
    ),
    "penalised-transport": (
        "The model's own transport plan, with the marginal penalties that it was trained with: at a price, mass may "
        "differ from the diagnoses' significance or from equal weights of the procedures."
    ),
    "leave-one-out": (
        "How far the score of each procedure falls when a diagnosis is left out, as shares. All procedures have the "
        "same mass."
    ),
}

# Top-1 cause accuracy in per cent on the small, medium and large synthetic cohort: the table of docs/faithfulness.md.
BEST_POSSIBLE = (93.5, 97.2, 98.1)
CAUSES_NAMED: dict[tuple[PlanKind, str], tuple[float, ...]] = {
    ("coupling", "coupling"): (93.4, 97.1, 97.5),
    ("transport", "e+sa+ma"): (67.0, 66.1, 47.7),
    ("transport", "e+ma"): (61.4, 60.5, 58.4),
    ("penalised-transport", "e+sa+ma"): (88.2,),
}


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan between some codes, with the solver's evidence if it was solved."""

    kind: PlanKind
    method: str  # of the model
    diagnoses: tuple[str, ...] = ()
    procedures: tuple[str, ...] = ()
    mass: Doubles | None = (
        None  # (d, p), d rows of diagnoses and evidence; None if there is nothing to explain
    )
    transport: Transport | None = None
    evidence: tuple[str, ...] = ()  # rows after those of the diagnoses

    @property
    def shares(self) -> Doubles:
        """Each procedure's column, scaled to sum 1; a procedure without mass is shared equally."""
        assert self.mass is not None
        return column_shares(self.mass)  # (d, p)

    @property
    def reading(self) -> str:
        """What mass means in this plan."""
        return READINGS[self.kind]

    @property
    def faithfulness(self) -> str:
        """How often plans of this kind name the cause of a procedure, as far as measured."""
        return faithfulness(self.kind, self.method)

    def to_dict(self) -> dict[str, Any]:
        solved = self.transport
        return {
            "kind": self.kind,
            "reading": self.reading,
            "faithfulness": self.faithfulness,
            "diagnoses": list(self.diagnoses),
            **({"evidence": list(self.evidence)} if self.evidence else {}),
            "procedures": list(self.procedures),
            "mass": [] if self.mass is None else self.mass.tolist(),
            "cost": None if solved is None else solved.cost,
            "marginal_error": None if solved is None else solved.marginal_error,
            "gap": None if solved is None else solved.gap,
            "iterations": None if solved is None else solved.iterations,
            "converged": None if solved is None else solved.converged,
        }


def faithfulness(kind: PlanKind, method: str) -> str:
    """A sentence with the measured numbers; if this method was not measured, with those of another method."""
    measured = next((name for made, name in CAUSES_NAMED if made == kind and name == method), None)
    named = measured or next((name for made, name in CAUSES_NAMED if made == kind), None)
    if named is None:
        return "It was not measured how often such shares name the cause of a procedure for this method."
    found = CAUSES_NAMED[kind, named]
    sentence = (
        f"On synthetic stays whose causes are known, such plans of {named} models name the cause of a procedure in "
        f"{_listed(found)} % of cases ({_cohorts(found)}); the best possible attribution reaches "
        f"{_listed(BEST_POSSIBLE[: len(found)])} %."
    )
    return sentence if measured else f"{sentence} Models of the method {method} were not measured."


def _listed(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:.1f}" for number in numbers)


def _cohorts(found: tuple[float, ...]) -> str:
    return ", ".join(("small", "medium", "large")[: len(found)]) + " cohort"
