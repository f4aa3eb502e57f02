"""The service as a process of its own, for tests of what only a process has: signals, sockets, workers."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BODY = json.dumps({"diagnoses": ["428.0", "250.00"]}).encode()
QUICK = 2.0  # seconds that the process under test gives a client; the tests wait for it

# As the command line starts it, but with less patience: its own is eight seconds.
STARTER = f"""
import sys
from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.logs import set_up_logs
from dx2px.service.served import Served
from dx2px.service.server import serve
set_up_logs()
limits = Limits(receive_seconds={QUICK}, shutdown_seconds={QUICK}, connections=150)
serve(Served.load(sys.argv[1]), ServiceConfig(port=0, limits=limits, workers=int(sys.argv[2])))
"""


class Process:
    """A running service."""

    def __init__(self, model: Path, log: Path, *command: str, workers: int = 1) -> None:
        self.log = log
        command = command or (sys.executable, "-c", STARTER, str(model), str(workers))
        with log.open("wb") as stream:
            self.process = subprocess.Popen(command, stderr=stream, stdout=stream)
        self.port = int(self.wait_for(r"on port (\d+)"))

    def wait_for(self, pattern: str, seconds: float = 60) -> str:
        """The text that a line of the log holds, once it does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, self.log.read_text()):
                return found.group(1) if found.groups() else found.group()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        raise AssertionError(f"no {pattern!r} in {self.log.read_text()}")

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def post(self, route: str = "/api/recommend", body: bytes = BODY) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", route, body, {"content-type": "application/json"})
        answer = connection.getresponse()
        told = answer.status, json.loads(answer.read())
        connection.close()
        return told

    def get(self, route: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", route)
        told = connection.getresponse().read()
        connection.close()
        return told

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """The exit code, and how long the end took."""
        started = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(30), time.monotonic() - started
