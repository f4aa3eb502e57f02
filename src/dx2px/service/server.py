"""The process: listens, drops slow clients, reloads on SIGHUP, shuts down cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import signal
import socket
import sys

import uvicorn

from dx2px.service.app import create_app
from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.connections import Connection, abandon, cut_slow
from dx2px.service.logs import Sampled
from dx2px.service.metrics import Metrics
from dx2px.service.served import Served

log = logging.getLogger("dx2px.service")

_TICKS = 5  # tenths of a second between two checks of the connections


def serve(served: Served, config: ServiceConfig) -> None:
    """Answer requests until stopped."""
    with _listen(config) as listener:
        port = listener.getsockname()[1]
        metrics = Metrics()
        app = create_app(served, config.at_port(port), metrics)
        # What is loaded by now stays: the garbage collector need not look at it again.
        gc.collect()
        gc.freeze()
        log.info("serving %r on port %d", served.answers.model, port)
        _Server(_uvicorn_config(app, config.limits), served, metrics, config.limits).run(sockets=[listener])
    log.info("stopped")


def _listen(config: ServiceConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    return socket.create_server((config.host, config.port), family=family, backlog=config.limits.connections)


def _uvicorn_config(app: object, limits: Limits) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=type("LimitedConnection", (Connection,), {"limits": limits}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(limits.shutdown_seconds) + 2,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, served: Served, metrics: Metrics, limits: Limits) -> None:
        super().__init__(config)
        self._patience = limits.shutdown_seconds
        self._served, self._metrics = served, metrics
        self._reloading: asyncio.Task[None] | None = None
        self._slow = Sampled(log, "slow clients: %d dropped")

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but a stop signal gives exit code 0, and SIGHUP reloads the model."""
        if sys.platform == "win32":
            await super().serve(sockets)
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        loop.add_signal_handler(signal.SIGINT, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        await self._serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but clients that do not finish are dropped before their tasks must be cancelled."""
        loop = asyncio.get_running_loop()
        loop.call_later(self._patience, abandon, self.server_state.connections)
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            now = asyncio.get_running_loop().time()
            for _ in range(cut_slow(self.server_state.connections, now)):
                self._slow.note()
        return await super().on_tick(counter)

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # the second time: at once
        self.should_exit = True

    def _reload(self) -> None:
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.get_running_loop().create_task(self._reload_in_thread())

    async def _reload_in_thread(self) -> None:
        self._metrics.reloaded(await asyncio.to_thread(self._served.reload))
