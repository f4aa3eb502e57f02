"""What a code is: the four systems, one canonical text, titles, headings, search and repair."""

from dx2px.codes.ancestors import ancestors, category, chapter
from dx2px.codes.equivalence import Equivalence, equivalence
from dx2px.codes.repair import Repair, explain, looks_dotted, looks_numeric, repair
from dx2px.codes.search import Hit, find
from dx2px.codes.systems import Kind, System
from dx2px.codes.text import clean, dotted, has_shape, normalize, resolve, split
from dx2px.codes.titles import Title, dictionary, is_listed, title

__all__ = [
    "Equivalence",
    "Hit",
    "Kind",
    "Repair",
    "System",
    "Title",
    "ancestors",
    "category",
    "chapter",
    "clean",
    "dictionary",
    "dotted",
    "equivalence",
    "explain",
    "find",
    "has_shape",
    "is_listed",
    "looks_dotted",
    "looks_numeric",
    "normalize",
    "repair",
    "resolve",
    "split",
    "title",
]
