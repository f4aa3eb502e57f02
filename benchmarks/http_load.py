"""A client that keeps a number of connections busy: each sends its next request when it has its answer.

Run: python benchmarks/http_load.py PORT ROUTE BODIES CONNECTIONS SECONDS
BODIES is a file with one JSON body per line, sent in turn. Prints JSON: how many requests were answered, in how many
seconds, the milliseconds they took at the median and at the 99th percentile, and how many failed.
It costs about a tenth of what the service costs, so it runs beside it on another core.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Client(asyncio.Protocol):
    """One connection."""

    transport: asyncio.Transport

    def __init__(self, requests: Iterator[bytes], taken: list[float], failed: list[int]) -> None:
        self.requests, self.taken, self.failed = requests, taken, failed
        self.received = bytearray()
        self.needed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.send()

    def send(self) -> None:
        self.received.clear()
        self.needed, self.sent = 0, time.perf_counter()
        self.transport.write(next(self.requests))

    def data_received(self, data: bytes) -> None:
        self.received += data
        if not self.needed and (head := self.received.find(_END)) >= 0:
            start = self.received.index(_LENGTH) + len(_LENGTH)
            self.needed = head + len(_END) + int(self.received[start : self.received.index(b"\r", start)])
        if self.needed and len(self.received) >= self.needed:
            self.taken.append(time.perf_counter() - self.sent)
            self.failed.append(not self.received.startswith(b"HTTP/1.1 200"))
            self.send()

    def connection_lost(self, error: Exception | None) -> None:
        self.failed.append(1)


async def drive(
    port: int, route: str, bodies: list[str], connections: int, seconds: float
) -> dict[str, float]:
    requests = itertools.cycle(request(route, body) for body in bodies)
    taken: list[float] = []
    failed: list[int] = []
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Client(requests, taken, failed), "127.0.0.1", port)
    await asyncio.sleep(seconds)
    p50, p99 = 1000 * np.percentile(taken, [50, 99])
    spent = time.perf_counter() - started
    return {"requests": len(taken), "seconds": spent, "p50": p50, "p99": p99, "errors": sum(failed)}


def request(route: str, body: str) -> bytes:
    head = f"POST {route} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
    sent = body.encode()
    return head.encode() + b"%d\r\n\r\n" % len(sent) + sent


if __name__ == "__main__":
    port, route, path, connections, seconds = sys.argv[1:]
    lines = Path(path).read_text().splitlines()
    print(json.dumps(asyncio.run(drive(int(port), route, lines, int(connections), float(seconds)))))
