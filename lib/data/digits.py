"""Images of handwritten digits: those that ship with scikit-learn, and MNIST from the reader's disk.

MNIST is fetched only when asked.  A file that is missing, or not the one that was published, is named.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from lib.checks import choice, whole

MNIST = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
"""SHA-256 of MNIST's four files, as in torchvision's prototype datasets and many other libraries."""

MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
"""Where MNIST is fetched from."""


def mnist(split: str, *, fetch: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's images, bytes of shape (n, 28, 28), and their digits (n,); n is 60000 or 10000.

    ``split`` is "train" or "test", or "stand-in" for scikit-learn's digits enlarged to that shape, with which
    code for MNIST is tried without its files.  The files are looked for in the folder that the environment
    variable ``LEARNING_DYNAMICS_MNIST`` names, else in the cache; only with ``fetch`` are missing ones
    downloaded there.  Raises ``FileNotFoundError`` for a missing file and ``ValueError`` for one with another
    SHA-256, both with its name.
    """
    if choice("split", split, ("train", "test", "stand-in")) == "stand-in":
        return _enlarged_digits()
    stem = {"train": "train", "test": "t10k"}[split]
    images, digits = (_content(f"{stem}-{part}-ubyte.gz", fetch) for part in ("images-idx3", "labels-idx1"))
    # The headers of 16 and 8 bytes say what the hash has made sure of.
    pixels = np.frombuffer(images, np.uint8, offset=16)
    return pixels.reshape(-1, 28, 28), np.frombuffer(digits, np.uint8, offset=8)


def _enlarged_digits() -> tuple[np.ndarray, np.ndarray]:
    """Each pixel of scikit-learn's 1797 digits three by three, with an edge of two."""
    levels, digits = load_digits(return_X_y=True)
    images = (255 * levels.reshape(-1, 8, 8) / 16).astype(np.uint8).repeat(3, axis=1).repeat(3, axis=2)
    return np.pad(images, ((0, 0), (2, 2), (2, 2))), digits


def _content(name: str, fetch: bool) -> bytes:
    """Return what is in one of MNIST's files, whose hash is checked."""
    import pooch  # only here: it loads a progress bar that prints advice in notebooks

    given = os.environ.get("LEARNING_DYNAMICS_MNIST")
    path = Path(given or Path(pooch.os_cache("learning-dynamics-executed"), "mnist"), name)
    if fetch and not path.is_file():
        pooch.retrieve(MIRROR + name, known_hash=MNIST[name], fname=name, path=path.parent)
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in {str(path.parent)!r}; set LEARNING_DYNAMICS_MNIST to a folder that holds it,"
            " or fetch it once by lib.data.digits.mnist(split, fetch=True)"
        )
    if (got := pooch.file_hash(str(path))) != MNIST[name]:
        raise ValueError(f"{str(path)!r} is not MNIST's: its SHA-256 is {got}, allowed: {MNIST[name]}")
    return gzip.decompress(path.read_bytes())


def all_digits(images: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Return images of all digits (n, side, side), the digits (n,), and the brightest level of a pixel.

    ``images`` are scikit-learn's "digits", of 8 x 8 pixels, or those of MNIST's "train" or "test" split or
    their "stand-in", of 28 x 28, read as :func:`mnist` reads them.
    """
    if choice("images", images, ("digits", "train", "test", "stand-in")) == "digits":
        levels, digits = load_digits(return_X_y=True)
        return levels.reshape(-1, 8, 8), digits, 16.0
    return *mnist(images), 255.0


def digits_pair(
    positive: int,
    negative: int,
    *,
    images: str = "digits",
    per_class: int | None = None,
    centred: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the images of two digits, pixels in [0, 1]: inputs (n, pixels), labels +1 and -1 (n,).

    ``images`` are those of :func:`all_digits`.  ``per_class`` keeps the first so many of each digit, all by
    default.  ``centred`` subtracts the mean image of the pair, so that the two class sums are opposite if the
    classes are of one size.  Raises ``ValueError`` for anything but two different digits, and for more images
    than there are.
    """
    if len({whole("positive", positive), whole("negative", negative)} & set(range(10))) < 2:
        raise ValueError(f"positive is {positive}, negative {negative}; allowed: two different digits 0 to 9")
    levels, digits, top = all_digits(images)
    places = [np.flatnonzero(digits == digit) for digit in (positive, negative)]
    if per_class is not None:
        if whole("per_class", per_class, 1) > (most := min(map(len, places))):
            raise ValueError(
                f"per_class is {per_class}, allowed: up to {most}, the images of the rarer digit"
            )
        places = [place[:per_class] for place in places]
    chosen = np.sort(np.concatenate(places))
    inputs = levels[chosen].reshape(len(chosen), -1) / top
    return inputs - centred * inputs.mean(axis=0), np.where(digits[chosen] == positive, 1.0, -1.0)
