"""The oldest versions that pyproject.toml accepts, as constraints for pip; `make test-minimum` installs them.

The core and the extras `train` and `serve` are held to their lower bounds. The tools that run the tests keep the
versions of constraints.txt; `--tools` prints their names alone.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("train", "serve")
TOOLS = ("httpx2", "hypothesis", "jsonschema_rs", "POT", "pytest", "pytest-xdist", "schemathesis")
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?(?P<bounds>[^;]*)(?P<marker>;.*)?")
LOWEST = re.compile(r"[>=]=\s*([\w.]+)")


def oldest(requirement: str) -> str:
    """A pin of the lower bound, without extras: `pyjwt[crypto]>=2.15,<3` gives `pyjwt==2.15`."""
    parts = REQUIREMENT.fullmatch(requirement)
    bound = LOWEST.search(parts["bounds"]) if parts else None
    if parts is None or bound is None:
        sys.exit(f"pyproject.toml: {requirement!r} has no lower bound.")
    return f"{parts['name']}=={bound[1]}{parts['marker'] or ''}"


def constraints() -> list[str]:
    """One pin per declared dependency and per tool."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = [*project["dependencies"]]
    for extra in EXTRAS:
        declared += project["optional-dependencies"][extra]
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    return [*map(oldest, declared), *(pin for pin in pins if pin.partition("==")[0] in TOOLS)]


if __name__ == "__main__":
    lines = TOOLS if sys.argv[1:] == ["--tools"] else constraints()
    sys.stdout.write("\n".join(lines) + "\n")
