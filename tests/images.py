"""Small files in the format of MNIST."""

import gzip
import hashlib
from pathlib import Path

import numpy as np

from lib.data import digits


def idx(values):
    """The bytes of an IDX file of unsigned bytes."""
    values = np.asarray(values, dtype=np.uint8)
    return bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes() + values.tobytes()


def idx_pair():
    """Six images of 28 by 28 random pixels, and their digits."""
    pixels = np.random.default_rng(0).integers(256, size=(6, 28, 28))
    return pixels.astype(np.uint8), np.array((1, 0, 7, 1, 0, 1), dtype=np.uint8)


def write_mnist(folder, monkeypatch, stem="t10k"):
    """Write a pair of files to ``folder``, and let the library take them for MNIST's."""
    for name, values in zip(("images-idx3", "labels-idx1"), idx_pair(), strict=True):
        content = gzip.compress(idx(values), mtime=0)
        Path(folder, file := f"{stem}-{name}-ubyte.gz").write_bytes(content)
        monkeypatch.setitem(digits.MNIST, file, hashlib.sha256(content).hexdigest())
