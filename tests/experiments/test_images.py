"""Images from disk: the right ones are read, others named and refused; nothing is fetched unasked."""

import functools
import gzip
import http.server
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lib.data.mnist import MNIST_HASHES, MNIST_MIRRORS, mnist, mnist_pair, read_idx
from lib.experiments.images import cats_and_dogs, celeba
from tests.images import idx, idx_pair, write_celeba, write_mnist

IMAGES, DIGITS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
OWN = os.environ.get("LEARNING_DYNAMICS_MNIST")


@pytest.fixture(autouse=True)
def no_folder_of_the_reader(monkeypatch, tmp_path):
    """The tests see neither the reader's folders nor the reader's cache."""
    for variable in ("MNIST", "CATS_DOGS", "CELEBA"):
        monkeypatch.delenv(f"LEARNING_DYNAMICS_{variable}", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache" / name)


@pytest.mark.parametrize("compressed", [True, False])
def test_mnist_reads_what_was_written(tmp_path, compressed):
    hashes = write_mnist(tmp_path, compressed=compressed)
    images, digits = mnist("test", folder=tmp_path, hashes=hashes)
    assert np.array_equal(images, idx_pair()[0])
    assert np.array_equal(digits, idx_pair()[1])


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    hashes = write_mnist(tmp_path, stem="train")
    monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
    assert mnist("train", hashes=hashes)[0].shape == (6, 28, 28)
    # An argument goes before it.
    with pytest.raises(FileNotFoundError, match=r"train-images-idx3-ubyte.gz is not in"):
        mnist("train", hashes=hashes, folder=tmp_path / "elsewhere")


def test_missing_files_are_named_and_not_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr("pooch.retrieve", lambda *_, **__: pytest.fail("fetched unasked"))
    with pytest.raises(FileNotFoundError, match=r"t10k-images-idx3-ubyte.gz is not in .*fetch=True"):
        mnist("test")
    hashes = write_mnist(tmp_path)
    (tmp_path / DIGITS).unlink()
    with pytest.raises(FileNotFoundError, match=r"t10k-labels-idx1-ubyte.gz is not in"):
        mnist("test", folder=tmp_path, hashes=hashes)


def test_other_files_than_mnists_are_refused(tmp_path):
    write_mnist(tmp_path)
    with pytest.raises(
        ValueError, match=f"{IMAGES}.* is not MNIST's: its SHA-256 is .*{MNIST_HASHES[IMAGES]}"
    ):
        mnist("test", folder=tmp_path)


def test_images_and_digits_of_different_numbers_are_refused(tmp_path):
    images, digits = idx_pair()
    hashes = write_mnist(tmp_path, images=images, digits=digits[:-1])
    with pytest.raises(ValueError, match=r"images \(6, 28, 28\) and digits \(5,\)"):
        mnist("test", folder=tmp_path, hashes=hashes)


BROKEN = {
    "cut within gzip": (lambda content: gzip.compress(content)[:-9], "broken gzip"),
    "damaged gzip": (lambda content: b"\x1f\x8b" + content, "broken gzip"),
    "cut within data": (lambda content: content[:-1], "17 bytes of data; its header announces 18"),
    "too long": (lambda content: content + b"\0", "19 bytes of data; its header announces 18"),
    "cut within header": (lambda content: content[:9], "ends after 9 bytes, within its header"),
    "of floats": (lambda content: content[:2] + b"\x0d" + content[3:], "starts with 00 00 0d 02; allowed"),
    "a web page": (lambda content: b"<html>404</html>", "starts with 3c 68 74 6d; allowed"),
    "empty": (lambda content: b"", "starts with nothing; allowed"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_idx_files_are_named(tmp_path, case):
    path = tmp_path / "some-file"
    path.write_bytes(idx(np.arange(18).reshape(3, 6)))
    assert np.array_equal(read_idx(path), np.arange(18).reshape(3, 6))
    damage, message = BROKEN[case]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=f"some-file.*{message}"):
        read_idx(path)


@pytest.fixture
def mirrors(tmp_path):
    """Two web servers, one with a wrong file of images and no other, and one with the right ones."""
    folders = [tmp_path / "bad", tmp_path / "good"]
    for folder in folders:
        folder.mkdir()
    hashes = write_mnist(folders[1])
    (folders[0] / IMAGES).write_bytes(b"<html>moved</html>")

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    servers = [
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder)))
        for folder in folders
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield [f"http://127.0.0.1:{server.server_port}/" for server in servers], hashes
    for server in servers:
        server.shutdown()
        server.server_close()


def test_fetching_takes_the_first_mirror_with_good_files(tmp_path, mirrors):
    urls, hashes = mirrors
    images, _ = mnist("test", fetch=True, hashes=hashes, mirrors=urls)
    assert np.array_equal(images, idx_pair()[0])
    # What was fetched is found again without the network, in the cache.
    assert np.array_equal(mnist("test", hashes=hashes, mirrors=())[0], images)
    with pytest.raises(ConnectionError, match=rf"no mirror has a good {IMAGES}: {urls[0]}.*SHA256"):
        mnist("test", fetch=True, hashes=hashes, mirrors=urls[:1], folder=tmp_path / "new")


def test_fetching_does_not_replace_a_file_of_the_reader(tmp_path, mirrors):
    urls, hashes = mirrors
    (tmp_path / IMAGES).write_bytes(b"mine")
    with pytest.raises(ValueError, match="is not MNIST's"):
        mnist("test", fetch=True, hashes=hashes, mirrors=urls, folder=tmp_path)
    assert (tmp_path / IMAGES).read_bytes() == b"mine"


def test_the_mirrors_and_hashes_are_complete():
    assert len(MNIST_MIRRORS) == 2 and all(
        url.startswith("https://") and url[-1] == "/" for url in MNIST_MIRRORS
    )
    stems = {f"{split}-{part}" for split in ("train", "t10k") for part in ("images-idx3", "labels-idx1")}
    assert set(MNIST_HASHES) == {f"{stem}-ubyte{end}" for stem in stems for end in ("", ".gz")}
    assert all(len(bytes.fromhex(value)) == 32 for value in MNIST_HASHES.values())


def test_a_pair_of_digits(tmp_path):
    hashes = write_mnist(tmp_path)
    images, digits = idx_pair()
    inputs, labels = mnist_pair(1, 0, folder=tmp_path, hashes=hashes, centred=False)
    chosen = np.isin(digits, (0, 1))
    assert np.array_equal(labels, np.where(digits[chosen] == 1, 1.0, -1.0))
    assert np.array_equal(inputs, images[chosen].reshape(5, -1) / 255.0)
    few, even = mnist_pair(1, 0, folder=tmp_path, hashes=hashes, per_class=2)
    assert even.tolist() == [1, -1, 1, -1]
    # Centred classes of one size have opposite sums, up to rounding of 4 numbers below 1.
    assert abs(few.sum(axis=0)).max() < 1e-15


@pytest.mark.skipif(OWN is None, reason="needs MNIST's own test files, in a folder named by the environment")
def test_mnists_own_test_split():
    images, digits = mnist("test", folder=OWN)
    assert images.shape == (10000, 28, 28)
    assert np.bincount(digits).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def test_cats_and_dogs_in_both_layouts(tmp_path):
    for name in ("cat.10.jpg", "cat.9.jpg", "dog.1.jpg"):
        Image.new("RGB", (30, 20), "white").save(tmp_path / name)
    flat = cats_and_dogs(tmp_path)
    assert [path.name for path in flat.paths] == ["cat.9.jpg", "cat.10.jpg", "dog.1.jpg"]
    assert flat.labels.tolist() == [[-1], [-1], [1]]
    assert (flat.pixels([2, 0], side=8) == 255).all()
    nested = tmp_path / "nested"
    for animal in ("Cat", "Dog"):
        (nested / animal).mkdir(parents=True)
        shutil.copy(tmp_path / "cat.9.jpg", nested / animal / "0.jpg")
    assert [path.parent.name for path in cats_and_dogs(nested).paths] == ["Cat", "Dog"]


def test_missing_animals_and_broken_pictures_are_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="pass folder or set LEARNING_DYNAMICS_CATS_DOGS"):
        cats_and_dogs()
    with pytest.raises(FileNotFoundError, match="'/nowhere', which is none"):
        cats_and_dogs("/nowhere")
    (tmp_path / "cat.0.jpg").write_bytes(b"no picture")
    monkeypatch.setenv("LEARNING_DYNAMICS_CATS_DOGS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no dog in .* expected are dog.0.jpg"):
        cats_and_dogs()
    Image.new("RGB", (300, 200), "white").save(tmp_path / "dog.0.jpg")
    files = cats_and_dogs()
    with pytest.raises(ValueError, match=r"chosen holds 0, and '.*cat.0.jpg' is no image"):
        files.pixels([1, 0])
    with pytest.raises(ValueError, match="chosen holds 2, allowed: up to 1"):
        files.pixels([2])
    # A picture of which a part is missing is broken too.
    (tmp_path / "dog.0.jpg").write_bytes((tmp_path / "dog.0.jpg").read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"dog.0.jpg' is no image"):
        files.pixels([1])


def test_celeba(tmp_path, monkeypatch):
    monkeypatch.setenv("LEARNING_DYNAMICS_CELEBA", str(write_celeba(tmp_path)))
    files = celeba()
    assert [path.name for path in files.paths] == ["000001.jpg", "000002.jpg", "000004.jpg"]
    assert files.labels.tolist() == [[-1, 1], [1, -1], [1, 1]]
    assert celeba(split="test", attributes=["Male"]).labels.tolist() == [[-1]]
    # Plain colours survive JPEG and scaling up to rounding.
    assert abs(files.pixels([2], side=4)[..., 0].astype(int) - 180).max() <= 2


def test_bad_celeba_folders_are_named(tmp_path):
    folder = write_celeba(tmp_path)
    with pytest.raises(ValueError, match=r"split is 'valid', and .* lists none"):
        celeba(folder, split="valid")
    (folder / "img_align_celeba" / "000002.jpg").unlink()
    with pytest.raises(FileNotFoundError, match=r"000002.jpg' is missing"):
        celeba(folder)
    table = folder / "list_attr_celeba.txt"
    for broken in ("000002.jpg 1", "000002.jpg 1 0", "000002.jpg 1 1 1"):
        table.write_text(f"4\nBlond_Hair Male\n000001.jpg 1 1\n{broken}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=f"has the line '{broken}', allowed"):
            celeba(folder)
    for part in ("list_eval_partition.txt", "list_attr_celeba.txt"):
        Path(folder, part).unlink()
        with pytest.raises(FileNotFoundError, match=f"no {part} in"):
            celeba(folder)
