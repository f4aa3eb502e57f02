"""A model by its folder or by its name in the package: `dx2px.load`."""

from __future__ import annotations

import os

from dx2px.answers.model import Model


def load(model: str | os.PathLike[str] | None = None) -> Model:
    """Read a model that answers questions.

    Args:
        model: A folder, or the name of a model in the package, such as `nhds2010`. The package's default model if
            None.

    Raises:
        ModelError: There is no such folder or name, or the folder is damaged; the message says which.
    """
    return Model.load(model)
