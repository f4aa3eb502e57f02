"""Gromov–Wasserstein learning."""

from dx2px.methods.gwl.gwl import Gwl, GwlConfig

__all__ = ["Gwl", "GwlConfig"]
