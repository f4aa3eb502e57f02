"""The exact optimal transport of many sources to a few targets: of a topic's thousands of words to a stay's codes.

    min_T Σ_nj C_nj T_nj         over T ≥ 0 with row sums a and column sums b

Every source goes to its nearest target, which is optimal for the loads that this makes. Then mass moves from targets
with too much to targets with too little, each time along a cheapest chain of targets; a link from j to l costs the
least C_nl − C_nj of the sources n at j. Moving along cheapest chains keeps a plan optimal for its loads (successive
shortest paths: Ahuja, Magnanti, Orlin, Network Flows, 9.7), so it is optimal once the loads are b. The sources at j
are in one heap per l; one that has left is dropped when it comes to the top.

A general network simplex knows nothing of the few targets; benchmarks/baseline_solvers.py measures what that is worth.

Axes: n sources, j and l targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.methods.compiled import exact
from dx2px.scoring.segments import Doubles

Array = NDArray[Any]

_ROUNDING = 1e-13  # of all mass, or of the largest cost: counts as nothing


def transport(sources: Doubles, targets: Doubles, cost: Doubles) -> Doubles:
    """T, for positive masses whose sums are equal, and finite costs."""
    return _transport(sources, targets, np.ascontiguousarray(cost))  # (n, j)


# Compiled as written: a source that leaves a target must leave exactly 0 behind, or its heaps still list it.
@exact
def _transport(sources: Doubles, targets: Doubles, cost: Doubles) -> Doubles:
    n, k = cost.shape
    plan = np.zeros((n, k))
    excess = -targets  # (j,)
    heaps = np.empty((k, k, n), np.int32)  # (j, l, n): sources, the cheapest to move first
    sizes = np.zeros((k, k), np.int64)
    listed = np.zeros((n, k, k), np.bool_)
    for source in range(n):
        nearest = int(np.argmin(cost[source]))
        plan[source, nearest] = sources[source]
        excess[nearest] += sources[source]
        _enter(source, nearest, heaps, sizes, listed, cost)
    nothing, free = _ROUNDING * targets.sum(), _ROUNDING * np.abs(cost).max()
    links, prices, previous = np.empty((k, k)), np.empty(k), np.empty(k, np.int64)
    for target in range(k):
        _price_links(links[target], target, plan, heaps, sizes, listed, cost)
    while True:
        _cheapest_chains(prices, previous, links, excess > nothing, free)
        end = _cheapest_end(prices, excess < -nothing)
        if end < 0:
            return plan
        amount, start = -excess[end], end
        while previous[start] >= 0:
            there, start = start, previous[start]
            amount = min(amount, plan[heaps[start, there, 0], start])
        amount = min(amount, excess[start])
        excess[start] -= amount
        excess[end] += amount
        there = end
        while there != start:  # backwards, so that a target is entered only after its own source has left
            here = previous[there]
            source = heaps[here, there, 0]
            plan[source, here] -= amount
            plan[source, there] += amount
            _enter(source, there, heaps, sizes, listed, cost)
            _price_links(links[there], there, plan, heaps, sizes, listed, cost)
            there = here
        _price_links(links[start], start, plan, heaps, sizes, listed, cost)


@exact
def _price_links(
    links: Doubles, here: int, plan: Doubles, heaps: Array, sizes: Array, listed: Array, cost: Doubles
) -> None:
    """The prices of the links that begin at a target; infinite where no source is there."""
    for there in range(len(links)):
        heap, size = heaps[here, there], sizes[here, there]
        while size and plan[heap[0], here] <= 0:
            listed[heap[0], here, there] = False
            size -= 1
            heap[0] = heap[size]
            _sink(heap, size, here, there, cost)
        sizes[here, there] = size
        links[there] = cost[heap[0], there] - cost[heap[0], here] if size else np.inf


@exact
def _cheapest_chains(prices: Doubles, previous: Array, links: Doubles, begins: Array, free: float) -> None:
    """Of the chains from any target in `begins` to each target: the least price, and the last target but one."""
    k = len(links)
    for target in range(k):
        prices[target] = 0.0 if begins[target] else np.inf
        previous[target] = -1
    changed = True
    while changed:
        changed = False
        for here in range(k):
            for there in range(k):
                price = prices[here] + links[here, there]
                if price < prices[there] - free:  # rounding must not close a chain to a ring
                    prices[there], previous[there], changed = price, here, True


@exact
def _cheapest_end(prices: Doubles, ends: Array) -> int:
    """The target of `ends` with the cheapest chain; −1 where none is left."""
    best = -1
    for target in range(len(prices)):
        if ends[target] and prices[target] < np.inf and (best < 0 or prices[target] < prices[best]):
            best = target
    return best


@exact
def _enter(source: int, here: int, heaps: Array, sizes: Array, listed: Array, cost: Doubles) -> None:
    """Put a source into the heaps of the target it is at, unless they still list it."""
    for there in range(len(heaps)):
        if there == here or listed[source, here, there]:
            continue
        listed[source, here, there] = True
        heap, place = heaps[here, there], sizes[here, there]
        sizes[here, there] += 1
        price = cost[source, there] - cost[source, here]
        while place > 0:
            above = heap[(place - 1) // 2]
            if cost[above, there] - cost[above, here] <= price:
                break
            heap[place] = above
            place = (place - 1) // 2
        heap[place] = source


@exact
def _sink(heap: Array, size: int, here: int, there: int, cost: Doubles) -> None:
    """Put the source at the top where it belongs."""
    if size == 0:
        return
    source = heap[0]
    price = cost[source, there] - cost[source, here]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        least = cost[heap[child], there] - cost[heap[child], here]
        if child + 1 < size:
            other = cost[heap[child + 1], there] - cost[heap[child + 1], here]
            if other < least:
                child, least = child + 1, other
        if price <= least:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = source
