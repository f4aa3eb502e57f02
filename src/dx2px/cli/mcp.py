"""The command that answers assistants: mcp."""

from __future__ import annotations

import os

from dx2px.cli.models import ModelOption


def mcp(model: ModelOption = None) -> None:
    """Answer an AI assistant by the Model Context Protocol (MCP).

    The tools find, recommend, complete, explain and audit read standard input and write standard output; the assistant
    starts this command itself. They only read. The answers reproduce coding habits; they are not medical advice.

    \b
    Example of an assistant's settings:
      {"mcpServers": {"dx2px": {"command": "dx2px", "args": ["mcp"]}}}
    """
    # Set before numpy is loaded: the matrix products are small, and threads would only slow them down.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from dx2px.answers.shipped import model_path
    from dx2px.service.model_context import serve

    serve(model_path(model))
