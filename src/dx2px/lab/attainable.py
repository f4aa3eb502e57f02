"""The best that any method could do on a synthetic cohort: procedures ranked by the rates they were drawn with.

A stay with the diagnoses D and the intensity h has procedure p with probability 1 − exp(−h Λ_p), where
Λ_p = Σ_{d ∈ D} λ_dp + ε_p; given h, procedures are independent of each other (`dx2px.lab.synthetic.stays`). Of two
procedures, the one with the larger Λ is then more likely to be present without the other, whatever else the stay has.
So ranking by Λ gives the largest expected recall, precision and F1 of the first L, for every L at once, among all
rankings that know only the diagnoses.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import Metrics, Scores, evaluate


def attainable(cohort: Cohort, links: pa.Table, rows: NDArray[np.int64]) -> Metrics:
    """The metrics of ranking by the planted rates, on some stays of a synthetic cohort; `links` are its truth's."""
    return evaluate(planted_rates(cohort, links), cohort.diagnoses.take(rows), cohort.procedures.take(rows))


def planted_rates(cohort: Cohort, links: pa.Table) -> Scores:
    """Λ of every procedure, for the diagnoses of some stays."""
    diagnoses, procedures = cohort.diagnosis_vocabulary, cohort.procedure_vocabulary
    strength = np.zeros((len(diagnoses) + 1, len(procedures)))  # λ, and ε in the last row
    columns = (links.column(name).to_pylist() for name in ("diagnosis", "procedure", "strength"))
    for diagnosis, procedure, value in zip(*columns, strict=True):
        d = -1 if diagnosis is None else diagnoses.get(diagnosis)
        p = procedures.get(procedure)
        if d is not None and p is not None:  # a code that no stay happens to have
            strength[d, p] += value

    def rates(stays: Ragged) -> NDArray[np.float64]:
        total = np.repeat(strength[-1:], len(stays), axis=0)  # (n, |P|)
        np.add.at(total, stays.row_of_entry, strength[stays.values])
        return total

    return rates
