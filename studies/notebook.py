"""Runs the cells of a notebook and keeps what they show, so that it can be read without running it.

    python studies/notebook.py docs/notebook.ipynb

Needs no Jupyter: a cell is Python, and what its last line gives is shown as text and, where it can, as HTML.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dx2px.storage import write_text

Cell = dict[str, Any]


def execute(cells: list[Cell]) -> dict[str, Any]:
    """Run the code cells in their order, in one namespace, which is returned; each gets its outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate((one for one in cells if one["cell_type"] == "code"), start=1):
        cell["execution_count"], cell["outputs"] = number, _outputs("".join(cell["source"]), names, number)
    return names


def _outputs(source: str, names: dict[str, Any], number: int) -> list[Any]:
    """What a cell prints, then what its last line gives if that is an expression."""
    tree, printed, given = ast.parse(source), io.StringIO(), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            given = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    text = printed.getvalue()
    found: list[Any] = [{"output_type": "stream", "name": "stdout", "text": _lines(text)}] if text else []
    if given is not None:
        shown = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
        found.append(shown | {"data": _shown(given)})
    return found


def _shown(given: Any) -> dict[str, list[str]]:
    html = given._repr_html_() if hasattr(given, "_repr_html_") else None
    return {"text/plain": _lines(repr(given))} | ({"text/html": _lines(html)} if html else {})


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Run a notebook in an empty folder and write it again."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebook", type=Path)
    path = parser.parse_args().notebook.resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with TemporaryDirectory() as folder, chdir(folder):
        execute(notebook["cells"])
    write_text(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
