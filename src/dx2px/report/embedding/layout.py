"""Places on a plane for the vectors of codes, so that codes with similar vectors are close together.

The layout is t-SNE (van der Maaten and Hinton 2008; scikit-learn's), started from the two principal components of the
vectors, so that a seed fixes it. On the package's first model, the plain principal components kept 5 % of each code's
ten nearest and a force layout along the nearest neighbours 25 %; t-SNE kept 53 %, and 400 steps as much as 1,000.
Neighbours are by cosine, as everywhere, so vectors are first scaled to length 1.

What is near on the map was mostly near among the vectors; `kept_neighbours` measures how much. Large distances, the
size of a group and the position of groups to each other mean little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.report.neighbourhoods import nearest
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import directions

Places = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]
FEWEST = 3  # vectors that are laid out; fewer are placed in a row
_BLOCK = 1024


@dataclass(frozen=True)
class LayoutConfig:
    """How a map is laid out."""

    perplexity: float = 20.0  # about how many neighbours a code is kept close to
    steps: int = 400
    angle: float = 0.8  # how coarsely distant codes are lumped together; coarser is faster
    seed: int = 0


def lay_out(X: Vectors, config: LayoutConfig | None = None) -> Places:
    """(n, 2) places in the square from 0 to 1, from (n, m) vectors."""
    if not np.isfinite(X).all():
        raise InputError("Vectors that are not finite numbers cannot be laid out.")
    if len(X) < FEWEST or not np.ptp(X, axis=0).any():
        return np.stack([np.linspace(0, 1, len(X) + 2)[1:-1], np.full(len(X), 0.5)], axis=1)
    from sklearn.manifold import TSNE

    config = config or LayoutConfig()
    layout = TSNE(
        perplexity=min(config.perplexity, (len(X) - 1) / 3),
        max_iter=config.steps,
        angle=config.angle,
        init="pca",
        random_state=config.seed,
    )
    return _to_square(layout.fit_transform(directions(X).astype(np.float32)).astype(np.float64))


def kept_neighbours(X: Vectors, places: Places, count: int = 10) -> float:
    """The mean share of a code's nearest by cosine that are among its nearest on the map."""
    count = min(count, len(X) - 1)
    if count < 1:
        return 1.0
    kept = 0
    for start in range(0, len(X), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(X)))
        among = nearest(X, rows, count)
        shown = _nearest_places(places, rows, count)
        kept += int((among[:, :, None] == shown[:, None, :]).sum())
    return kept / (len(X) * count)


def _nearest_places(places: Places, rows: NDArray[np.int64], count: int) -> NDArray[np.int32]:
    squares = ((places[rows, None, :] - places[None, :, :]) ** 2).sum(axis=2)
    squares[np.arange(len(rows)), rows] = np.inf
    return top_l(-squares.astype(np.float32), count)


def _to_square(places: Places) -> Places:
    """Turn the longer axis across and stretch both to the square: distances mean little anyway."""
    span = np.ptp(places, axis=0)
    turned = places if span[0] >= span[1] else places[:, ::-1]
    found: Places = (turned - turned.min(axis=0)) / np.maximum(np.ptp(turned, axis=0), 1e-12)
    return found
