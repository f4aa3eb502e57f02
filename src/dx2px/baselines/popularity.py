"""The procedures that most stays have, whatever the diagnoses: s_p = n_p."""

from __future__ import annotations

import numpy as np

from dx2px.baselines.method import Fitted, Method, Task
from dx2px.baselines.stays import Seen


class Popularity(Method):
    """Ranks procedures by the number of training stays that have them."""

    method = "popularity"

    def _learn(self, task: Task) -> Fitted:
        seen = Seen.of(task.cohort, task.training)
        return Fitted(seen, lambda rows: np.tile(seen.popularity, (len(rows), 1)))
