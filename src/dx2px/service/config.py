"""The settings of a service: which names it answers to, what callers must show, and its limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path

from dx2px.errors import InputError

PAGE = Path(__file__).parent / "page"
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_EVERY = ("0.0.0.0", "::", "")  # stand for every address, and are the name of none
_SHORTEST_TOKEN = 16
_NAME = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_HOST = re.compile(_NAME)
_ORIGIN = re.compile(rf"https?://{_NAME}(?::\d{{1,5}})?", re.IGNORECASE)
_ADDRESS = re.compile(rf"{_ORIGIN.pattern}(?:/[^\s?#]*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """A request beyond one of these is refused, with a problem that says which limit it was."""

    body: int = 64 * 1024  # bytes of a request
    large_body: int = 1024 * 1024  # bytes of a request to audit and CDS Hooks
    header: int = 32 * 1024  # bytes of a request's head
    buffered: int = 64 * 1024 * 1024  # bytes of all bodies being read
    concurrency: int = 64  # requests that wait for their answer, or are being answered
    connections: int = 1024
    receive_seconds: float = 8.0  # for a whole request to arrive; also for a client to read its answer
    shutdown_seconds: float = 5.0  # for requests in progress when the service is stopped


@dataclass(frozen=True)
class ServiceConfig:
    """Settings of a service, made by `dx2px serve`; the defaults suit one's own machine."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    trusted_hosts: tuple[str, ...] = ()  # in addition to the names of the loopback
    allowed_origins: tuple[str, ...] = ()  # of pages on other sites that may call; without any, CORS is off
    base_url: str | None = None  # where callers reach the service; used in links and in the JWT's audience
    callers_file: Path | None = None  # issuers and keys of CDS Hooks clients
    page: Path = PAGE
    workers: int = 1  # processes that answer; the limits are those of each
    shared: Path | None = None  # a folder for what several workers must all know
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        self._check_names()
        if is_loopback(self.host):
            return
        if self.token is None:
            raise InputError(
                f"{self.host} can be reached from other machines, so callers must show a token: use --token-file."
            )
        if self.host in _EVERY and not self.trusted_hosts:
            raise InputError(
                f"{self.host or 'An empty host'} means every address: use --trusted-host to say by which names "
                "callers reach the service."
            )

    def _check_names(self) -> None:
        """Names that no request could ever match are mistakes; better reported at the start than searched for later."""
        for name in self.trusted_hosts:
            if not _HOST.fullmatch(name):
                raise InputError(
                    f"A trusted host is a name alone, like dx2px.hospital.example, not {name!r}."
                )
        for origin in self.allowed_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InputError(
                    "An origin is scheme, name and port like https://ehr.example:8443, "
                    f"without path or wildcard, not {origin!r}."
                )
        if self.base_url is not None and not _ADDRESS.fullmatch(self.base_url):
            raise InputError(
                f"The base URL is an address like https://dx2px.hospital.example, not {self.base_url!r}."
            )

    def at_port(self, port: int) -> ServiceConfig:
        """The same settings with the port that the system chose, if 0 was asked for."""
        return replace(self, port=port)

    @property
    def hosts(self) -> frozenset[str]:
        """The names that a request's Host may have, without the port, in lower case."""
        own = () if self.host in _EVERY else (f"[{self.host}]" if ":" in self.host else self.host,)
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, *own, *self.trusted_hosts))

    @property
    def origins(self) -> tuple[str, ...]:
        """The allowed origins as browsers send them: in lower case, without the scheme's default port."""
        lower = (origin.lower() for origin in self.allowed_origins)
        return tuple(
            origin.removesuffix(":443" if origin.startswith("https:") else ":80") for origin in lower
        )

    @property
    def root(self) -> str:
        """The address of the service as callers know it, without a slash at the end."""
        if self.base_url is not None:
            return self.base_url.rstrip("/")
        own = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{own}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> str:
    """The token in a file: its one line."""
    try:
        lines = path.read_text(encoding="ascii").split()
    except UnicodeDecodeError:
        lines = []
    if len(lines) != 1 or len(lines[0]) < _SHORTEST_TOKEN:
        raise InputError(
            f"{path} must hold one token of at least {_SHORTEST_TOKEN} ASCII characters without blanks; "
            "`openssl rand -hex 32` makes one."
        )
    return lines[0]
