"""The most frequent procedures, whatever the diagnoses: s_p = n_p."""

from __future__ import annotations

from dx2px.methods.baseline import Baseline, Fitted, Task


class Popularity(Baseline):
    """Ranks procedures by the number of training stays that have them."""

    method = "popularity"

    def _learn(self, task: Task) -> Fitted:
        return Fitted()
