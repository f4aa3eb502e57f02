"""Schemathesis, all checks, against the service's OpenAPI document; the service runs on the loopback.

Run: python benchmarks/schemathesis_run.py --model MODEL --cases 600 --token     (600 per operation, over 5,000 in all)
Every answer must come within 5 s. The last line names the slowest answers by the service's own clock, and the total
processor time: on a machine that is busy with other work answers come late, too.
"""

from __future__ import annotations

import argparse
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A request without prefetch is valid, and its answer is 412; 409 is a limit of the model.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 401, 404, 409, 412]
"""
# A line of the service's log: route and milliseconds.
LINE = re.compile(r" INFO (\S+ \S+) \d{3} ([\d.]+) \w+$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=600, help="cases per operation")
    parser.add_argument(
        "--token", action="store_true", help="let the service require a token, and check that it does"
    )
    parser.add_argument(
        "--quick", action="store_true", help="leave out the systematic phase and the time limit"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    token = secrets.token_hex(32)
    (folder / "token").write_text(token)
    (folder / "schemathesis.toml").write_text(SETTINGS)
    log = folder / "log"
    command = [sys.executable, "-m", "dx2px", "serve", "--model", str(options.model.resolve()), "--port", "0"]
    command += ["--token-file", str(folder / "token")] if options.token else []
    with log.open("wb") as stream:
        service = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        address = f"http://127.0.0.1:{port_of(service, log)}"
        tester = [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            f"{address}/openapi.json",
            "--checks",
            "all",
        ]
        tester += ["--max-examples", str(options.cases), "--seed", str(options.seed), "--no-color"]
        tester += ["--mode", "all"]
        # A late answer is a failure with its time, not a network error after the usual 10 s.
        tester += [] if options.quick else ["--max-response-time", "5", "--request-timeout", "60"]
        tester += ["--phases", "examples,fuzzing" if options.quick else "examples,coverage,fuzzing"]
        tester += ["--header", f"Authorization: Bearer {token}"] if options.token else []
        found = subprocess.run(tester, cwd=folder, check=False).returncode
    finally:
        service.terminate()
        before = processor_time()
        ended = service.wait(30)
    text = log.read_text()
    broken = text.count(" 500 ") + text.count("Traceback")
    print(
        f"service ended with {ended}, {broken} internal errors in its log; {times(text, processor_time() - before)}"
    )
    return int(found != 0 or ended != 0 or broken > 0)


def processor_time() -> float:
    """Seconds used by the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def times(text: str, used: float) -> str:
    """How many requests there were, the slowest of them, and the processor time of all."""
    answered = [(float(spent), route) for route, spent in LINE.findall(text)]
    slowest = ", ".join(f"{spent:.0f} ms {route}" for spent, route in sorted(answered)[:-4:-1])
    return f"{len(answered)} requests in {used:.1f} s of processor time, slowest {slowest}"


def port_of(service: subprocess.Popen[bytes], log: Path) -> int:
    while service.poll() is None:
        if found := re.search(r"on port (\d+)", log.read_text()):
            return int(found.group(1))
        time.sleep(0.05)
    raise SystemExit(log.read_text())


if __name__ == "__main__":
    raise SystemExit(main())
