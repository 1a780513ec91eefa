"""Images in two colours, which tell the label more often than the shapes do.

[pezeshki2021, Sec. 4 and App. A.2]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from lib.checks import choice
from lib.data.digits import all_digits

LABEL_NOISE = 0.25
COLOUR_NOISE = (0.2, 0.1)  # in the two training environments
REVERSED = 0.9  # in the test environment


@dataclass(frozen=True, eq=False)
class ColouredImages:
    """Images in their colours, and how likely each label is for them.

    ``images`` are (n, pixels), ``shapes`` and ``colours`` +1 and -1 (n,), and ``chances`` (2, n) the weights
    with which an image counts as one with the label +1 and as one with -1.
    """

    images: torch.Tensor
    shapes: torch.Tensor
    colours: torch.Tensor
    chances: torch.Tensor

    def accuracy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that logits (..., n) have right, shape (...)."""
        right = torch.where(logits > 0, self.chances[0], self.chances[1])
        return right.sum(dim=-1) / self.chances.sum()


def paint(images: torch.Tensor, colours: torch.Tensor | float) -> torch.Tensor:
    """Return images in two channels, (n, 2 pixels): the first for the colour +1."""
    first = (1 + colours * torch.ones_like(images[:, 0]))[:, None] / 2
    return torch.cat([first * images, (1 - first) * images], dim=1)


def colour_images(
    images: np.ndarray,
    labels: np.ndarray,
    colour_noise: np.ndarray | float,
    like: torch.Tensor,
    rng: np.random.Generator | None = None,
) -> ColouredImages:
    """Flip labels with probability ``LABEL_NOISE`` and colour images by them, on the device of ``like``.

    ``images`` are (n, pixels), ``labels`` +1 and -1 (n,); the colour is the label after its flip, but for the
    probability ``colour_noise``, a number or one an image, (n,).  Without ``rng`` there are 2n images, each
    first in the colour +1 and then in the colour -1, and each counts for both labels as likely as they are:
    the mean over all draws.
    """
    n = len(labels)
    if rng is None:
        images, labels, colours = np.tile(images, (2, 1)), np.tile(labels, 2), np.repeat([1.0, -1.0], n)
        noise = np.tile(np.broadcast_to(colour_noise, n), 2)
        chances = [
            np.where(labels == label, 1 - LABEL_NOISE, LABEL_NOISE)
            * np.where(colours == label, 1 - noise, noise)
            for label in (1, -1)
        ]
    else:
        draws = rng.random((2, n))
        drawn = labels * np.where(draws[0] < LABEL_NOISE, -1, 1)
        colours = drawn * np.where(draws[1] < colour_noise, -1, 1)
        chances = [drawn > 0, drawn < 0]
    parts = (images, labels, colours, np.stack(chances))
    return ColouredImages(*(torch.from_numpy(part).to(like) for part in parts))


def draw_environments(
    images: str, training: int, tests: int, noise: str, seed: int, like: torch.Tensor
) -> tuple[ColouredImages, ColouredImages]:
    """Return the training environments, each with every second image, and the test environment.

    ``images`` are those of :func:`lib.data.digits.all_digits`, of MNIST every second pixel each way; digits
    above 4 have the label +1.  Of a random order the first ``training`` make the training environments, the
    next ``tests`` the test environment.  ``noise`` is "drawn", one label and one colour for each image, or
    "expected": each image stands with both labels in both colours, weighted with their probabilities, as
    infinitely many draws would give.
    """
    levels, digits, top = all_digits(images)
    stride = 1 if images == "digits" else 2
    pixels = levels[:, ::stride, ::stride].reshape(len(levels), -1) / top
    labels, rng = np.where(digits > 4, 1, -1), np.random.default_rng(seed)
    first, rest = np.split(rng.permutation(len(digits))[: training + tests], [training])
    environments = np.resize(COLOUR_NOISE, training)
    draws = rng if choice("noise", noise, ("drawn", "expected")) == "drawn" else None
    return (
        colour_images(pixels[first], labels[first], environments, like, draws),
        colour_images(pixels[rest], labels[rest], REVERSED, like, draws),
    )
