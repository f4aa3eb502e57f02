"""Several workers at one address: one service for whoever calls, watches or stops it."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dx2px.service.cds.used_ids import UsedIds
from service_process import BODY, Process

WritePlanted = Callable[[Path, str], None]
HEAD = b"POST /api/recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_two_workers_are_one_service(tmp_path: Path, write_planted: WritePlanted) -> None:
    write_planted(tmp_path / "model", "# First\n")
    running = Process(tmp_path / "model", tmp_path / "log", workers=2)
    try:
        running.wait_for("with 2 workers on port")
        each_answers_and_shows_the_sums(running)
        a_reload_reaches_both_and_drops_no_request(running, tmp_path / "model", write_planted)
        one_that_dies_is_replaced_and_counted(running)
        a_stop_finishes_what_is_under_way(running)
    finally:
        running.process.kill()
        running.process.wait(30)
    assert "Traceback" not in running.log.read_text()


def each_answers_and_shows_the_sums(running: Process) -> None:
    one, other = workers_of(running)
    until(
        lambda: (
            abs(figure(running, "process_resident_memory_bytes") / (resident(one) + resident(other)) - 1)
            < 0.1
        )
    )
    for asked, worker in enumerate((one, other), 1):
        with paused(worker):
            assert running.post()[0] == 200
            assert answered(running) == asked


def a_reload_reaches_both_and_drops_no_request(
    running: Process, model: Path, write_planted: WritePlanted
) -> None:
    statuses: list[int] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            statuses.append(running.post()[0])

    asking = threading.Thread(target=ask)
    asking.start()
    write_planted(model, "# Second\n")
    running.process.send_signal(signal.SIGHUP)
    until(lambda: running.log.read_text().count("reload done") == 2)
    done.set()
    asking.join()
    assert set(statuses) == {200}
    assert figure(running, 'dx2px_reloads_total{outcome="done"}') == 2
    for worker in workers_of(running):
        with paused(worker):
            assert json.loads(running.get("/api/model"))["card"] == "# Second\n"


def one_that_dies_is_replaced_and_counted(running: Process) -> None:
    """Its counts are kept, and what takes its place has the model that was loaded since the start."""
    before, (killed, other) = answered(running), workers_of(running)
    os.kill(killed, signal.SIGKILL)
    running.wait_for("worker 0 was ended by SIGKILL; another one starts")
    assert running.post()[0] == 200
    assert killed not in workers_of(running)
    with paused(other):
        assert json.loads(running.get("/api/model"))["card"] == "# Second\n"
        assert answered(running) == before + 1
        assert figure(running, "dx2px_workers_lost_total") == 1
        assert figure(running, "dx2px_requests_under_way") == 1


def a_stop_finishes_what_is_under_way(running: Process) -> None:
    clients = [running.connect() for _ in range(8)]
    for client in clients:
        client.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY[:5])
    time.sleep(0.3)
    running.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    for client in clients:
        client.sendall(BODY[5:])
        assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
        client.close()
    assert running.process.wait(30) == 0
    assert running.log.read_text().endswith("INFO stopped\n")


def test_workers_end_when_their_first_process_was_killed(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # what they share stays behind
    running = Process(model_folder, tmp_path / "log", workers=2)
    workers = workers_of(running)
    running.stop(signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{one}/exe").exists() for one in workers))
    assert running.log.read_text().count("the first process has gone") == 2


def test_an_id_is_used_once_by_all_until_it_expires(tmp_path: Path) -> None:
    one, other = UsedIds(tmp_path), UsedIds(tmp_path)
    assert one.use("https://ehr.example", "a", ends=100, now=0)
    assert not other.use("https://ehr.example", "a", ends=100, now=99)
    assert other.use("https://other.example", "a", ends=100, now=99)
    assert other.use("https://ehr.example", "a", ends=200, now=101)
    assert not one.use("https://ehr.example", "a", ends=200, now=101)
    assert UsedIds().use("https://ehr.example", "a", ends=200, now=101)


def workers_of(running: Process) -> list[int]:
    """The processes of the workers, in the order in which they were started."""
    first = running.process.pid
    children = Path(f"/proc/{first}/task/{first}/children")
    until(lambda: len(children.read_text().split()) == 2)
    return [int(one) for one in children.read_text().split()]


@contextmanager
def paused(worker: int) -> Iterator[None]:
    """While a worker does nothing, the other one answers."""
    os.kill(worker, signal.SIGSTOP)
    yield
    os.kill(worker, signal.SIGCONT)


def answered(running: Process) -> float:
    return figure(running, 'dx2px_requests_total{method="POST",route="/api/recommend",status="200"}')


def figure(running: Process, name: str) -> float:
    found = re.search(f"^{re.escape(name)} (.+)$", running.get("/metrics").decode(), re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def resident(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
