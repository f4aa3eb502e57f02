"""Which synthetic stays read like medicine.

Most links of a synthetic cohort are drawn at random: they measure a method well and make no sense to a clinician. So
single synthetic stays are shown only if all that is shown of them follows curated links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dx2px.answers.results import Answer


@dataclass(frozen=True)
class Curated:
    """Diagnoses and links that were chosen by hand; a link is a diagnosis and a procedure."""

    diagnoses: frozenset[str]
    links: frozenset[tuple[str, str]]

    def holds(self, diagnoses: Sequence[str], procedures: Sequence[str]) -> bool:
        """Whether the diagnoses of a stay are curated, and some of them account for each of its procedures."""
        return self.diagnoses.issuperset(diagnoses) and all(
            any((diagnosis, procedure) in self.links for diagnosis in diagnoses) for procedure in procedures
        )

    def agrees(self, answer: Answer) -> bool:
        """Whether the leading reason of every procedure of an answer is a curated link."""
        return all(one.because and (one.because[0].code, one.code) in self.links for one in answer.procedures)
