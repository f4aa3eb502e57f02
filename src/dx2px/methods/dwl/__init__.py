"""Distilled Wasserstein learning."""

from dx2px.methods.dwl.dwl import Dwl, DwlConfig

__all__ = ["Dwl", "DwlConfig"]
