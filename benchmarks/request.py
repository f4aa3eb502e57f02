"""Processor time of a recommendation over HTTP without the wire: the whole ASGI application, called in its own process.

Run: python benchmarks/request.py [--model MODEL] [--rounds 4]
200 requests of ten diagnoses, one after another and sixteen at a time, as they come from sixteen connections; the least
of the rounds. To compare two versions, run it in turns with PYTHONPATH set to the `src` of each. Beside it the answer
alone, and a health probe, which shows what the layers cost. Prints Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np

from dx2px.answers.shipped import model_path
from dx2px.service.app import create_app
from dx2px.service.served import Served

REQUESTS = 200
AT_A_TIME = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=4)
    arguments = parser.parse_args()
    logging.getLogger("dx2px.service").addHandler(logging.NullHandler())
    served = Served.load(model_path(arguments.model))
    print("| what | ms of processor time |\n|---|---|")
    for what, milliseconds in asyncio.run(measured(served, arguments.rounds)).items():
        print(f"| {what} | {milliseconds:.2f} |")


async def measured(served: Served, rounds: int) -> dict[str, float]:
    app, rng = create_app(served), np.random.default_rng(0)
    codes = list(served.answers.model.files.diagnoses)
    stays = [rng.choice(codes, 10, replace=False).tolist() for _ in range(REQUESTS)]

    async def answer(stay: list[str]) -> None:
        served.answers.recommend(stay, 10)

    async def recommend(stay: list[str]) -> None:
        await call(app, "POST", "/api/recommend", json.dumps({"diagnoses": stay}).encode())

    async def probe(stay: list[str]) -> None:
        await call(app, "GET", "/livez", b"")

    named = {
        "a recommendation": (recommend, 1),
        f"the same, {AT_A_TIME} at a time": (recommend, AT_A_TIME),
        "its answer alone": (answer, 1),
        "a health probe": (probe, 1),
    }
    times: dict[str, list[float]] = {what: [] for what in named}
    for _ in range(rounds):
        for what, (run, at_a_time) in named.items():
            times[what].append(await spent(run, stays, at_a_time))
    return {what: min(taken) for what, taken in times.items()}


async def spent(run: Callable[[list[str]], Awaitable[None]], stays: list[list[str]], at_a_time: int) -> float:
    started = time.process_time()
    for start in range(0, len(stays), at_a_time):
        await asyncio.gather(*(run(stay) for stay in stays[start : start + at_a_time]))
    return 1000 * (time.process_time() - started) / len(stays)


async def call(app: Any, method: str, path: str, body: bytes) -> None:
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "root_path": "", "scheme": "http", "headers": headers, "state": {}}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        assert message.get("status", 200) == 200, message

    await app(scope, receive, send)


if __name__ == "__main__":
    main()
