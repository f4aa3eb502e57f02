"""The service as a process of its own: signals, slow and broken clients, limits of the wire."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.server import _listen, _within_system, address
from service_process import BODY, QUICK, STARTER, Process

HEAD = b"POST /api/recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def running(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    process = Process(model_folder, tmp_path_factory.mktemp("log") / "log")
    yield process
    if process.process.poll() is None:
        process.stop(signal.SIGKILL)


def until_closed(client: socket.socket) -> tuple[bytes, float]:
    """What still comes, and how long until the other side has closed."""
    started, received = time.monotonic(), b""
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionError:
        pass
    return received, time.monotonic() - started


def sends_until_cut(client: socket.socket, part: bytes, pause: float = 0.0) -> float:
    """Send again and again; how long until the other side has closed."""
    started = time.monotonic()
    while time.monotonic() - started < 30:
        try:
            client.sendall(part)
        except ConnectionError:
            return time.monotonic() - started
        time.sleep(pause)
    raise AssertionError("the connection is still open")


def exchange(running: Process, *parts: bytes) -> bytes:
    """Send parts on one connection, to its end, and read what is answered."""
    with running.connect() as client:
        try:
            for part in parts:
                client.sendall(part)
        except ConnectionError:
            pass
        return until_closed(client)[0]


def request(body: bytes = BODY, more: bytes = b"connection: close\r\n") -> bytes:
    return HEAD + more + b"content-length: %d\r\n\r\n" % len(body) + body


def test_an_answer_does_not_wait_for_the_caller_to_confirm_its_headers() -> None:
    """Connections inherit the option of the socket that they came to."""
    with _listen(ServiceConfig(port=0)) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_process_needs_no_torch(running: Process) -> None:
    maps = Path(f"/proc/{running.process.pid}/maps").read_text()
    assert "numpy" in maps
    assert not [name for name in ("libtorch", "llvmlite", "pandas", "sklearn") if name in maps]


def test_it_names_its_model(running: Process) -> None:
    assert re.search(
        r"serving model, Model\(e\+pooling, 5 diagnoses, 4 procedures\) on port", running.log.read_text()
    )


def test_an_answer_leaves_in_one_piece_and_a_head_without_a_body_leaves_too(running: Process) -> None:
    with socket.create_connection(("127.0.0.1", running.port), 20) as client:
        for asked in (request(more=b""), b"HEAD /livez HTTP/1.1\r\nhost: localhost\r\n\r\n") * 2:
            client.sendall(asked)
            head, end, body = client.recv(1 << 16).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK")
            assert end
            length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
            assert len(body) == (0 if asked.startswith(b"HEAD") else length)


def test_it_answers(running: Process) -> None:
    status, told = running.post()
    assert status == 200
    assert told["recommendations"][0]["code"] == "icd9pcs:3722"


def test_slow_senders_are_cut(running: Process) -> None:
    """Nothing, half a line, half a head, half a body, half a chunk."""
    chunk = b"transfer-encoding: chunked\r\n\r\n5\r\n{"
    sent = [b"", b"POST /api/rec", HEAD, HEAD + b"content-length: 50\r\n\r\n{", HEAD + chunk]
    clients = [running.connect() for _ in sent]
    started = time.monotonic()
    for client, part in zip(clients, sent, strict=True):
        client.sendall(part)
    for client in clients:
        received, _ = until_closed(client)
        assert QUICK - 0.6 < time.monotonic() - started < QUICK + 5
        assert b"200 OK" not in received
        client.close()


def test_trickling_does_not_help(running: Process) -> None:
    with running.connect() as client:
        client.sendall(HEAD + b"content-length: 1000\r\n\r\n")
        assert sends_until_cut(client, b" ", pause=0.05) < QUICK + 5


def test_a_client_that_takes_no_answers_is_cut(running: Process) -> None:
    """The system's buffers fill first, so the wait is longer than the service's patience."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", running.port))
        sends_until_cut(client, b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n" * 5, pause=0.01)
    running.wait_for("slow clients")
    assert running.post()[0] == 200


def test_requests_do_not_pile_up_on_a_connection(running: Process) -> None:
    with running.connect() as client:
        sends_until_cut(client, b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
    assert running.post()[0] == 200


@pytest.mark.parametrize(
    ("allowed", "most", "then", "connections"),
    [
        (256, 4096, 264, 100),
        (64, 164, 164, 50),
        (64, resource.RLIM_INFINITY, 264, 100),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 100),
        (264, 264, None, 100),
    ],
)
def test_connections_fit_the_files_that_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, allowed: int, most: int, then: int | None, connections: int
) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (allowed, most))
    monkeypatch.setattr(resource, "setrlimit", lambda *request: asked.append(request))
    assert _within_system(Limits(connections=100)).connections == connections
    assert asked == ([] if then is None else [(resource.RLIMIT_NOFILE, (then, most))])


def test_others_are_served_meanwhile(running: Process) -> None:
    idle = [running.connect() for _ in range(100)]
    for client in idle:
        client.sendall(HEAD + b"content-length: 50\r\n\r\n{")
    assert [running.post()[0] for _ in range(20)] == [200] * 20
    for client in idle:
        client.close()


def test_connections_have_a_limit(running: Process) -> None:
    idle = [running.connect() for _ in range(151)]
    received, _ = until_closed(idle[-1])
    assert received.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in received
    for client in idle:
        client.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_beyond_the_limit_is_refused_and_the_client_sees_it(running: Process, chunked: bool) -> None:
    body = b" " * 100_000
    if chunked:
        sent = HEAD + b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"
        answered = exchange(running, sent + request())
    else:
        answered = exchange(running, request(body, b"") + request())
    assert answered.startswith(b"HTTP/1.1 413")
    assert b"HTTP/1.1 200" in answered  # the connection is still good for a request of proper size


def test_an_endless_body_is_cut_and_costs_no_memory(running: Process) -> None:
    def resident() -> int:
        return int(Path(f"/proc/{running.process.pid}/statm").read_text().split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )

    before = resident()
    with running.connect() as client:
        client.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        sends_until_cut(client, b"100000\r\n" + b" " * 0x100000 + b"\r\n")
    assert resident() - before < 20_000_000


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /\xff HTTP/1.1\r\nhost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 100_000, 431),
        (b"GET /" + b"x" * 100_000, 431),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"x:\r\n" * 100 + b"\r\n", 431),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 5000, 400),
        (HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\n", 400),
        (HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n", 400),
        (HEAD + b"content-length: -1\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n", 200),
        (b"GET /api/model HTTP/1.1\r\nconnection: close\r\n\r\n", 400),
    ],
)
def test_broken_requests_get_a_problem(running: Process, sent: bytes, status: int) -> None:
    answered = exchange(running, sent)
    assert answered.startswith(b"HTTP/1.1 %d" % status), answered[:200]
    if status >= 400:
        assert b"application/problem+json" in answered
    assert b"Traceback" not in answered


def test_a_request_that_would_lose_its_body_is_refused(running: Process) -> None:
    upgrade = b"connection: close, Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    assert b"without Upgrade" in exchange(running, request(BODY, upgrade))
    answered = exchange(running, request(BODY, b"connection: close\r\nupgrade: h2c\r\n"))
    assert answered.startswith(b"HTTP/1.1 200")


def test_trailers_are_not_headers(running: Process) -> None:
    """They come when the headers have been checked: one that names the type of the body must not decide."""
    head = b"POST /api/recommend HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n"
    chunk = b"\r\n%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
    answered = exchange(running, head + chunk + b"content-type: application/json\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 415"), answered[:200]


def test_expectations_and_pipelines_are_met(running: Process) -> None:
    answered = exchange(running, request(BODY, b"") + request(BODY, b"") + request())
    assert answered.count(b"HTTP/1.1 200 OK") == 3
    answered = exchange(running, request(BODY, b"expect: 100-continue\r\nconnection: close\r\n"))
    assert b"HTTP/1.1 200 OK" in answered


def test_a_reload_takes_the_new_model_and_drops_no_request(
    tmp_path: Path, write_planted: Callable[[Path, str], None]
) -> None:
    write_planted(tmp_path / "model", "# First\n")
    running = Process(tmp_path / "model", tmp_path / "log")
    statuses: list[int] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            statuses.append(running.post()[0])

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        assert json.loads(running.get("/api/model"))["card"] == "# First\n"
        write_planted(tmp_path / "model", "# Second\n")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("reload done")
        assert json.loads(running.get("/api/model"))["card"] == "# Second\n"
        (tmp_path / "model" / "weights.safetensors").write_bytes(b"damaged")
        running.process.send_signal(signal.SIGHUP)
        running.wait_for("reload refused, the old model stays in use: .*weights.safetensors is damaged")
        assert json.loads(running.get("/api/model"))["card"] == "# Second\n"
        assert json.loads(running.get("/readyz")) == {"status": "ready"}
        metrics = running.get("/metrics").decode()
        assert 'dx2px_reloads_total{outcome="refused"} 1.0' in metrics
    finally:
        done.set()
        for thread in asking:
            thread.join()
    code, _ = running.stop()
    assert code == 0
    assert len(statuses) > 10
    assert set(statuses) == {200}


# A model folder whose reading never ends, as if it held a pipe that nobody writes to.
ENDLESS = f"""
import os
import re
from dx2px.service import served, server
server._Server.reload_seconds = 0.5
served.Served.read = lambda self: open(os.environ["DX2PX_TEST_PIPE"]).read()
{STARTER}
"""


def test_the_address_to_open_is_told() -> None:
    assert address(ServiceConfig(), 8000) == "http://127.0.0.1:8000/"
    assert address(ServiceConfig(host="::1"), 9) == "http://[::1]:9/"
    everywhere = ServiceConfig(host="0.0.0.0", token="x" * 64, trusted_hosts=("codes.example",))
    assert address(everywhere, 9) == "http://127.0.0.1:9/"
    assert address(ServiceConfig(base_url="https://codes.example"), 9) == "https://codes.example"


def test_a_reload_that_never_ends_leaves_the_service_responsive(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("DX2PX_TEST_PIPE", str(tmp_path / "pipe"))
    running = Process(model_folder, tmp_path / "log", sys.executable, "-c", ENDLESS, str(model_folder), "1")
    refused = "reload refused, the old model stays in use: the folder could not be read in 0.5 seconds"
    running.process.send_signal(signal.SIGHUP)
    running.wait_for(refused)
    assert running.post()[0] == 200
    running.process.send_signal(signal.SIGHUP)
    running.wait_for(f"(?s){refused}.*{refused}")
    running.process.send_signal(signal.SIGHUP)
    assert json.loads(running.get("/livez")) == {"status": "alive"}
    code, seconds = running.stop()
    assert code == 0
    assert seconds < 10
    assert "Traceback" not in running.log.read_text()


def test_a_stop_finishes_what_is_under_way_even_with_half_open_sockets(
    model_folder: Path, tmp_path: Path
) -> None:
    running = Process(model_folder, tmp_path / "log")
    half_open = [running.connect() for _ in range(20)]
    for place, client in enumerate(half_open):
        client.sendall(HEAD + (b"" if place % 2 else b"content-length: 50\r\n\r\n{"))
    with running.connect() as under_way:
        under_way.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY[:5])
        time.sleep(0.3)
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        under_way.sendall(BODY[5:])
        answered, _ = until_closed(under_way)
    assert answered.startswith(b"HTTP/1.1 200 OK")
    started = time.monotonic()
    assert running.process.wait(30) == 0
    assert time.monotonic() - started < 10
    for client in half_open:
        client.close()
    with pytest.raises(ConnectionError):
        running.connect()
    assert "Traceback" not in running.log.read_text()


def test_the_command_serves_and_stops_at_ctrl_c(model_folder: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "dx2px", "serve", "--model", str(model_folder), "--port", "0")
    running = Process(model_folder, tmp_path / "log", *command)
    assert running.post()[0] == 200
    code, seconds = running.stop(signal.SIGINT)
    assert code == 0
    assert seconds < 5
    assert "stopped" in running.log.read_text()


def test_the_log_of_the_process_holds_no_codes_and_no_tracebacks(running: Process) -> None:
    running.get("/api/codes?q=CANARY")
    running.post(body=b'{"diagnoses": ["CANARY"]}')
    exchange(running, b"CANARY\r\n\r\n")
    running.wait_for(r"POST /api/recommend 200 [\d.]+ [0-9a-f]{16}\n")
    assert "CANARY" not in running.log.read_text()
    assert "Traceback" not in running.log.read_text()
    assert "ERROR" not in running.log.read_text()
