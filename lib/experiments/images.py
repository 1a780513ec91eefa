"""Folders of images that the reader has: cats and dogs, CelebA.

The folder is an argument or what an environment variable names, ``LEARNING_DYNAMICS_CATS_DOGS`` or
``LEARNING_DYNAMICS_CELEBA``.  What is missing or broken is named, with what is expected where.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from lib.checks import choice, whole

_PARTITIONS = {"train": "0", "valid": "1", "test": "2"}


def _folder(given: str | Path | None, variable: str, expected: str) -> Path:
    """The folder given by argument or environment variable, which must exist."""
    chosen = given if given is not None else os.environ.get(variable)
    if not chosen:
        raise FileNotFoundError(f"no folder given: pass folder or set {variable} to one with {expected}")
    if not Path(chosen).is_dir():
        raise FileNotFoundError(f"folder is {str(chosen)!r}, which is none; allowed: one with {expected}")
    return Path(chosen)


@dataclass(frozen=True)
class ImageFiles:
    """Image files on the reader's disk: n ``paths``, and ``labels`` +1 and -1 of shape (n, len(names)).

    ``names`` says what a label of +1 means.

    Example:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("cat.0.jpg", "dog.0.jpg"):
    ...         Image.new("RGB", (50, 40), "navy").save(Path(folder, name))
    ...     files = cats_and_dogs(folder)
    ...     pixels = files.pixels([0, 1], side=32)
    >>> pixels.shape, files.labels.ravel()
    ((2, 32, 32, 3), array([-1.,  1.]))
    """

    paths: tuple[Path, ...]
    labels: np.ndarray
    names: tuple[str, ...]

    def pixels(self, chosen: Sequence[int] | np.ndarray, *, side: int = 64) -> np.ndarray:
        """Return the chosen images as bytes, shape (k, side, side, 3), each scaled to a square.

        Raises ``ValueError`` for an index out of range, and for a file that is no image, which it names.
        """
        side = whole("side", side, 1)
        squares = np.empty((len(chosen), side, side, 3), dtype=np.uint8)
        for k, index in enumerate(chosen):
            if whole("chosen", index) >= len(self.paths):
                raise ValueError(f"chosen holds {index}, allowed: up to {len(self.paths) - 1}")
            path = self.paths[index]
            try:
                with Image.open(path) as image:
                    squares[k] = np.asarray(image.convert("RGB").resize((side, side)))
            except (UnidentifiedImageError, OSError, SyntaxError) as error:
                raise ValueError(f"chosen holds {index}, and {str(path)!r} is no image: {error}") from None
        return squares


def cats_and_dogs(folder: str | Path | None = None) -> ImageFiles:
    """Return the files of Kaggle's cats and dogs, labels +1 for dogs and -1 for cats [combes2018, App. E.2].

    ``folder``, or else the environment variable ``LEARNING_DYNAMICS_CATS_DOGS``, names a folder that holds
    ``cat.0.jpg``, ``dog.0.jpg`` and so on, or subfolders ``Cat`` and ``Dog`` with ``0.jpg`` and so on.
    Raises ``FileNotFoundError`` that says so if either animal is missing.

    Example:

    >>> cats_and_dogs(".")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no cat in '.'; expected are cat.0.jpg and so on, or a folder Cat with 0.jpg and so on
    """
    where = _folder(folder, "LEARNING_DYNAMICS_CATS_DOGS", "images of cats and dogs")
    files: list[list[Path]] = []
    for animal in ("cat", "dog"):
        found = [*where.glob(f"{animal}.*.jpg"), *where.glob(f"{animal.capitalize()}/*.jpg")]
        if not found:
            raise FileNotFoundError(
                f"no {animal} in {str(where)!r}; expected are {animal}.0.jpg and so on,"
                f" or a folder {animal.capitalize()} with 0.jpg and so on"
            )
        files.append(sorted(found, key=lambda path: (len(path.name), path.name)))
    labels = np.repeat([-1.0, 1.0], [len(found) for found in files])
    return ImageFiles((*files[0], *files[1]), labels[:, None], ("dog",))


def celeba(
    folder: str | Path | None = None,
    *,
    split: str = "train",
    attributes: Sequence[str] = ("Blond_Hair", "Male"),
) -> ImageFiles:
    """Return the files of a split of CelebA, labelled +1 and -1 by ``attributes`` [pezeshki2021, App. A.3].

    ``folder``, or else the environment variable ``LEARNING_DYNAMICS_CELEBA``, names a folder that holds the
    folder ``img_align_celeba`` of aligned images and the files ``list_attr_celeba.txt`` (the number of
    images, the names of the attributes, then on each line a file and its values 1 and -1) and
    ``list_eval_partition.txt`` (a file and 0, 1 or 2 for ``split`` "train", "valid" or "test").  Raises
    ``FileNotFoundError`` for what is missing, ``ValueError`` for a bad line, which it shows, or an
    attribute that the file does not have.

    Example:

    >>> celeba(".")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no list_attr_celeba.txt in '.'; expected beside it are list_eval_partition.txt and \
the folder img_align_celeba
    """
    wanted = _PARTITIONS[choice("split", split, tuple(_PARTITIONS))]
    where = _folder(folder, "LEARNING_DYNAMICS_CELEBA", "list_attr_celeba.txt")
    parts = ("list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba")
    for part in parts:
        if not (where / part).exists():
            others = [f"the folder {name}" if name == parts[2] else name for name in parts if name != part]
            raise FileNotFoundError(
                f"no {part} in {str(where)!r}; expected beside it are {' and '.join(others)}"
            )
    table, partition = ((where / part).read_text(encoding="utf-8").splitlines() for part in parts[:2])
    names = table[1].split() if len(table) > 1 else []
    if missing := [name for name in attributes if name not in names]:
        raise ValueError(f"attributes holds {missing[0]!r}, allowed: those of {str(where / parts[0])!r}")
    columns = [1 + names.index(name) for name in attributes]
    members = {fields[0] for fields in map(str.split, partition) if fields[1:] == [wanted]}
    present = {entry.name for entry in os.scandir(where / parts[2])}
    paths, labels = [], []
    for line in table[2:]:
        fields = line.split()
        if len(fields) != 1 + len(names) or not {fields[k] for k in columns} <= {"1", "-1"}:
            raise ValueError(
                f"{str(where / parts[0])!r} has the line {line!r}, allowed: a file"
                f" and {len(names)} values 1 or -1"
            )
        if fields[0] in members:
            if fields[0] not in present:
                raise FileNotFoundError(f"{str(where / parts[2] / fields[0])!r} is missing")
            paths.append(where / parts[2] / fields[0])
            labels.append([float(fields[k]) for k in columns])
    if not paths:
        raise ValueError(f"split is {split!r}, and {str(where / parts[1])!r} lists none of the images in it")
    return ImageFiles(tuple(paths), np.array(labels), tuple(attributes))
