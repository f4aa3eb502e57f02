"""What a code is: the four systems, one canonical form, titles, headings, search, repair and maps between versions."""

from dx2px.codes.ancestors import ancestors, category, chapter
from dx2px.codes.catalogue import dictionary, is_listed
from dx2px.codes.equivalence import Equivalence, equivalence, gives_way_to, nearest
from dx2px.codes.families import (
    counts_as,
    family,
    holds,
    hull,
    is_family,
    joined,
    members,
    narrowed,
    open_axes,
    read_family,
)
from dx2px.codes.family_titles import family_title
from dx2px.codes.persons import persons_of
from dx2px.codes.repair import Repair, explain, looks_dotted, looks_numeric, repair
from dx2px.codes.search import Hit, find
from dx2px.codes.shown import Notation, shown_code
from dx2px.codes.systems import Kind, System
from dx2px.codes.text import clean, dotted, has_shape, normalize, resolve, split, text_only
from dx2px.codes.titles import Title, title
from dx2px.codes.usage import Usage

__all__ = [
    "Equivalence",
    "Hit",
    "Kind",
    "Notation",
    "Repair",
    "System",
    "Title",
    "Usage",
    "ancestors",
    "category",
    "chapter",
    "clean",
    "counts_as",
    "dictionary",
    "dotted",
    "equivalence",
    "explain",
    "family",
    "family_title",
    "find",
    "gives_way_to",
    "has_shape",
    "holds",
    "hull",
    "is_family",
    "is_listed",
    "joined",
    "looks_dotted",
    "looks_numeric",
    "members",
    "narrowed",
    "nearest",
    "normalize",
    "open_axes",
    "persons_of",
    "read_family",
    "repair",
    "resolve",
    "shown_code",
    "split",
    "text_only",
    "title",
]
