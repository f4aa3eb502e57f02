"""Takes the pictures of the service's page, of a report and of a worklist that the documents show.

    python studies/pictures.py --out docs/pictures
    python studies/pictures.py --out docs/pictures --report report.html     # made with `dx2px report`
    python studies/pictures.py --out docs/pictures --worklist w.html        # of stays of `dx2px synthesize`

Serves the package's model on the loopback and drives the page in headless Chromium (Debian: apt install chromium
chromium-driver) through its example stays: light with the flow, dark with the heat map, on a phone, and the audit.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dx2px.storage import atomic_path

if TYPE_CHECKING:
    from PIL.Image import Image

WIDE, NARROW, SIDE, LISTED, GAP = 1240, 390, 600, 860, 12  # pixels
SMALLER = 0.6  # scale of the report
GREY = "#d5dae3"
FOUND = "585.6"  # the code that the picture of the map points to
COLOURS = 256
PATIENCE = 30  # seconds
DRAWN = """return [...document.querySelectorAll("[aria-busy=true]")].length === 0
    && document.querySelector(arguments[0]) !== null"""

# Finds a code, notes where its mark is, clears the search and puts the pointer there.
POINT_AT = """const field = document.querySelector("#map-search");
const search = (text) => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); };
search(arguments[0]);
document.querySelector("#map-results > *").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
const ring = document.querySelector("#map-point").getBoundingClientRect();
search("");
const [clientX, clientY] = [ring.x + ring.width / 2, ring.y + ring.height / 2];
document.querySelector("#map-picture").dispatchEvent(
  new PointerEvent("pointermove", { clientX, clientY, bubbles: true }));"""


@contextmanager
def service() -> Iterator[str]:
    """The address of a served model."""
    command = [sys.executable, "-m", "dx2px", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            ports = (re.search(r"on port (\d+)", line) for line in process.stderr)
            port = next((found[1] for found in ports if found), None)
            if port is None:
                raise SystemExit("The service did not start.")
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("There is no browser: install chromium and chromium-driver.")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{flag}")
    page = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        yield page
    finally:
        page.quit()


def click(page: Any, selector: str, words: str = "") -> None:
    """Press the first element that the selector finds and that shows these words."""
    script = "return [...document.querySelectorAll(arguments[0])].find((x) => x.textContent.includes(arguments[1]))"
    page.execute_script("arguments[0].click()", page.execute_script(script, selector, words))


def wait(page: Any, selector: str) -> None:
    """Wait until the answer is drawn."""
    deadline = time.monotonic() + PATIENCE
    while not page.execute_script(DRAWN, selector):
        if time.monotonic() > deadline:
            raise SystemExit(f"The page shows no {selector}.")
        time.sleep(0.1)
    time.sleep(1)  # until what moves has come to rest


def example(page: Any, name: str) -> None:
    click(page, "#examples button", name)
    wait(page, "#procedures > li")


def light(page: Any) -> None:
    example(page, "Kidney failure")
    click(page, "#procedures > li button[aria-expanded]")
    page.execute_script(
        """[...document.querySelectorAll("#procedures > li")].find((x) => x.textContent.includes("39.95"))
           .querySelector("[aria-pressed]").click()"""
    )
    wait(page, "#procedures > li")


def dark(page: Any) -> None:
    click(page, "#theme")
    example(page, "Heart attack")
    click(page, "input[value=heat]")
    wait(page, "#figure *")


def phone(page: Any) -> None:
    example(page, "Hip fracture")


def audit(page: Any) -> None:
    click(page, "#tab-audit")
    click(page, "#audit-example")
    wait(page, "#findings *")


def report(page: Any, path: Path) -> Image:
    """The head of a report, and beside it the map of its codes with the pointer on one code."""
    page.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    show(page, int(SIDE / SMALLER), int(SIDE / SMALLER), SMALLER)
    page.get(path.resolve().as_uri())
    wait(page, "#map-marks *")
    head = window(page)
    page.execute_script("document.querySelector('#map').scrollIntoView({ behavior: 'instant' })")
    page.execute_script(POINT_AT, FOUND)
    time.sleep(1)
    return beside(head, window(page))


def worklist(page: Any, path: Path) -> Image:
    """The head of a worklist, with a group and a stay opened."""
    page.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    show(page, WIDE, LISTED)
    page.get(path.resolve().as_uri())
    wait(page, "#list > li")
    click(page, "#list .group .open")
    click(page, "#list .finding .open")
    return window(page)


PICTURES: dict[str, tuple[int, Callable[[Any], None]]] = {
    "page-light": (WIDE, light),
    "page-phone": (NARROW, phone),
    "page-audit": (WIDE, audit),
    "page-dark": (WIDE, dark),
}


def whole(page: Any, width: int) -> Image:
    """The page from top to bottom."""
    show(page, width, page.execute_script("return document.documentElement.scrollHeight"))
    time.sleep(0.5)
    return window(page)


def window(page: Any) -> Image:
    """What the window shows."""
    from PIL import Image

    shot = page.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"]
    return Image.open(io.BytesIO(base64.b64decode(shot))).convert("RGB")


def beside(left: Image, right: Image) -> Image:
    """Two pictures of one height, a gap between them."""
    from PIL import Image

    both = Image.new("RGB", (left.width + GAP + right.width, left.height), GREY)
    both.paste(left, (0, 0))
    both.paste(right, (left.width + GAP, 0))
    return both


def save(picture: Image, path: Path) -> None:
    """As a PNG of few colours, small enough for a document."""
    from PIL import Image

    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    with atomic_path(path) as draft:
        few.save(draft, format="png", optimize=True)
    print(path)


def show(page: Any, width: int, height: int, scale: float = 1) -> None:
    """Give the page a window of this size; its picture is smaller by `scale`."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--report", type=Path, help="a report; its picture is taken instead of the page's")
    parser.add_argument("--worklist", type=Path, help="a worklist of synthetic stays, likewise")
    given = parser.parse_args()
    for name, path, act in (("report", given.report, report), ("worklist", given.worklist, worklist)):
        if path is not None:
            with browser() as page:
                save(act(page, path), given.out / f"{name}.png")
            return
    with service() as address, browser() as page:
        for name, (width, act) in PICTURES.items():
            show(page, width, SIDE)
            page.get("about:blank")
            page.get(address)
            wait(page, "#examples button")
            act(page)
            save(whole(page, width), given.out / f"{name}.png")


if __name__ == "__main__":
    main()
