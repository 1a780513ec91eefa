"""Small files in the formats of MNIST and CelebA, in temporary folders that go when Python ends."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from tests.folders import kept_folder


def idx(values):
    """The bytes of an IDX file of unsigned bytes."""
    values = np.asarray(values, dtype=np.uint8)
    return bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()


def idx_pair(digits=(1, 0, 7, 1, 0, 1), seed=0):
    """Images of 28 by 28 random pixels, and their digits."""
    pixels = np.random.default_rng(seed).integers(256, size=(len(digits), 28, 28))
    return pixels.astype(np.uint8), np.array(digits, dtype=np.uint8)


def write_mnist(folder, stem="t10k", images=None, digits=None, compressed=True):
    """Write a pair of files to ``folder`` and return their SHA-256 by name."""
    pair = idx_pair() if images is None else (images, digits)
    names = (f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte")
    hashes = {}
    for name, values in zip(names, pair, strict=True):
        content = gzip.compress(idx(values), mtime=0) if compressed else idx(values)
        file = name + ".gz" * compressed
        Path(folder, file).write_bytes(content)
        hashes[file] = hashlib.sha256(content).hexdigest()
    return hashes


@cache
def mnist_folder():
    """A folder with a small test split, and its hashes, as arguments of the functions of lib.data.mnist."""
    folder = kept_folder("mnist")
    return {"folder": folder, "hashes": write_mnist(folder)}


def write_celeba(folder):
    """Three images of the training split and one of the test split, with two attributes."""
    folder = Path(folder)
    (folder / "img_align_celeba").mkdir()
    rows = {"000001.jpg": "-1  1", "000002.jpg": " 1 -1", "000003.jpg": "-1 -1", "000004.jpg": "1 1"}
    table = ["4", "Blond_Hair Male", *(f"{name} {values}" for name, values in rows.items())]
    (folder / "list_attr_celeba.txt").write_text("\n".join(table) + "\n", encoding="utf-8")
    places = [f"{name} {2 if name == '000003.jpg' else 0}" for name in rows]
    (folder / "list_eval_partition.txt").write_text("\n".join(places) + "\n", encoding="utf-8")
    for k, name in enumerate(rows):
        Image.new("RGB", (178, 218), (60 * k, 0, 0)).save(folder / "img_align_celeba" / name, quality=95)
    return folder


@cache
def celeba_folder():
    """A folder as :func:`write_celeba` makes it."""
    return write_celeba(kept_folder("celeba"))
