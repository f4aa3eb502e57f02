"""How large and how hard a synthetic cohort is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dx2px.errors import InputError

MOST_DIAGNOSES, MOST_PROCEDURES = 41, 40  # in one stay, as in the paper's cohort


@dataclass(frozen=True)
class SyntheticConfig:
    """Sizes and difficulty; the defaults are those of the preset `small`.

    The number of stays can change without changing the stays themselves: a larger cohort continues a smaller one.
    """

    preset: str = "small"
    stays: int = 28_315
    diagnoses: int = 247
    procedures: int = 75
    # The intended shares of stays of the rarest codes: far enough above the paper's least count (500, 100, 10 stays)
    # that no code falls below it by chance. Procedures vary more, since each stay draws its own.
    rarest_diagnosis: float = 570 / 28_315
    rarest_procedure: float = 620 / 28_315
    diagnoses_per_stay: float = 10.5
    procedures_per_stay: float = 4.5
    unexplained: float = 0.08  # share of the procedures that no diagnosis caused
    sharing: float = 3.0  # diagnoses that can cause a procedure, on average, if so many fit; core links stay
    comorbidity: float = 0.7  # share of a stay's diagnoses drawn from its own co-morbidity group

    def __post_init__(self) -> None:
        problems = [sentence for wrong, sentence in self._checks() if wrong]
        if problems:
            raise InputError(" ".join(problems))

    def _checks(self) -> list[tuple[bool, str]]:
        return [
            (self.stays < 1, f"The number of stays must be at least 1, not {self.stays}."),
            (
                not 60 <= self.diagnoses <= 3500,
                f"The number of diagnosis codes must lie between 60 and 3500, not be {self.diagnoses}.",
            ),
            (
                not 20 <= self.procedures <= 1500,
                f"The number of procedure codes must lie between 20 and 1500, not be {self.procedures}.",
            ),
            (
                not 0 < self.rarest_diagnosis * self.diagnoses <= 0.7 * self.diagnoses_per_stay,
                f"The share of stays of the rarest diagnosis must be above 0 and leave room for common ones, "
                f"which {self.rarest_diagnosis:.4g} does not.",
            ),
            (
                not 0 < self.rarest_procedure * self.procedures <= 0.7 * self.procedures_per_stay,
                f"The share of stays of the rarest procedure must be above 0 and leave room for common ones, "
                f"which {self.rarest_procedure:.4g} does not.",
            ),
            (
                not 2 <= self.diagnoses_per_stay <= 20,
                f"The mean number of diagnoses per stay must lie between 2 and 20, "
                f"not be {self.diagnoses_per_stay}.",
            ),
            (
                not 1 <= self.procedures_per_stay <= 12,
                f"The mean number of procedures per stay must lie between 1 and 12, "
                f"not be {self.procedures_per_stay}.",
            ),
            (
                not 0 <= self.unexplained <= 0.9,
                f"The unexplained share must lie between 0 and 0.9, not be {self.unexplained}.",
            ),
            (
                not 1 <= self.sharing <= 20,
                f"The number of diagnoses that share a procedure must lie between 1 and 20, "
                f"not be {self.sharing}.",
            ),
            (
                not 0 <= self.comorbidity <= 0.95,
                f"The co-morbidity must lie between 0 and 0.95, not be {self.comorbidity}.",
            ),
        ]


# The sizes of the paper's three MIMIC-III sets, and the least number of stays of a code in each.
PRESETS: Mapping[str, SyntheticConfig] = MappingProxyType(
    {
        "small": SyntheticConfig(),
        "medium": SyntheticConfig(
            preset="medium",
            stays=30_535,
            diagnoses=874,
            procedures=258,
            rarest_diagnosis=135 / 30_535,
            rarest_procedure=150 / 30_535,
            diagnoses_per_stay=12.0,
            procedures_per_stay=4.8,
        ),
        "large": SyntheticConfig(
            preset="large",
            stays=31_213,
            diagnoses=2_765,
            procedures=819,
            rarest_diagnosis=23 / 31_213,
            rarest_procedure=34 / 31_213,
            diagnoses_per_stay=12.5,
            procedures_per_stay=5.0,
        ),
    }
)
