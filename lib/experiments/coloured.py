"""Images in one of two colours, which predict a noisy label better or worse than the shapes do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from lib.checks import generator, number, numbers, signs


@dataclass(frozen=True, eq=False)
class ColouredImages:
    """Images of all seeds in their colours, and how likely each label is for them.

    ``images`` are (seeds, n, pixels), ``colours`` +1 and -1 (seeds, n), and ``chances`` (2, seeds, n) the
    weights with which an image counts as one with the label +1 and as one with the label -1.

    Example: a bright and a dark pixel, the first one in the first channel.

    >>> chances = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> pair = ColouredImages(torch.tensor([[[0.75], [0.25]]]), torch.tensor([[1.0, -1.0]]), chances)
    >>> pair.inputs().tolist(), pair.inputs(coloured=False, blank=True).tolist()
    ([[[0.75, 0.0], [0.0, 0.25]]], [[[0.25, 0.25], [0.25, 0.25]]])
    >>> pair.accuracy(torch.tensor([[3.0, 3.0]]))
    tensor([0.5000])
    """

    images: torch.Tensor
    colours: torch.Tensor
    chances: torch.Tensor

    def inputs(self, *, coloured: bool = True, blank: bool = False) -> torch.Tensor:
        """Return the images in two channels, shape (seeds, n, 2 pixels).

        Not ``coloured``, half of an image is in each channel; ``blank``, each pixel is the mean of its seed.
        """
        mean = self.images.mean(dim=(1, 2), keepdim=True)
        images = mean.expand_as(self.images) if blank else self.images
        first = (1 + self.colours * coloured).unsqueeze(-1) / 2
        return torch.cat([first * images, (1 - first) * images], dim=-1)

    def accuracy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that logits (seeds, n) have right, shape (seeds,)."""
        positive, negative = self.chances
        return torch.where(logits > 0, positive, negative).sum(dim=-1) / self.chances.sum(dim=(0, -1))

    def entropy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the mean entropy, in nats, of the labels that logits (seeds, n) predict, shape (seeds,)."""
        entropies = torch.distributions.Bernoulli(logits=logits.double()).entropy()
        weights = self.chances.sum(dim=0)
        return (weights * entropies).sum(dim=-1) / weights.sum(dim=-1)

    def to(self, like: torch.Tensor) -> ColouredImages:
        """Return the same on the device and with the number type of ``like``."""
        return ColouredImages(*(one.to(like) for one in (self.images, self.colours, self.chances)))


def colour_images(
    images: ArrayLike,
    labels: ArrayLike,
    colour_noise: ArrayLike,
    *,
    label_noise: float = 0.25,
    rngs: Sequence[np.random.Generator] | None = None,
) -> ColouredImages:
    """Flip labels with probability ``label_noise`` and colour images by them, one set a seed.

    ``images`` are (seeds, n, pixels), ``labels`` +1 and -1 (seeds, n); the colour is the label after its
    flip, but for the probability ``colour_noise``, a number or one an image, (n,).  Each seed draws with its
    own of the ``rngs``.  Without these there are 2n images, each first in the colour +1 and then in the
    colour -1, and each counts for both labels as likely as they are: the mean over all draws.  Raises
    ``ValueError`` for other shapes and labels, probabilities outside [0, 1], and not one generator a seed.

    Example: the colour says the label with probability 0.8.

    >>> sure = colour_images([[[0.5]]], [[1]], 0.2, label_noise=0.0)
    >>> sure.colours.tolist(), sure.chances.tolist()
    ([[1.0, -1.0]], [[[0.8, 0.2]], [[0.0, 0.0]]])
    """
    shapes = numbers("images", images)
    if shapes.ndim != 3 or not shapes.size:
        raise ValueError(f"images has shape {shapes.shape}, allowed: (seeds, n, pixels), none of them 0")
    seeds, n, _ = shapes.shape
    clean = signs("labels", labels, (seeds, n))
    flips = numbers("colour_noise", colour_noise, 0, 1, "[]")
    if flips.shape not in ((), (n,)):
        raise ValueError(f"colour_noise has shape {flips.shape}, allowed: () and {(n,)}")
    noise = number("label_noise", label_noise, 0, 1, "[]")
    if rngs is None:
        colours = np.repeat([[1.0, -1.0]], n, axis=1).repeat(seeds, axis=0)
        both, twice = np.tile(clean, 2), np.tile(np.broadcast_to(flips, n), 2)
        chances = [
            np.where(both == label, 1 - noise, noise) * np.where(colours == label, 1 - twice, twice)
            for label in (1, -1)
        ]
        shapes = np.tile(shapes, (1, 2, 1))
    else:
        if not isinstance(rngs, Sequence) or len(rngs) != seeds:
            raise ValueError(f"rngs is {rngs!r}, allowed: {seeds} generators, one a seed")
        draws = np.stack([generator("rngs", rng).random((2, n)) for rng in rngs], axis=1)
        drawn = clean * np.where(draws[0] < noise, -1, 1)
        colours = drawn * np.where(draws[1] < flips, -1, 1)
        chances = [drawn > 0, drawn < 0]
    parts = (shapes, colours, np.stack(chances).astype(float))
    return ColouredImages(*(torch.from_numpy(np.ascontiguousarray(part)) for part in parts))
