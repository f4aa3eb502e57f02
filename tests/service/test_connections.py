"""Connections inside one event loop, where the order of events is exact: the last requests, and unread answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn

from dx2px.service.config import Limits
from dx2px.service.connections import Connection
from dx2px.service.metrics import Metrics
from dx2px.service.observation import GONE
from dx2px.service.served import Served
from dx2px.service.server import _Server, _uvicorn_config

ASK = b"GET /small HTTP/1.1\r\nhost: localhost\r\n\r\n"
ASK_LARGE = b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n"
LARGE = 8_000_000  # bytes, more than the system takes for a client that does not read


class Running:
    """A server in this event loop, and an application that notes what it is asked."""

    def __init__(self, served: Served, most_unread: int) -> None:
        self.asked: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        config: uvicorn.Config = _uvicorn_config(self, Limits(shutdown_seconds=5))
        config.load()
        config.http_protocol_class.most_unread = most_unread  # type: ignore[union-attr]
        self.server = _Server(config, served, Metrics(), Limits(shutdown_seconds=5), lambda: None)
        self.server.lifespan = config.lifespan_class(config)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        if scope["method"] == "POST":
            while (await receive())["more_body"]:
                pass
            self.asked.append("read")
        while scope["path"] == "/endless" and not scope["extensions"][GONE]():
            await asyncio.sleep(0)
        body = b" " * (LARGE if scope["path"] == "/large" else 1)
        length = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": body})

    def connect(self) -> socket.socket:
        """A client. The system makes the connection; the server learns of it when its loop runs."""
        return socket.create_connection(self.listener.getsockname(), timeout=10)

    def unread(self) -> int:
        """Bytes of answers in memory."""
        return sum(one.transport.get_write_buffer_size() for one in self.server.server_state.connections)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await asyncio.sleep(0.01)


@pytest.fixture
def run(served: Served) -> Callable[..., Running]:
    def in_loop(
        test: Callable[[Running], Coroutine[Any, Any, None]], most_unread: int = Connection.most_unread
    ) -> Running:
        async def started() -> Running:
            running = Running(served, most_unread)
            await running.server.startup([running.listener])
            await test(running)
            await running.server.shutdown([running.listener])
            return running

        return asyncio.run(started())

    return in_loop


def answers(client: socket.socket) -> bytes:
    """All that the server sent until it closed."""
    received = b""
    while part := client.recv(65536):
        received += part
    return received


def test_requests_that_were_sent_before_the_stop_are_answered(run: Callable[..., Running]) -> None:
    """On a connection that was idle, and on one that the server has not accepted yet."""
    clients: list[socket.socket] = []

    async def send_last(running: Running) -> None:
        idle = running.connect()
        idle.sendall(ASK)
        await running.until(lambda: len(running.asked) == 1)
        assert b"connection: close" not in idle.recv(1000)
        clients.extend([idle, running.connect()])
        for client in clients:
            client.sendall(ASK)  # the loop does not run between this and the stop

    running = run(send_last)
    assert running.asked == ["/small"] * 3
    for client in clients:
        received = answers(client)
        assert received.startswith(b"HTTP/1.1 200 OK")
        assert received.count(b"connection: close") == 1
        client.close()


def test_a_request_that_arrives_while_idle_connections_are_closed_is_answered(
    run: Callable[..., Running],
) -> None:
    async def race(running: Running) -> None:
        with running.connect() as client:
            client.sendall(ASK)
            await running.until(lambda: len(running.asked) == 1)
            client.recv(1000)
            client.sendall(ASK)
            for connection in list(running.server.server_state.connections):
                connection.shutdown()
            await running.until(lambda: len(running.asked) == 2)
            assert client.recv(1000).startswith(b"HTTP/1.1 200 OK")

    run(race)


def test_answers_that_are_not_read_have_a_limit(run: Callable[..., Running]) -> None:
    """Beyond it, those who have not read for longest are cut off; the others can still read everything."""

    async def flood(running: Running) -> None:
        clients = []
        for _ in range(6):
            clients.append(running.connect())
            clients[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            clients[-1].sendall(ASK_LARGE)
            await running.until(lambda: len(running.asked) == len(clients))
            await asyncio.sleep(0)
            assert running.unread() <= 2 * LARGE
        assert len(answers(clients[0])) < LARGE
        clients[-1].sendall(ASK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        assert len(await asyncio.to_thread(answers, clients[-1])) > LARGE
        for client in clients:
            client.close()

    run(flood, 2 * LARGE)


def test_the_next_request_waits_until_the_answer_is_read(run: Callable[..., Running]) -> None:
    """So that a client that does not read holds neither a place nor a second answer."""

    async def ask_twice(running: Running) -> None:
        with running.connect() as client:
            client.sendall(ASK_LARGE + ASK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
            await running.until(lambda: running.unread() > 0)
            for _ in range(20):
                await asyncio.sleep(0)
            assert running.asked == ["/large"]
            received = await asyncio.to_thread(answers, client)
        assert running.asked == ["/large", "/small"]
        assert received.count(b"HTTP/1.1 200 OK") == 2

    run(ask_twice)


def test_requests_beyond_the_queue_are_not_even_parsed(run: Callable[..., Running]) -> None:
    begun = []

    async def pile_up(running: Running) -> None:
        class Counted(running.server.config.http_protocol_class):  # type: ignore[misc, name-defined]
            def on_message_begin(self) -> None:
                begun.append(1)
                super().on_message_begin()

        running.server.config.http_protocol_class = Counted
        with running.connect() as client:
            client.sendall(ASK * 150)  # less than is read at a time
            assert await asyncio.to_thread(client.recv, 1000) == b""

    run(pile_up)
    assert len(begun) < 50


@pytest.mark.parametrize("size", [1, 100_000])
def test_the_application_learns_that_a_client_has_gone(run: Callable[..., Running], size: int) -> None:
    head = b"POST /endless HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % size

    async def leave(running: Running) -> None:
        with running.connect() as client:
            client.sendall(head)
            await running.until(lambda: running.asked == ["/endless"])
            client.sendall(b" " * size)  # a large part makes uvicorn stop reading
            await running.until(lambda: running.asked == ["/endless", "read"])
            assert running.server.server_state.tasks
        await running.until(lambda: not running.server.server_state.tasks)

    run(leave)
