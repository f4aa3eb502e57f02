"""A real browser, one for the session, and the real service on the loopback, around a model with planted answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from browser import chromium
from dx2px.answers import Model
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.folder import ModelFiles, write_folder

DIAGNOSES = ("0389", "25000", "4019", "41401", "42731", "4280", "51881", "5856", "82021", "99592")
PROCEDURES = ("3722", "3893", "3995", "7935", "8856", "9604", "9671", "9904")
# Which procedures a diagnosis leads to; every procedure has a direction of its own.
LEADS = {
    "0389": ("3893",),
    "41401": ("3722", "8856"),
    "4280": ("9904",),
    "51881": ("9604", "9671"),
    "5856": ("3995",),
    "82021": ("7935",),
    "99592": ("3893", "9671"),
}
TOKEN = "a-token-for-the-tests"
CARD = """# Planted

Learned from **nothing** by `plant`,
on [one](https://two.example) bed:

    dx2px plant <b>

- roses
  and thorns
- tulips

| top | F1 % |
|---|---|
| 1 | 44.2 |
"""
PAYLOAD = "<img src=x onerror=window.hurt=1><script>window.hurt=1</script>"
HARMLESS = ("status of 401", "status of 409", "status of 422", "status of 503", "ERR_INTERNET_DISCONNECTED")
PATIENCE = 10  # seconds until a wait fails


def calibration() -> Calibration:
    """Scores taken for log odds, as they are; sets by two thresholds."""
    line = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
    coverages, thresholds = np.array([0.5, 0.95]), np.array([0.9, 0.3])
    return Calibration(False, line, np.array([1.0, 0, 0, 0]), line, coverages, thresholds)


def planted() -> ModelFiles:
    """Diagnoses point towards their procedures, the others towards none."""
    rng = np.random.default_rng(0)
    size = len(PROCEDURES)
    V = 2 * np.eye(size, dtype=np.float32)
    U = np.full((len(DIAGNOSES), size), -2, np.float32)
    for row, code in enumerate(DIAGNOSES):
        for lead in LEADS.get(code, ()):
            U[row, PROCEDURES.index(lead)] = 12
    shapes = {"A": (2, size, size), "a": (2, size), "B": (2, 2), "b": (2,)}
    drawn = {name: 0.3 * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return ModelFiles(
        method="e+sa+ma",
        settings={"model": {"dim": size, "heads": 2}},
        diagnoses=tuple(f"icd9cm:{code}" for code in DIAGNOSES),
        procedures=tuple(f"icd9pcs:{code}" for code in PROCEDURES),
        arrays={"U": U, "V": V, **drawn},
        history=pa.table({"epoch": [1]}),
        calibration=calibration(),
        card=CARD,
        measured={"stays": 20, "top": {"1": {"recall": 39.41, "precision": 57.5, "f1": 44.18}}},
    )


@dataclass
class Weather:
    """ASGI: stands before the service and can delay it, or answer in its place."""

    app: Callable[..., Awaitable[None]]
    busy: int = 0  # answers 503 so many times
    refusals: dict[str, int] = field(default_factory=dict)  # a path is answered with this status
    delays: list[float] = field(default_factory=list)  # seconds before the next answers to /api/explain
    bodies: list[tuple[str, bytes]] = field(default_factory=list)  # what was asked: path, body

    def clear(self) -> None:
        self.busy, self.refusals, self.delays, self.bodies = 0, {}, [], []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        message = await receive()
        self.bodies.append((scope["path"], message.get("body", b"")))
        if self.busy and scope["path"] != "/api/model":
            self.busy -= 1
            await _answer(send, 503, {"title": "Busy", "detail": "The service is too busy."})
        elif scope["path"] in self.refusals:
            await _answer(send, self.refusals[scope["path"]], {"title": "No", "detail": "Not like this."})
        else:
            if scope["path"] == "/api/explain" and self.delays:
                await _sleep(self.delays.pop(0))
            await self.app(scope, _replay(message, receive), send)


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


def _replay(message: Any, receive: Any) -> Any:
    waiting = [message]

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again


async def _answer(send: Any, status: int, problem: dict[str, Any]) -> None:
    body = json.dumps({**problem, "status": status}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"retry-after", b"0.3")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an app that runs in a thread on a free port of the loopback."""
    uvicorn = pytest.importorskip("uvicorn", reason="the page's tests need the extra [serve]")
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "model"
    write_folder(folder, planted())
    return folder


@pytest.fixture(scope="session")
def model(model_folder: Path) -> Model:
    return Model.load(model_folder)


@pytest.fixture(scope="session")
def site(model_folder: Path) -> Iterator[tuple[str, Weather]]:
    """The service without a token."""
    pytest.importorskip("fastapi", reason="the page's tests need the extra [serve]")
    from dx2px.service.app import create_app
    from dx2px.service.served import Served

    weather = Weather(create_app(Served.load(model_folder)))
    with serving(weather) as address:
        yield address, weather


@pytest.fixture
def guarded(model_folder: Path) -> Iterator[str]:
    """The service with a token."""
    from dx2px.service.app import create_app
    from dx2px.service.config import ServiceConfig
    from dx2px.service.served import Served

    with serving(create_app(Served.load(model_folder), ServiceConfig(token=TOKEN))) as address:
        yield address


@pytest.fixture(scope="session")
def shipped() -> Iterator[str]:
    """The service as users start it: the package's model, and beside it the one for ICD-10."""
    from dx2px.answers.shipped import model_path, siblings
    from dx2px.service.answers import Answers
    from dx2px.service.app import create_app
    from dx2px.service.served import Served

    path = model_path()
    others = [Answers(Model.load(other)) for other in siblings(path)]
    with serving(create_app(Served(Answers(Model.load(path), others)))) as address:
        yield address


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[ModelFiles], tuple[str, Model]]]:
    """Serves other models: the address, and the model itself to compare with."""
    from dx2px.service.answers import Answers
    from dx2px.service.app import create_app
    from dx2px.service.served import Served

    with ExitStack() as services:

        def start(files: ModelFiles) -> tuple[str, Model]:
            model = Model(files)
            return services.enter_context(serving(create_app(Served(Answers(model))))), model

        yield start


@pytest.fixture
def hostile(model: Model) -> Iterator[str]:
    """The service around a model whose titles are markup."""
    from dx2px.service.answers import Answers
    from dx2px.service.app import create_app
    from dx2px.service.served import Served

    class Hostile(Answers):
        def codes(self, *asked: Any) -> dict[str, Any]:
            return _poisoned(super().codes(*asked))

        def explain(self, *asked: Any, **facts: Any) -> dict[str, Any]:
            return _poisoned(super().explain(*asked, **facts))

        def audit(self, *asked: Any, **facts: Any) -> dict[str, Any]:
            return _poisoned(super().audit(*asked, **facts))

        def describe(self) -> dict[str, Any]:
            return {**super().describe(), "card": PAYLOAD, "method": PAYLOAD, "scope": PAYLOAD}

    with serving(create_app(Served(Hostile(model)))) as address:
        yield address


def _poisoned(told: Any) -> Any:
    """The answer with markup for every title."""
    if isinstance(told, list):
        return [_poisoned(one) for one in told]
    if isinstance(told, dict):
        return {name: PAYLOAD if name == "title" else _poisoned(value) for name, value in told.items()}
    return told


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    with chromium(1280, 1000) as found:
        yield found


class Page:
    """The page in the browser: what a person does and sees."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, fragment: str = "", address: str | None = None) -> Page:
        self.address = address or self.address
        self.driver.get("about:blank")  # a change of the fragment alone would not load the page anew
        self.driver.get(f"{self.address}/{'#' + fragment if fragment else ''}")
        self.until("return document.querySelector('#theme svg') !== null")
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def module(self, name: str, script: str, *arguments: Any) -> Any:
        """Run a script with a module of the page as `m` and the arguments as `given`."""
        wrapped = (
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(1, -1);"
            f"import(arguments[0]).then(async (m) => done(await (async () => {{ {script} }})()),"
            " (error) => done('failed: ' + error));"
        )
        return self.driver.execute_async_script(wrapped, f"{self.address}/page/{name}.js", *arguments)

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until a script gives something true, and return it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := self.run(script, *arguments):
                return found
            time.sleep(0.02)
        raise AssertionError(f"in vain waited for: {script} {arguments}")

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def find(self, selector: str) -> Any:
        return self.until("return document.querySelector(arguments[0])", selector)

    def click(self, selector: str) -> None:
        """A real click; found again where an answer has just replaced the element."""
        from selenium.common.exceptions import StaleElementReferenceException

        while True:
            try:
                self.find(selector).click()
                return
            except StaleElementReferenceException:
                continue

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return list(self.run(script, selector))

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def shown(self, selector: str) -> bool:
        return bool(self.run("return document.querySelector(arguments[0]).checkVisibility()", selector))

    def keys(self, *typed: str) -> None:
        """Press keys wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*typed).perform()

    def chord(self, held: str, key: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).key_down(held).send_keys(key).key_up(held).perform()

    def paste(self, selector: str, text: str) -> None:
        self.run(
            "const data = new DataTransfer(); data.setData('text/plain', arguments[1]);"
            "const event = new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true});"
            "document.querySelector(arguments[0]).dispatchEvent(event)",
            selector,
            text,
        )

    def saved(self, button: str) -> str:
        """The text of the file that a button makes; the download itself is the browser's affair."""
        self.run(
            "const make = URL.createObjectURL; window.file = null;"
            "HTMLAnchorElement.prototype.click = function () { window.name_ = this.download; };"
            "URL.createObjectURL = (blob) => { blob.text().then((text) => (window.file = text)); return make(blob); };"
        )
        self.click(button)
        return str(self.until("return window.file"))

    def ribbons(self) -> dict[tuple[str, str], float]:
        """The mass of every ribbon drawn, by its two codes."""
        drawn = self.run(
            "return [...document.querySelectorAll('.ribbon')].map((one) =>"
            " [one.dataset.diagnosis, one.dataset.procedure, Number(one.dataset.mass)])"
        )
        return {(diagnosis, procedure): mass for diagnosis, procedure, mass in drawn}

    def procedures(self, *first: str) -> list[str]:
        """Dotted codes of the ranking, once it is there and, if given, begins with these."""
        self.until(
            "const seen = [...document.querySelectorAll('#procedures .disclosure .code')]"
            ".map((one) => one.textContent);"
            "return seen.length > 0 && arguments[0].every((code, i) => seen[i] === code)"
            " && !document.querySelector('#recommended[aria-busy]')",
            list(first),
        )
        return self.texts("#procedures .disclosure .code")

    def width(self, pixels: int, height: int = 800) -> None:
        size = {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def wish(self, theme: str) -> None:
        wishes = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wishes)

    def offline(self, away: bool) -> None:
        conditions = {"offline": away, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


@pytest.fixture
def page(driver: Any, site: tuple[str, Weather]) -> Iterator[Page]:
    """A fresh page; afterwards nothing may stand in the console and no other place may have been asked."""
    page = Page(driver, site[0])
    site[1].clear()
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    page.wish("light")
    for kind in ("browser", "performance"):
        driver.get_log(kind)  # what earlier tests left there
    yield page
    page.offline(False)
    page.run("localStorage.clear(); sessionStorage.clear()")
    strangers = [
        url
        for url in _requests(driver)
        if not url.startswith((page.address, site[0], "data:", "blob:", "about:"))
    ]
    assert strangers == []
    complaints = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert [one for one in complaints if not any(known in one for known in HARMLESS)] == []


@pytest.fixture(scope="module")
def library(driver: Any, site: tuple[str, Weather]) -> Page:
    """A page opened once, for tests that only call its functions."""
    return Page(driver, site[0]).open()


def _requests(driver: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"
    ]


@pytest.fixture
def weather(site: tuple[str, Weather]) -> Weather:
    return site[1]
