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
def mirrors(tmp_path, monkeypatch):
    """Two web servers, one with a wrong file of images and no other, and one with the right ones."""
    folders = [tmp_path / "bad", tmp_path / "good"]
    for each in folders:
        each.mkdir()
    write_mnist(folders[1], monkeypatch)
    (folders[0] / IMAGES).write_bytes(b"<html>moved</html>")

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    servers = [
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(each)))
        for each in folders
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield [f"http://127.0.0.1:{server.server_port}/" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


def test_fetching_takes_the_first_mirror_with_good_files(tmp_path, monkeypatch, mirrors):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between two tries
    monkeypatch.setattr(digits, "MIRRORS", mirrors)
    assert np.array_equal(mnist("test", fetch=True)[0], idx_pair()[0])
    # What was fetched is found again without the network, in the cache.
    monkeypatch.setattr(digits, "MIRRORS", mirrors[:1])
    assert np.array_equal(mnist("test")[0], idx_pair()[0])
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path / "new"))
    with pytest.raises(ConnectionError, match=rf"no mirror has a good {IMAGES}: {mirrors[0]}.*SHA256"):
        mnist("test", fetch=True)


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
