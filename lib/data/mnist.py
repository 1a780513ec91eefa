"""MNIST, the handwritten digits, from the reader's disk or, when asked, from the network.

The folder of its files is an argument or what the environment variable ``LEARNING_DYNAMICS_MNIST`` names.  A
file that is missing, broken or not the one that was published is named and refused.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from lib.checks import choice, whole

# Of the compressed files, as in torchvision's prototype datasets and many other libraries.
MNIST_HASHES = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    # Of the same files uncompressed.
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""SHA-256 of MNIST's four files by name, as they are distributed (``.gz``) and uncompressed."""

MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
"""Where the compressed files of MNIST are fetched from, in this order."""

_STEMS = {"train": "train", "test": "t10k"}
STAND_IN = "stand-in"


def _enlarged_digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's 1797 digits in the form of MNIST: each pixel three by three, with an edge of two."""
    pixels, digits = load_digits(return_X_y=True)
    images = (255 * pixels.reshape(-1, 8, 8) / 16).astype(np.uint8).repeat(3, axis=1).repeat(3, axis=2)
    return np.pad(images, ((0, 0), (2, 2), (2, 2))), digits


def read_idx(path: str | Path) -> np.ndarray:
    """Return the array of bytes in an IDX file, the format of MNIST, compressed by gzip or not.

    Raises ``FileNotFoundError`` for a missing file and ``ValueError``, naming the file, for a broken one:
    damaged compression, another magic number than that of unsigned bytes, more or fewer bytes than announced.

    Example:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels")
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    ...     read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    content = Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"path is {str(path)!r}, a broken gzip file: {error}") from None
    if content[:3] != b"\0\0\x08" or len(content) < 4:
        raise ValueError(
            f"path is {str(path)!r}, which starts with {content[:4].hex(' ') or 'nothing'}; allowed: IDX"
            " files of unsigned bytes, which start with 00 00 08 and the number of axes"
        )
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError(f"path is {str(path)!r}, which ends after {len(content)} bytes, within its header")
    shape = np.frombuffer(content, dtype=">u4", count=content[3], offset=4).astype(int)
    values = np.frombuffer(content, dtype=np.uint8, offset=start)
    if values.size != shape.prod():
        raise ValueError(
            f"path is {str(path)!r}, with {values.size} bytes of data; its header announces {shape.prod()}"
        )
    return values.reshape(shape)


def _mnist_file(
    name: str, folder: Path, fetch: bool, hashes: Mapping[str, str], mirrors: Sequence[str]
) -> Path:
    """The path of one file of MNIST, compressed or not, after a check of its hash; fetched if asked."""
    found = [path for path in (folder / f"{name}.gz", folder / name) if path.is_file()]
    if not found and not fetch:
        raise FileNotFoundError(
            f"{name}.gz is not in {str(folder)!r}; set LEARNING_DYNAMICS_MNIST to a folder that holds it,"
            " compressed or not, or fetch it once by lib.data.mnist.mnist(split, fetch=True)"
        )
    if found:
        path, got = found[0], hashlib.sha256(found[0].read_bytes()).hexdigest()
        if got != hashes[path.name]:
            raise ValueError(
                f"{str(path)!r} is not MNIST's: its SHA-256 is {got}, allowed: {hashes[path.name]}"
            )
        return path
    import pooch  # only here and in _cache: it loads a progress bar that prints advice in notebooks

    failures = []
    for mirror in mirrors:
        try:
            url = f"{mirror}{name}.gz"
            return Path(pooch.retrieve(url, hashes[f"{name}.gz"], fname=f"{name}.gz", path=folder))
        # ValueError is a wrong hash; what fails on the way is an OSError, requests' own errors among them.
        except (OSError, ValueError) as error:
            failures.append(f"{mirror}: {error}")
    raise ConnectionError(f"no mirror has a good {name}.gz: " + "; ".join(failures))


def _cache() -> Path:
    """Where what was fetched is kept."""
    import pooch

    return Path(pooch.os_cache("learning-dynamics-executed"), "mnist")


def mnist(
    split: str,
    *,
    folder: str | Path | None = None,
    fetch: bool = False,
    hashes: Mapping[str, str] = MNIST_HASHES,
    mirrors: Sequence[str] = MNIST_MIRRORS,
) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's images, bytes of shape (n, 28, 28), and their digits (n,); n is 60000 or 10000.

    ``split`` is "train" or "test", or "stand-in" for scikit-learn's digits enlarged to that shape, with which
    code for MNIST is tried without its files.  The two files, ``.gz`` or uncompressed, are looked for in ``folder``,
    else in the folder that the environment variable ``LEARNING_DYNAMICS_MNIST`` names, else in the cache.
    Only with ``fetch`` are missing files downloaded there, from the first of ``mirrors`` that has them.  Each
    must have its SHA-256 of ``hashes``.  Raises ``FileNotFoundError`` for a missing file, ``ValueError`` for
    a wrong or broken one and ``ConnectionError`` if no mirror has it, all with its name.

    Example:

    >>> mnist("test", folder=".")
    Traceback (most recent call last):
        ...
    FileNotFoundError: t10k-images-idx3-ubyte.gz is not in '.'; set LEARNING_DYNAMICS_MNIST to a folder \
that holds it, compressed or not, or fetch it once by lib.data.mnist.mnist(split, fetch=True)
    """
    if split == STAND_IN:
        return _enlarged_digits()
    stem = _STEMS[choice("split", split, (*_STEMS, STAND_IN))]
    given = folder if folder is not None else os.environ.get("LEARNING_DYNAMICS_MNIST")
    where = Path(given) if given else _cache()
    images, digits = (
        read_idx(_mnist_file(f"{stem}-{part}-ubyte", where, fetch, hashes, mirrors))
        for part in ("images-idx3", "labels-idx1")
    )
    if images.ndim != 3 or digits.shape != images.shape[:1]:
        raise ValueError(
            f"the {split} split in {str(where)!r} has images {images.shape} and digits {digits.shape},"
            " allowed: (n, height, width) and (n,)"
        )
    return images, digits


def mnist_pair(
    positive: int,
    negative: int,
    *,
    split: str = "test",
    per_class: int | None = None,
    centred: bool = True,
    folder: str | Path | None = None,
    hashes: Mapping[str, str] = MNIST_HASHES,
) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's images of two digits, pixels in [0, 1]: inputs (n, 784), labels +1 and -1 (n,).

    The files are found as :func:`lib.data.mnist.mnist` finds them, and never fetched.  ``per_class`` keeps the
    first so many images of each digit, all by default.  ``centred`` subtracts the mean image of the pair, so
    that the two class sums are opposite if the classes are of one size.  Raises ``ValueError`` for anything
    but two different digits, or for more images than there are.

    Example:

    >>> mnist_pair(3, 3)
    Traceback (most recent call last):
        ...
    ValueError: negative is 3, as positive is; allowed: another digit
    """
    wanted = (whole("positive", positive), whole("negative", negative))
    for name, digit in zip(("positive", "negative"), wanted, strict=True):
        if digit > 9:
            raise ValueError(f"{name} is {digit}, allowed: digits 0 to 9")
    if wanted[0] == wanted[1]:
        raise ValueError(f"negative is {negative}, as positive is; allowed: another digit")
    images, digits = mnist(split, folder=folder, hashes=hashes)
    places = [np.flatnonzero(digits == digit) for digit in wanted]
    if per_class is not None:
        most = min(map(len, places))
        if whole("per_class", per_class, 1) > most:
            raise ValueError(
                f"per_class is {per_class}, allowed: up to {most}, the images of the rarer digit"
            )
        places = [place[:per_class] for place in places]
    chosen = np.sort(np.concatenate(places))
    inputs = images[chosen].reshape(len(chosen), -1) / 255.0
    return inputs - centred * inputs.mean(axis=0), np.where(digits[chosen] == positive, 1.0, -1.0)
