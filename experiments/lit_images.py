"""Images of two classes, one of them bright and the other dark; cats and dogs from the reader's disk.

[combes2018, Section 5 and App. E.2]
"""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from lib.data.digits import digits_pair

DARK, BRIGHT = 0, 128
"""Where the 128 levels begin to which the light reduces the 256."""


PAIRS = tuple(combinations(range(10), 2))


def read_images(
    images: str, side: int, per_class: int | None, seed: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Return images as bytes (n, channels, side, side), labels +1 and -1 in turn (n,), and what these show.

    ``images`` are the reader's "cats-dogs", scaled to a square of ``side`` pixels, or two digits of what
    :func:`lib.data.digits.digits_pair` reads: the seeds 0 and 1, 2 and 3 and so on have a pair each, and
    differ in which of the two has the label +1.  Of each class there are ``per_class``, drawn by ``rng``, or
    as many as of the rarer one.  Cats and dogs are in the folder that the environment variable
    ``LEARNING_DYNAMICS_CATS_DOGS`` names, ``cat.0.jpg``, ``dog.0.jpg`` and so on, or in subfolders ``Cat``
    and ``Dog`` with ``0.jpg`` and so on; raises ``FileNotFoundError`` if there are none.
    """
    if images == "cats-dogs":
        files, labels = _cats_and_dogs()
        chosen = _balanced(labels, per_class, rng)
        pictures = (Image.open(files[k]).convert("RGB").resize((side, side)) for k in chosen)
        levels = np.stack([np.asarray(picture).transpose(2, 0, 1) for picture in pictures])
        return levels, labels[chosen], ("dog", "cat")
    order = np.random.default_rng(0).permutation(len(PAIRS))
    positive, negative = PAIRS[order[seed // 2 % len(PAIRS)]][:: 1 if seed % 2 == 0 else -1]
    inputs, labels = digits_pair(positive, negative, images=images, centred=False)
    chosen = _balanced(labels, per_class, rng)
    levels, side = np.round(255 * inputs[chosen]).astype(np.uint8), round(inputs.shape[1] ** 0.5)
    return levels.reshape(-1, 1, side, side), labels[chosen], (str(positive), str(negative))


def _cats_and_dogs() -> tuple[list[Path], np.ndarray]:
    """The files of Kaggle's cats and dogs, and labels (n,): +1 for dogs, -1 for cats."""
    folder = os.environ.get("LEARNING_DYNAMICS_CATS_DOGS")
    cats, dogs = (
        sorted(path for pattern in patterns for path in Path(folder).glob(pattern)) if folder else []
        for patterns in (("cat.*.jpg", "Cat/*.jpg"), ("dog.*.jpg", "Dog/*.jpg"))
    )
    if not (cats and dogs):
        raise FileNotFoundError(
            f"no cats or no dogs in {folder!r}: set LEARNING_DYNAMICS_CATS_DOGS to a folder with cat.0.jpg,"
            " dog.0.jpg and so on, or with folders Cat and Dog with 0.jpg and so on"
        )
    return cats + dogs, np.repeat([-1.0, 1.0], [len(cats), len(dogs)])


def _balanced(labels: np.ndarray, per_class: int | None, rng: np.random.Generator) -> np.ndarray:
    """The places of as many images of each class, the classes in turn."""
    places = [rng.permutation(np.flatnonzero(labels == sign)) for sign in (1, -1)]
    each = per_class or min(map(len, places))
    return np.column_stack([place[:each] for place in places]).ravel()


def with_light(levels: np.ndarray, begins: np.ndarray) -> torch.Tensor:
    """Return images (n, pixels) of bytes with their levels reduced to 128, as numbers from 0 to 1.

    ``begins`` (n,) are the levels from which on; NaN leaves an image as it is.
    """
    begins = begins.astype(np.float32)[:, None]
    reduced = begins + levels * np.float32(127 / 255)
    return torch.from_numpy(np.where(np.isnan(begins), levels, reduced) / np.float32(255))
