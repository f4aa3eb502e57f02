"""What the modules of this package raise among themselves; users see it as a `ModelError`."""


class FlawError(Exception):
    """Something that makes a model unusable, as a clause without a full stop."""


def raise_all(flaws: list[str]) -> None:
    """Report all flaws together, if there are any."""
    if flaws:
        raise FlawError("; ".join(flaws))
