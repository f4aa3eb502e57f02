"""The options that every method of the training loop takes, as the command line and the estimator name them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dx2px.errors import InputError
from dx2px.training.adam import AdamConfig

LOOP = frozenset({"epochs", "batch_size", "lr", "patience", "keep"})
RUN = frozenset({"device", "resume", "half", "save_every"})  # arguments of `LearnedModel`
OF_TRAIN = LOOP | RUN | {"dim", "stream"}  # those that `dx2px train` offers
FROM_PYTHON = frozenset({"hooks", "checkpoint", "processes"})  # arguments of `LearnedModel` as well

Options = dict[str, Any]


def loop_options(
    method: str, options: Mapping[str, Any], model: Collection[str]
) -> tuple[Options, Options, Options]:
    """Options sorted: settings of the loop, of the model (those named in `model`), arguments of `LearnedModel`.

    An option that is None has the method's default.
    """
    given = {name: value for name, value in options.items() if value is not None}
    loop = {name: given.pop(name) for name in LOOP & given.keys()}
    if "lr" in loop:
        loop["adam"] = AdamConfig(lr=loop.pop("lr"))
    own = {name: given.pop(name) for name in given.keys() & set(model)}
    run = {name: given.pop(name) for name in given.keys() & (RUN | FROM_PYTHON)}
    if given:
        raise InputError(f"The method {method} has no setting {', '.join(sorted(given))}.")
    return loop, own, run
