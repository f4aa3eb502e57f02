"""A model on disk: a folder of plain data, complete or refused. Reading it runs no code and needs no torch."""

from dx2px.scoring.folder.files import ModelFiles, check_destination, halved, read_folder, write_folder

__all__ = ["ModelFiles", "check_destination", "halved", "read_folder", "write_folder"]
