"""Bad arguments of `lib.mnist` and `lib.images`; missing and broken files are tested in test_images."""

from hypothesis import strategies as st

from lib import images, mnist
from tests.bad_input.cases import Case
from tests.images import celeba_folder, mnist_folder

MNIST = mnist_folder()
NOT_SPLITS = st.sampled_from(["", "Test", "validation", None, 0])
NOT_DIGITS = st.sampled_from([-1, 10, 0.5, "seven", None])
NOT_COUNTS = st.sampled_from([0, -3, 0.5, "all"])

CASES = [
    Case(mnist.mnist, {"split": "test", **MNIST}, {"split": NOT_SPLITS}),
    Case(
        mnist.mnist_pair,
        {"positive": 1, "negative": 0, **MNIST},
        {
            "positive": NOT_DIGITS,
            "negative": NOT_DIGITS | st.just(1),
            "split": NOT_SPLITS,
            "per_class": NOT_COUNTS | st.just(10**6),
        },
    ),
    Case(
        images.celeba,
        {"folder": celeba_folder()},
        {"split": NOT_SPLITS, "attributes": st.just(("Blond_Hair", "Tall"))},
    ),
]
EXEMPT = {
    "lib.mnist.read_idx": "a file is its only argument; broken and missing files are tested in test_images",
    "lib.images.cats_and_dogs": "a folder is its only argument; missing files are tested in test_images",
}
