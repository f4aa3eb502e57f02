"""What the parts of this package raise among themselves; users meet it as a `ModelError`."""


class FlawError(Exception):
    """Something that makes a model unusable, said as a clause without its final stop."""


def raise_all(flaws: list[str]) -> None:
    """Report all flaws together, if there are any."""
    if flaws:
        raise FlawError("; ".join(flaws))
