"""A model on disk: a folder of plain data, whole or refused; reading it runs no code and needs no torch."""

from dx2px.model.folder.files import ModelFiles, check_destination, halved, read_folder, write_folder
from dx2px.model.folder.layouts import LAYOUTS

__all__ = ["LAYOUTS", "ModelFiles", "check_destination", "halved", "read_folder", "write_folder"]
