"""Images with a light: their levels, and as many of each class."""

import numpy as np

from experiments.lit_images import BRIGHT, DARK, _balanced, with_light


def test_light_reduces_the_levels_to_its_half_and_leaves_what_has_none():
    levels = np.array([[0, 255], [0, 255], [10, 20]], dtype=np.uint8)
    begins = np.array([DARK, BRIGHT, np.nan])
    seen = 255 * with_light(levels, begins).double().numpy()
    # Single precision, twice rounded.
    np.testing.assert_allclose(seen, [[0, 127], [128, 255], [10, 20]], atol=255 * 2**-22)


def test_both_classes_are_as_many_among_the_images_to_train_and_to_test():
    labels = np.repeat([1.0, -1.0], [30, 20])
    chosen = _balanced(labels, None, np.random.default_rng(0))
    assert len(set(chosen)) == 40 and np.cumsum(labels[chosen])[1::2].tolist() == [0] * 20
