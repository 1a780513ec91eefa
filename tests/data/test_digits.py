"""Digits: the right files are read, others are named and refused; nothing is fetched unasked."""

import functools
import http.server
import threading

import numpy as np
import pytest

from lib.data import digits
from lib.data.digits import digits_pair, mnist
from tests.images import idx_pair, write_mnist

IMAGES, LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"


@pytest.fixture(autouse=True)
def no_folder_of_the_reader(monkeypatch, tmp_path):
    """The tests see neither the reader's folder nor the reader's cache."""
    monkeypatch.delenv("LEARNING_DYNAMICS_MNIST", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The reader's folder, with a small test split in it."""
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    write_mnist(tmp_path, monkeypatch)
    return tmp_path


def test_mnist_reads_what_was_written(folder):
    for read, written in zip(mnist("test"), idx_pair(), strict=True):
        assert np.array_equal(read, written)


def test_missing_files_are_named_and_not_fetched(folder, monkeypatch):
    monkeypatch.setattr("pooch.Pooch.fetch", lambda *_, **__: pytest.fail("fetched unasked"))
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte.gz is not in"):
        mnist("train")
    (folder / LABELS).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{LABELS} is not in .*fetch=True"):
        mnist("test")
    monkeypatch.delenv("LEARNING_DYNAMICS_MNIST")
    with pytest.raises(FileNotFoundError, match=rf"{IMAGES} is not in .*cache"):
        mnist("test")
    with pytest.raises(ValueError, match="split is 'valid', allowed: 'train', 'test'"):
        mnist("valid")


@pytest.mark.parametrize("fetch", [False, True])
def test_a_file_that_is_not_mnists_is_refused_and_not_replaced(folder, fetch):
    (folder / IMAGES).write_bytes(b"mine")
    with pytest.raises(
        ValueError, match=f"{IMAGES}.* is not MNIST's: its SHA-256 is .*{digits.MNIST[IMAGES]}"
    ):
        mnist("test", fetch=fetch)
    assert (folder / IMAGES).read_bytes() == b"mine"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A web server with the right files."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    write_mnist(folder, monkeypatch)

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    silent = functools.partial(Silent, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), silent) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(digits, "MIRROR", f"http://127.0.0.1:{server.server_port}/")
        yield folder
        server.shutdown()


def test_what_was_fetched_is_found_again(mirror):
    assert np.array_equal(mnist("test", fetch=True)[0], idx_pair()[0])
    for path in mirror.iterdir():
        path.unlink()
    assert np.array_equal(mnist("test")[0], idx_pair()[0])


def test_a_mirror_with_a_wrong_file_is_refused(mirror, tmp_path):
    (mirror / IMAGES).write_bytes(b"<html>moved</html>")
    with pytest.raises(ValueError, match=f"{IMAGES}.*does not match the known hash"):
        mnist("test", fetch=True)
    assert not (tmp_path / "cache").exists() or not [*(tmp_path / "cache").rglob("*.gz")]


def test_a_pair_of_mnist(folder):
    images, numbers = idx_pair()
    inputs, labels = digits_pair(1, 0, images="test", centred=False)
    chosen = np.isin(numbers, (0, 1))
    assert np.array_equal(labels, np.where(numbers[chosen] == 1, 1.0, -1.0))
    assert np.array_equal(inputs, images[chosen].reshape(5, -1) / 255.0)
    few, even = digits_pair(1, 0, images="test", per_class=2)
    assert even.tolist() == [1, -1, 1, -1]
    # Centred classes of one size have opposite sums, up to rounding of 4 numbers below 1.
    assert abs(few.sum(axis=0)).max() < 1e-15
    with pytest.raises(ValueError, match="per_class is 3, allowed: up to 2"):
        digits_pair(1, 0, images="test", per_class=3)


def test_a_pair_of_scikit_learns():
    inputs, labels = digits_pair(1, 0)
    assert inputs.shape == (360, 64) and set(labels) == {-1.0, 1.0}
    np.testing.assert_allclose(inputs.sum(axis=0), 0, atol=1e-12)
    raw, _ = digits_pair(1, 0, centred=False)
    assert raw.min() == 0 and raw.max() == 1
    for pair in ((1, 1), (1, 10)):
        with pytest.raises(ValueError, match="allowed: two different digits"):
            digits_pair(*pair)
