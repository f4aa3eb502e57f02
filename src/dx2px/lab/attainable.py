"""The best that any method could do on a synthetic cohort: procedures ranked by the rates they were drawn with.

A stay with the diagnoses D and the intensity h has procedure p with probability 1 − exp(−h Λ_p), where
Λ_p = Σ_{d ∈ D} λ_dp + ε_p, with the ε of the stay's realm; given h, procedures are independent of each other
(`dx2px.lab.synthetic.stays`). Of two procedures, the one with the larger Λ is then more likely to be present without
the other, whatever else the stay has. So ranking by Λ gives the largest expected recall, precision and F1 of the first
L, for every L at once, among all rankings that know only the diagnoses.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.lab.synthetic.lexicon import REALMS, realm_of
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import Metrics, Scores, evaluate


def attainable(cohort: Cohort, links: pa.Table, rows: NDArray[np.int64]) -> Metrics:
    """The metrics of ranking by the planted rates, on some stays of a synthetic cohort; `links` are its truth's."""
    return evaluate(planted_rates(cohort, links), cohort.diagnoses.take(rows), cohort.procedures.take(rows))


def planted_rates(cohort: Cohort, links: pa.Table) -> Scores:
    """Λ of every procedure, for the diagnoses of some stays."""
    diagnoses, procedures = cohort.diagnosis_vocabulary, cohort.procedure_vocabulary
    strength = np.zeros((len(diagnoses), len(procedures)))  # λ
    background = np.zeros((len(REALMS), len(procedures)))  # ε
    columns = (links.column(name).to_pylist() for name in ("diagnosis", "procedure", "strength", "realm"))
    for diagnosis, procedure, value, realm in zip(*columns, strict=True):
        d, p = diagnoses.get(diagnosis), procedures.get(procedure)
        if p is not None and diagnosis is None:
            background[REALMS.index(realm), p] = value
        elif p is not None and d is not None:  # not a code that no stay happens to have
            strength[d, p] = value
    realms = np.array([realm_of(code.partition(":")[2]) for code in diagnoses])

    def rates(stays: Ragged) -> NDArray[np.float64]:
        total: NDArray[np.float64] = background[realms[stays.values[stays.offsets[:-1]]]]  # (n, |P|)
        np.add.at(total, stays.row_of_entry, strength[stays.values])
        return total

    return rates
