"""How the kinds of an audit's findings are told to people, in the worklist and in the terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KindWords:
    """The words for one kind of finding.

    Attributes:
        name: What it is called.
        means: What it means, to follow the name after a colon.
        short: The same for a narrow column.
        state: Whether the procedure is coded or absent, as in `99.55 absent: 135 stays`.
        mark: What stands beside the procedure in the list of the stay's codes.
        paired: What stands beside the other procedure of the finding, if it has one.
        pro: What speaks for a mistake.
        contra: What speaks against it.

    In both, `{have}` and `{lack}` are the shares of such stays with and without the procedure, `{support}` the codes
    and facts that support it, `{other}` the other procedure.
    """

    name: str
    means: str
    short: str
    state: str
    mark: str
    paired: str
    pro: str
    contra: str


WORDS = {
    "unsupported": KindWords(
        "unsupported",
        "coded, though nothing else of the stay supports it",
        "coded, nothing else supports it",
        "coded",
        "questioned",
        "",
        "{have} of such stays have it.",
        "The support that it does have comes from {support}.",
    ),
    "omitted": KindWords(
        "omitted",
        "expected from everything else that is coded, but absent",
        "expected, but absent",
        "absent",
        "absent",
        "",
        "{have} of such stays have it. The support comes from {support}.",
        "{lack} of such stays do without it.",
    ),
    "swap": KindWords(
        "swap",
        "absent, though usual; an alternative that excludes it is coded",
        "absent, an alternative is coded",
        "absent",
        "absent, usual",
        "coded instead",
        "{have} of such stays have it. The support comes from {support}.",
        "{other} is coded, which usually takes its place.",
    ),
    "companion": KindWords(
        "companion",
        "absent, though usually coded together with a coded procedure",
        "absent, goes with a coded one",
        "absent",
        "absent",
        "goes with it",
        "It usually goes with {other}, which is coded. {have} of such stays have it.",
        "{lack} of such stays do without it.",
    ),
    "diagnosis": KindWords(
        "diagnosis missing?",
        "a coded procedure that no diagnosis of the stay explains",
        "coded, no diagnosis explains it",
        "coded",
        "not explained",
        "",
        "No diagnosis of the stay explains it.",
        "{have} of such stays have it all the same. The support comes from {support}.",
    ),
}
