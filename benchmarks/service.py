"""The service under load, on the loopback: requests per second, latencies, errors, processor time, memory, health.

Run: python benchmarks/service.py [--model MODEL] [--seconds 60] [--requests 200000]
One process serves; another one drives it with 16 connections (`http_load.py`). The default model has random weights and
the paper's medium size (874 diagnoses, 258 procedures, E+SA+MA), which costs the same as a trained one. Then new
connections ask for `/livez` while 600 clients ask for recommendations, and while 64 clients send the costliest
requests: 200 diagnoses with a coverage of 0.99 (or the best 50, where the model has no calibration), and audits of 100
stays with 200 diagnoses each. At the end, as many workers as there are cores answer recommendations, against one.
Prints Markdown.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dx2px.answers.shipped import model_path

DIAGNOSES, PROCEDURES = 874, 258
BODIES = 500
LOAD = Path(__file__).with_name("http_load.py")


@dataclass(frozen=True)
class Load:
    """What the client saw."""

    requests: int
    rate: float
    p50: float
    p99: float
    errors: int


class Service:
    """A served model, as a process."""

    def __init__(self, model: Path, folder: Path, workers: int = 1) -> None:
        command = [sys.executable, "-m", "dx2px", "serve", "--model", str(model), "--port", "0"]
        command += ["--workers", str(workers)]
        self.log = folder / "log"
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(command, stdout=stream, stderr=stream)
        self.port = self._port()

    def _port(self) -> int:
        while self.process.poll() is None:
            if found := re.search(r"on port (\d+)", self.log.read_text()):
                return int(found.group(1))
            time.sleep(0.05)
        raise SystemExit(self.log.read_text())

    def stop(self) -> int:
        """End it as an operator would, and return its exit code."""
        self.process.terminate()
        return self.process.wait(30)

    def resident(self) -> float:
        """Megabytes in memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def processor_seconds(self) -> float:
        """Processor time so far; other work on the machine changes it less than it changes rates."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, route: str, bodies: list[Any], seconds: int, folder: Path, connections: int = 16) -> Load:
        """Drive a route with these bodies in turn."""
        lines = folder / "bodies"
        lines.write_text("\n".join(map(json.dumps, bodies)))
        words = [str(self.port), route, str(lines), str(connections), str(seconds)]
        done = subprocess.run([sys.executable, str(LOAD), *words], capture_output=True, text=True, check=True)
        seen = json.loads(done.stdout)
        rate = seen["requests"] / seen.pop("seconds")
        return Load(rate=rate, **seen)

    def health(self) -> float:
        """Milliseconds until a new connection has its answer from `/livez`."""
        started = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/livez")
        assert connection.getresponse().status == 200
        connection.close()
        return 1000 * (time.perf_counter() - started)

    def check(self, route: str, body: Any) -> None:
        """Make sure that a request of this kind is answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", route, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a folder, or the name of a model in the package")
    parser.add_argument("--seconds", type=int, default=10, help="per route")
    parser.add_argument("--requests", type=int, default=200_000, help="over which memory is watched")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = model_path(options.model) if options.model else random_model(folder / "model")
        service = Service(model.resolve(), folder)
        try:
            measure(service, diagnoses_of(model), options, folder)
        finally:
            print(f"\nThe service ended with exit code {service.stop()}.")
        compare_workers(model.resolve(), options.seconds, folder)


def measure(service: Service, codes: list[str], options: argparse.Namespace, folder: Path) -> None:
    rng = np.random.default_rng(0)
    stays = [rng.choice(codes, min(10, len(codes)), replace=False).tolist() for _ in range(BODIES)]
    asked = [{"diagnoses": stay} for stay in stays]
    routes = {
        "recommend": ("/api/recommend", asked, "≥ 1,500 (2,500)/s, p99 < 30 ms"),
        "explain": ("/api/explain", asked, "≥ 300/s"),
        "CDS Hooks, 500 conditions": (
            "/cds-services/dx2px-patient-view",
            [hook(rng.choice(codes, 500).tolist()) for _ in range(20)],
            "p99 < 200 ms",
        ),
    }
    print("| route | requests/s | p50, ms | p99, ms | CPU per request, ms | errors | required (target) |")
    print("|---|---|---|---|---|---|---|")
    for title, (route, bodies, must) in routes.items():
        service.check(route, bodies[0])
        connections = 4 if "CDS" in title else 16
        service.load(route, bodies, 1, folder, connections)
        before = service.processor_seconds()
        seen = service.load(route, bodies, options.seconds, folder, connections)
        cost = 1000 * (service.processor_seconds() - before) / seen.requests
        print(
            f"| {title} | {seen.rate:,.0f} | {seen.p50:.1f} | {seen.p99:.1f} | {cost:.2f} | {seen.errors} | {must} |",
            flush=True,
        )
    watch_memory(service, asked, options.requests, folder)
    watch_health(service, asked, codes, options.seconds, folder)


def compare_workers(model: Path, seconds: int, folder: Path) -> None:
    """Rates of one worker and of one per core, in turns."""
    rng, codes, most = np.random.default_rng(0), diagnoses_of(model), os.cpu_count() or 1
    asked = [
        {"diagnoses": rng.choice(codes, min(10, len(codes)), replace=False).tolist()} for _ in range(BODIES)
    ]
    rates: dict[int, list[float]] = {1: [], most: []}
    for workers in (1, most) * 2:
        service = Service(model, folder, workers)
        try:
            service.load("/api/recommend", asked, 1, folder)
            rates[workers].append(service.load("/api/recommend", asked, seconds, folder).rate)
        finally:
            service.stop()
    one, all_ = max(rates[1]), max(rates[most])
    print(
        f"\nRecommendations: {one:,.0f} per second by one worker, {all_:,.0f} by {most} ({all_ / one:.2f} times)."
    )


def watch_memory(service: Service, bodies: list[Any], requests: int, folder: Path) -> None:
    before, done = service.resident(), 0
    while done < requests:
        done += service.load("/api/recommend", bodies, 5, folder).requests
    after = service.resident()
    print(
        f"\nMemory: {before:.0f} MB, after {done:,} more requests {after:.0f} MB ({after / before - 1:+.1%})."
    )


def watch_health(service: Service, asked: list[Any], codes: list[str], seconds: int, folder: Path) -> None:
    large = codes[:200]
    costliest = {"diagnoses": large, "coverage": 0.99}
    try:
        service.check("/api/explain", costliest)
    except AssertionError:
        costliest = {"diagnoses": large, "top": 50}
    audit = {"stays": [{"diagnoses": large, "procedures": []}] * 100}
    loads = {
        "600 clients, recommend": ("/api/recommend", asked, 600),
        "64 clients, costliest explain": ("/api/explain", [costliest], 64),
        "64 clients, costliest audit": ("/api/audit", [audit], 64),
    }
    print("\n| load | /livez on new connections | median, ms | largest, ms (required: < 250) |")
    print("|---|---|---|---|")
    for title, (route, bodies, connections) in loads.items():
        with ThreadPoolExecutor(1) as driver:
            load = driver.submit(service.load, route, bodies, seconds, folder, connections)
            time.sleep(1)
            taken = []
            while not load.done():
                taken.append(service.health())
                time.sleep(0.05)
        print(f"| {title} | {len(taken)} | {np.median(taken):.0f} | {max(taken):.0f} |", flush=True)


def hook(codes: list[str]) -> dict[str, Any]:
    entries = []
    for code in codes:
        system, _, bare = code.partition(":")
        uri = f"http://hl7.org/fhir/sid/{'icd-9-cm' if system == 'icd9cm' else 'icd-10-cm'}"
        status = {
            "coding": [
                {"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": "active"}
            ]
        }
        coded = {"coding": [{"system": "http://snomed.info/sct", "code": "1"}, {"system": uri, "code": bare}]}
        resource = {"resourceType": "Condition", "id": bare, "clinicalStatus": status, "code": coded}
        entries.append({"fullUrl": f"urn:x:{bare}", "resource": resource})
    return {
        "hook": "patient-view",
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "context": {"userId": "Practitioner/1", "patientId": "1"},
        "prefetch": {"conditions": {"resourceType": "Bundle", "type": "searchset", "entry": entries}},
    }


def diagnoses_of(model: Path) -> list[str]:
    from dx2px.scoring.folder import read_folder

    return list(read_folder(model).diagnoses)


def random_model(path: Path) -> Path:
    """A model of the paper's medium size with random weights."""
    from dx2px.codes import System, dictionary
    from random_models import write_random_model

    rng = np.random.default_rng(0)

    def codes(system: System, count: int) -> list[str]:
        listed = sorted(f"{system}:{code}" for code in dictionary(system))
        return sorted(rng.choice(listed, count, replace=False).tolist())

    return write_random_model(
        path, "e+sa+ma", codes(System.ICD9CM, DIAGNOSES), codes(System.ICD9PCS, PROCEDURES)
    )


if __name__ == "__main__":
    main()
