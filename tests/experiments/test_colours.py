"""Coloured images: what their colours say, and how likely."""

import numpy as np
import torch

from experiments.colours import colour_images, paint

LIKE = torch.empty(0, dtype=torch.float64)


def drawn(count, noise=0.1):
    rng = np.random.default_rng(7)
    images, labels = rng.random((count, 3)), rng.choice([-1.0, 1.0], count)
    return images, labels, colour_images(images, labels, noise, LIKE, rng)


def test_a_colour_agrees_with_its_label_as_often_as_it_should():
    count = 40_000
    for noise in (0.1, 0.9):
        _, clean, some = drawn(count, noise)
        labels = some.chances[0] - some.chances[1]
        # Shares of independent draws, within five standard deviations of at most 1/(2 sqrt(count)).
        assert np.isclose((labels == some.colours).double().mean(), 1 - noise, atol=2.5 * count**-0.5)
        assert np.isclose((labels.numpy() == clean).mean(), 0.75, atol=2.5 * count**-0.5)


def test_expected_chances_are_the_mean_of_the_draws():
    images, labels, _ = drawn(1)
    expected = colour_images(images, labels, 0.2, LIKE)
    count = 40_000
    often = np.repeat(images, count, axis=0), np.repeat(labels, count)
    many = colour_images(*often, 0.2, LIKE, np.random.default_rng(0))
    for k, colour in enumerate((1, -1)):
        shares = (many.chances * (many.colours == colour)).mean(-1)
        assert np.allclose(shares, expected.chances[:, k], atol=2.5 * count**-0.5)


def test_an_image_stands_in_the_channel_of_its_colour():
    _, _, some = drawn(5)
    channels, first = paint(some.images, some.colours).view(5, 2, 3), some.colours > 0
    assert torch.equal(channels[:, 0], first[:, None] * some.images)
    assert torch.equal(channels[:, 1], ~first[:, None] * some.images)
    assert torch.equal(paint(some.images[~first], -1.0), channels[~first].flatten(1))
