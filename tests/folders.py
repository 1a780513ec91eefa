"""Temporary folders for data that tests make when they are imported; they go when Python ends."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def _kept(name):
    return TemporaryDirectory(prefix=f"{name}-")


def kept_folder(name):
    """The folder of that name, the same one for all who ask for it."""
    return Path(_kept(name).name)
