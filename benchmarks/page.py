"""The page in a real browser: milliseconds from the key that adds a diagnosis until list and figure are drawn.

Run: python benchmarks/page.py [--model MODEL] [--stays 50] [--most 12] [--seed 0]
Needs Chromium and its driver (Debian: apt install chromium chromium-driver) and selenium. One process serves on the
loopback. Stays are drawn from the model's diagnoses and entered code by code, so every number of codes up to --most
is measured; an answer counts as drawn two frames after the page has put it in place. Prints Markdown.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dx2px.answers import Model
from dx2px.answers.shipped import DEFAULT, model_path
from service import Service

ENTER = """
const [code, done] = [arguments[0], arguments[1]];
const [field, card] = [document.querySelector("#diagnosis-input"), document.querySelector("#recommended")];
field.focus();
field.value = code;
let asked = false;
const start = performance.now();
new MutationObserver((_, observer) => {
  const busy = card.getAttribute("aria-busy") === "true";
  asked ||= busy;
  if (!asked || busy) return;
  observer.disconnect();
  const rows = document.querySelectorAll("#procedures > li").length;
  requestAnimationFrame(() => requestAnimationFrame(() => done([performance.now() - start, rows])));
}).observe(card, { attributes: true });
field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
"""
BANDS = ((1, 3), (4, 6), (7, 12), (13, 40))  # codes of a stay


def browser() -> Any:
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("There is no browser: install chromium and chromium-driver.")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "headless=new",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "window-size=1280,1000",
    ):
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))


def measured(page: Any, address: str, stays: list[list[str]]) -> dict[int, list[float]]:
    """Milliseconds, by the number of codes that the stay has then."""
    found: dict[int, list[float]] = {}
    for stay in stays:
        page.get("about:blank")
        page.get(address)
        for number, code in enumerate(stay, start=1):
            took, rows = page.execute_async_script(ENTER, code)
            if not rows:
                raise SystemExit(f"No procedures were shown for a stay of {number} codes.")
            found.setdefault(number, []).append(took)
    return found


def table(found: dict[int, list[float]]) -> str:
    lines = ["| codes of the stay | answers | p50, ms | p99, ms |", "|---|---|---|---|"]
    for least, most in BANDS:
        some = [ms for number, times in found.items() if least <= number <= most for ms in times]
        if some:
            p50, p99 = np.quantile(some, (0.5, 0.99))
            lines.append(f"| {least} to {most} | {len(some):,} | {p50:.0f} | {p99:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, default=model_path(DEFAULT))
    parser.add_argument("--stays", type=int, default=50)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    if not given.model.is_dir():
        parser.error(f"there is no model folder {given.model}")
    codes = [code.split(":")[1] for code in Model.load(given.model).files.diagnoses]
    if given.most > len(codes):
        parser.error(f"the model knows {len(codes)} diagnoses, fewer than {given.most}")
    stays = [list(rng.choice(codes, given.most, replace=False)) for _ in range(given.stays)]
    with tempfile.TemporaryDirectory() as folder:
        page = browser()
        try:
            page.set_script_timeout(10)
            service = Service(given.model, Path(folder))
            try:
                print(table(measured(page, f"http://127.0.0.1:{service.port}/", stays)))
            finally:
                service.stop()
        finally:
            page.quit()


if __name__ == "__main__":
    main()
