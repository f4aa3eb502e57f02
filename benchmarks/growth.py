"""How a cost grows with the number of stays: the exponent of a power law fitted to measured times.

Shared by the benchmarks; not run by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def exponent(seconds: Mapping[int, float]) -> float:
    """b of seconds = a · stays^b, by least squares on logarithms; 1 is proportional."""
    stays = np.log(np.array(list(seconds), np.float64))
    return float(np.polyfit(stays, np.log(np.array(list(seconds.values()))), 1)[0])


def sentence(what: str, seconds: Mapping[int, float]) -> str:
    """The exponent, and the cost of a million stays at the largest number."""
    most = max(seconds)
    per_million = seconds[most] / most * 1e6
    return f"{what}: grows like stays^{exponent(seconds):.2f}; {per_million:.1f} s per million at {most:,}."
