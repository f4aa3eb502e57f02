"""A map of a model's codes: 2-D places of their vectors, as an interactive page that needs nothing from elsewhere."""

from dx2px.report.embedding.layout import LayoutConfig, kept_neighbours, lay_out
from dx2px.report.embedding.page import map_page, save_map
from dx2px.report.embedding.points import CodeMap, code_map

__all__ = ["CodeMap", "LayoutConfig", "code_map", "kept_neighbours", "lay_out", "map_page", "save_map"]
