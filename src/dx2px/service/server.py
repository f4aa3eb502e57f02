"""The process: listens, drops slow clients, reloads on SIGHUP, shuts down cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import uvicorn

from dx2px.errors import ModelError
from dx2px.service.answers import Answers
from dx2px.service.app import create_app
from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.connections import Connection, State, abandon, cut_slow
from dx2px.service.logs import Sampled
from dx2px.service.metrics import Metrics
from dx2px.service.served import Served
from dx2px.service.shared_figures import SharedFigures
from dx2px.service.workers import Crew, heed_signals

log = logging.getLogger("dx2px.service")

_TICKS = 5  # tenths of a second between two checks of the connections
_OTHER_FILES = 64  # that the process opens besides its connections: its log, the model
_LAST_REQUESTS = 1.0  # seconds for requests that are on their way when the service is stopped


def serve(served: Served, config: ServiceConfig) -> None:
    """Answer requests until stopped."""
    config = replace(config, limits=_within_system(config.limits))
    with _listen(config) as listener:
        config = config.at_port(listener.getsockname()[1])
        if config.workers == 1:
            metrics = Metrics()
            _Process(served, config, metrics, listener).answer()
        else:
            _serve_together(served, config, listener)
    log.info("stopped")


def _serve_together(served: Served, config: ServiceConfig, listener: socket.socket) -> None:
    with tempfile.TemporaryDirectory(prefix="dx2px-") as folder:
        figures = SharedFigures(Path(folder))
        metrics = Metrics(figures)
        process = _Process(served, replace(config, shared=Path(folder)), metrics, listener)

        def work(place: int, reloaded: bool) -> None:
            figures.join(place)
            # The folder may have been replaced since the first process read it.
            if reloaded and not served.replace(served.read()):
                raise ModelError("The model folder cannot be used.")
            process.answer(parent=os.getppid())

        def lost(place: int) -> None:
            figures.leave(place)
            metrics.lost_worker()

        Crew(config.workers, work, lost, listener.close).run(process.announce)


class _Process:
    """What answers at a socket: all that can be wrong with its settings is found when it is made."""

    def __init__(
        self, served: Served, config: ServiceConfig, metrics: Metrics, listener: socket.socket
    ) -> None:
        self._served, self._metrics, self._limits, self._listener = served, metrics, config.limits, listener
        self._config = config
        self._app = create_app(served, config, metrics)
        # What is loaded by now stays: the garbage collector need not look at it again.
        gc.collect()
        gc.freeze()

    def announce(self) -> None:
        """Say in the log what is served and where. Whoever reads it may send signals: they have handlers by then."""
        config = self._config
        told = "" if config.workers == 1 else f" with {config.workers} workers"
        where = address(config, config.port)
        log.info("serving %r%s on port %d: open %s", self._served, told, config.port, where)

    def answer(self, parent: int | None = None) -> None:
        """Answer requests until stopped; a worker also stops when its parent has gone."""
        config = _uvicorn_config(self._app, self._limits, alone=parent is None)
        ready = self.announce if parent is None else lambda: None
        server = _Server(config, self._served, self._metrics, self._limits, ready, parent)
        server.run(sockets=[self._listener])


def address(config: ServiceConfig, port: int) -> str:
    """Where a browser on this machine finds the page, or the address that the operator gave."""
    everywhere = config.host in ("0.0.0.0", "::")
    host = "127.0.0.1" if everywhere else f"[{config.host}]" if ":" in config.host else config.host
    return config.base_url or f"http://{host}:{port}/"


def _within_system(limits: Limits) -> Limits:
    """The limits, with no more connections than the system lets the process open.

    Many systems allow 1,024 files, and more if asked. With none left, the loop would try in vain to accept the next
    connection, log every attempt, and answer nobody.
    """
    if sys.platform == "win32":
        return limits
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * limits.connections + _OTHER_FILES  # as many may arrive at once as are there, and be refused
    if allowed == resource.RLIM_INFINITY or allowed >= wanted:
        return limits
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    connections = max((allowed - _OTHER_FILES) // 2, 1)
    if connections < limits.connections:
        log.warning("at most %d connections: the system allows %d open files", connections, allowed)
    return replace(limits, connections=connections)


def _listen(config: ServiceConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    listener = socket.create_server(
        (config.host, config.port), family=family, backlog=config.limits.connections
    )
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, which these do not; without
    # it, the body of an answer waits up to 40 ms for the caller to confirm the headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _uvicorn_config(app: object, limits: Limits, alone: bool = True) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=type("LimitedConnection", (Connection,), {"limits": limits}),
        # Not uvloop: a new connection waits for seconds there while a few hundred others are busy.
        loop="asyncio",
        # Also how many connections are accepted in one go: a worker that took all would leave none to the others.
        backlog=limits.connections if alone else 1,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(limits.shutdown_seconds) + 2,
    )


class _Server(uvicorn.Server):
    reload_seconds = 30.0  # a model that cannot be read in this time is refused
    server_state: State

    def __init__(
        self,
        config: uvicorn.Config,
        served: Served,
        metrics: Metrics,
        limits: Limits,
        ready: Callable[[], None],
        parent: int | None = None,
    ) -> None:
        super().__init__(config)
        self.server_state = State()
        self._limits, self._ready, self._parent = limits, ready, parent
        self._served, self._metrics = served, metrics
        self._reloading: asyncio.Task[None] | None = None
        self._reload_again = False
        self._slow = Sampled(log, "slow clients: %d dropped")

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but a stop signal gives exit code 0, and SIGHUP reloads the model."""
        if sys.platform == "win32":
            self._ready()
            await super().serve(sockets)
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        # Ctrl-C reaches all processes of a terminal: workers wait for what the first one tells them.
        loop.add_signal_handler(signal.SIGINT, self._stop if self._parent is None else lambda: None)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        heed_signals()
        self._ready()
        await self._serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but as many connections may wait as are allowed, however few are accepted in one go."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(self._limits.connections)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but requests that clients have already sent are answered.

        Clients that do not finish are dropped before their tasks must be cancelled.
        """
        loop = asyncio.get_running_loop()
        loop.call_later(self._limits.shutdown_seconds, abandon, self.server_state.connections)
        self.server_state.stopping = True
        for server, listener in zip(self.servers, sockets or (), strict=False):
            await self._accept_last(server, listener)
        until = loop.time() + _LAST_REQUESTS
        while self.server_state.connections and loop.time() < until and not self.force_exit:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _accept_last(self, server: asyncio.Server, listener: socket.socket) -> None:
        """Accept the connections that the system still holds, which it would reset, and then no more."""
        waiting = []
        with listener.dup() as last, suppress(OSError):  # when there are no more
            server.close()
            while True:
                waiting.append(last.accept()[0])
        for one in waiting:
            await asyncio.get_running_loop().connect_accepted_socket(self._connection, one)

    def _connection(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            now = asyncio.get_running_loop().time()
            cut = cut_slow(self.server_state.connections, now) + self.server_state.cut
            self.server_state.cut = 0
            for _ in range(cut):
                self._slow.note()
            if self._parent is not None and os.getppid() != self._parent:
                log.error("the first process has gone: this worker stops")
                self.should_exit = True
        return await super().on_tick(counter)

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # the second time: at once
        self.should_exit = True

    def _reload(self) -> None:
        if self._reloading is not None and not self._reloading.done():
            self._reload_again = True
            return
        self._reload_again = False
        self._reloading = asyncio.get_running_loop().create_task(self._reload_in_time())

    async def _reload_in_time(self) -> None:
        try:
            read = await asyncio.wait_for(_in_thread(self._served.read), self.reload_seconds)
        except TimeoutError:
            read = f"the folder could not be read in {self.reload_seconds:g} seconds"
        self._metrics.reloaded(self._served.replace(read))
        if self._reload_again:
            asyncio.get_running_loop().call_soon(self._reload)


def _in_thread(read: Callable[[], Answers | str]) -> asyncio.Future[Answers | str]:
    """The result of a function that may never return: unlike asyncio's own threads, this one ends with the process."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Answers | str] = loop.create_future()

    def deliver(answers: Answers | str) -> None:
        if not result.done():
            result.set_result(answers)

    def run() -> None:
        answers = read()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(deliver, answers)

    threading.Thread(target=run, name="reload", daemon=True).start()
    return result
