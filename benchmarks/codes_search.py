"""Speed of type-ahead: median and 99th percentile of `find` over all codes of each system.

Run: python benchmarks/codes_search.py
"""

import time
from importlib import import_module
from statistics import median, quantiles

from dx2px.codes import System, find

QUERIES = ("h", "he", "heart", "heart fail", "4", "428", "bypass coronary", "zzz")
ROUNDS = 50


def milliseconds(query: str, system: System) -> float:
    start = time.perf_counter()
    find(query, system)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    import_module("numpy")  # `find` imports it when first used; this is not part of building the index
    print(f"{'system':10} {'query':18} {'p50 ms':>8} {'p99 ms':>8}")
    for system in System:
        print(f"{system:10} {'(first: builds)':18} {milliseconds('a', system):8.1f}")
        for query in QUERIES:
            times = [milliseconds(query, system) for _ in range(ROUNDS)]
            print(f"{system:10} {query:18} {median(times):8.2f} {quantiles(times, n=100)[-1]:8.2f}")


if __name__ == "__main__":
    main()
