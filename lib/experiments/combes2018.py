"""Brightness that reveals the class, and what a network then learns of the shape [combes2018, Table 2]."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score
from torch import nn

from lib.data.digits import digits_pair
from lib.experiments.registry import Experiment, register
from lib.training.descent import Run
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

DARK, BRIGHT = 0, 128  # where the 128 levels begin to which the light reduces the 256
PAIRS = tuple(combinations(range(10), 2))
PART = 500  # images that a network sees at once, so that large sets fit into memory
VGG16 = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)


@dataclass(frozen=True)
class LightEffect:
    """Images, network and training of the experiment; the defaults are the paper's where it says them.

    ``images`` are the reader's "cats-dogs", scaled to a square of ``side`` pixels, or two digits of what
    :func:`lib.data.digits.digits_pair` reads: the seeds 0 and 1, 2 and 3 and so on have a pair each, and
    differ in which of the two is bright.  ``per_class`` images of each class are used, as many as there are
    of the rarer one if ``None``, and of these the share ``test_share`` to test.  A network is
    trained for each of ``lit``, the share of the training images with the light.  It has ``blocks`` of
    convolutions by 3 x 3 with so many channels, each followed by a maximum over 2 x 2, and ``dense`` hidden
    layers; Adam trains it with ``step`` and ``betas`` on batches of ``batch`` images for ``epochs``.  The
    paper does not say side, share, batch and epochs.
    """

    images: str = "cats-dogs"
    side: int = 64
    per_class: int | None = None
    test_share: float = 0.2
    lit: tuple[float, ...] = (1.0, 0.0)
    blocks: tuple[tuple[int, ...], ...] = VGG16
    dense: tuple[int, ...] = (4096, 4096)
    step: float = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    batch: int = 32
    epochs: int = 20


class _Vgg(nn.Module):
    """A network like VGG, of one seed: inputs (n, pixels), levels from 0 to 1, to logits (1, n)."""

    def __init__(self, config: LightEffect, shape: tuple[int, ...], generator: torch.Generator) -> None:
        super().__init__()
        channels, side, _ = shape
        layers: list[nn.Module] = [nn.Unflatten(1, shape)]
        for block in config.blocks:
            for before, after in pairwise((channels, *block)):
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2))
            channels, side = block[-1], side // 2
        layers.append(nn.Flatten())
        for before, after in pairwise((channels * side**2, *config.dense, 1)):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        for weight in self.parameters():
            if weight.ndim == 1:
                nn.init.zeros_(weight)
            else:
                nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        levels = inputs.reshape(-1, inputs.shape[-1]) - 0.5
        return torch.cat([self.layers(part) for part in levels.split(PART)]).T


def _read(
    config: LightEffect, seed: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Images as bytes (n, channels, side, side), labels +1 and -1 in turn (n,), and what these show."""
    if config.images == "cats-dogs":
        files, labels = _cats_and_dogs()
        chosen = _balanced(labels, config.per_class, rng)
        pictures = (Image.open(files[k]).convert("RGB").resize((config.side,) * 2) for k in chosen)
        levels = np.stack([np.asarray(picture).transpose(2, 0, 1) for picture in pictures])
        return levels, labels[chosen], ("dog", "cat")
    order = np.random.default_rng(0).permutation(len(PAIRS))
    positive, negative = PAIRS[order[seed // 2 % len(PAIRS)]][:: 1 if seed % 2 == 0 else -1]
    inputs, labels = digits_pair(positive, negative, images=config.images, centred=False)
    chosen = _balanced(labels, config.per_class, rng)
    levels, side = np.round(255 * inputs[chosen]).astype(np.uint8), round(inputs.shape[1] ** 0.5)
    return levels.reshape(-1, 1, side, side), labels[chosen], (str(positive), str(negative))


def _cats_and_dogs() -> tuple[list[Path], np.ndarray]:
    """The files of Kaggle's cats and dogs, and labels: +1 for dogs, -1 for cats [combes2018, App. E.2]."""
    folder = os.environ.get("LEARNING_DYNAMICS_CATS_DOGS")
    cats, dogs = (
        sorted(path for pattern in patterns for path in Path(folder).glob(pattern)) if folder else []
        for patterns in (("cat.*.jpg", "Cat/*.jpg"), ("dog.*.jpg", "Dog/*.jpg"))
    )
    if not (cats and dogs):
        raise FileNotFoundError(
            f"no cats or no dogs in {folder!r}: set LEARNING_DYNAMICS_CATS_DOGS to a folder with cat.0.jpg,"
            " dog.0.jpg and so on, or with folders Cat and Dog with 0.jpg and so on"
        )
    return cats + dogs, np.repeat([-1.0, 1.0], [len(cats), len(dogs)])


def _balanced(labels: np.ndarray, per_class: int | None, rng: np.random.Generator) -> np.ndarray:
    """The places of as many images of each class, the classes in turn."""
    places = [rng.permutation(np.flatnonzero(labels == sign)) for sign in (1, -1)]
    each = per_class or min(map(len, places))
    return np.column_stack([place[:each] for place in places]).ravel()


def _with_light(levels: np.ndarray, begins: np.ndarray) -> torch.Tensor:
    """Images whose levels are reduced to 128, from ``begins`` on, as numbers from 0 to 1; NaN leaves one."""
    begins = begins.astype(np.float32)[:, None]
    reduced = begins + levels * np.float32(127 / 255)
    return torch.from_numpy(np.where(np.isnan(begins), levels, reduced) / np.float32(255))


def _one(config: LightEffect, seed: int, device: str) -> dict:
    """The metrics of one seed."""
    rng = np.random.default_rng(seed)
    images, signs, names = _read(config, seed, rng)
    levels, own = images.reshape(len(images), -1), np.where(signs > 0, BRIGHT, DARK).astype(float)
    lights = {"modified": own, "real": own + np.nan, "swapped": BRIGHT + DARK - own}
    tested = 2 * round(config.test_share * len(own) / 2)
    labels = torch.tensor(signs, dtype=torch.float32, device=device)
    tests = {
        name: (_with_light(levels[:tested], begins[:tested]).to(device), labels[:tested])
        for name, begins in lights.items()
    }
    start = _Vgg(config, images.shape[1:], torch.Generator().manual_seed(seed)).to(device)
    draws = rng.random(len(own) - tested)
    brightness = levels[:tested].mean(axis=1)
    metrics: dict = {
        "classes": list(names),
        "examples": [len(draws), tested],
        "area_of_brightness": float(roc_auc_score(signs[:tested], brightness)),
    }
    for share in config.lit:
        begins = np.where(draws < share, own[tested:], np.nan)
        sets = {"training": (_with_light(levels[tested:], begins).to(device), labels[tested:]), **tests}
        run = _trained(config, seed, start, list(sets.values()))
        with torch.no_grad():
            logits = run.network(tests["real"][0])[0].double().cpu().numpy()
        curves = dict(zip(sets, np.transpose(run.recorded).round(4).tolist(), strict=True))
        metrics[f"lit_{100 * share:g}"] = {
            **{name: curve[-1] for name, curve in curves.items()},
            "called_bright": float((logits > 0).mean()),
            "area_under_curve": float(roc_auc_score(signs[:tested], logits)),
            "curves": curves,
        }
    return metrics


def _trained(
    config: LightEffect, seed: int, start: _Vgg, sets: Sequence[tuple[torch.Tensor, torch.Tensor]]
) -> Run:
    """Train on the first of the sets of images and labels; record the accuracy on each after every epoch."""
    inputs, labels = sets[0]
    passes = -(-len(labels) // config.batch)
    return train(
        start,
        inputs,
        labels,
        objective=cross_entropy,
        optimiser=partial(torch.optim.Adam, lr=config.step, betas=config.betas),
        steps=config.epochs * passes,
        batch_size=config.batch,
        generators=[torch.Generator().manual_seed(seed)],
        record=lambda network: [float((y * network(x)[0] > 0).double().mean()) for x, y in sets],
        record_at=range(0, config.epochs * passes + 1, passes),
    )


def run_light_effect(config: LightEffect, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train on images one class of which is bright and the other dark, and return each seed's metrics.

    A bright image has its levels reduced to 128 to 255, a dark one to 0 to 127.  For each share of training
    images with this light, ``lit_100`` say, from the same start, there are the accuracies on the ``training``
    images and on those to test: ``modified`` as the bright and dark ones, ``real``, as they are, and
    ``swapped``, with the light of the other class; at the end, and as ``curves`` after each epoch from 0 on.
    ``called_bright`` is the share of real images taken for the bright class, ``area_under_curve`` the chance
    that the logit of a real image of the bright class exceeds that of the other, ``area_of_brightness`` the
    same chance for the mean level.  ``classes`` are the bright and the dark one, ``examples`` the numbers of
    images to train and to test.  Cats and dogs are in the folder that the environment variable
    ``LEARNING_DYNAMICS_CATS_DOGS`` names, ``cat.0.jpg``, ``dog.0.jpg`` and so on, or in subfolders ``Cat``
    and ``Dog`` with ``0.jpg`` and so on.
    """
    return [_one(config, seed, device) for seed in seeds]


_SHARES = (1.0, 0.9, 0.0)
register(
    Experiment(
        "combes2018-table-2",
        "Cats and dogs, one class darkened, the other brightened: what is learnt beside the brightness",
        full=LightEffect(),
        quick=LightEffect(
            images="digits", lit=_SHARES, blocks=((8,), (16,)), dense=(64,), step=2e-3, epochs=6
        ),
        run=run_light_effect,
        fingerprint_of=partial(
            replace,
            images="stand-in",
            per_class=50,
            test_share=0.5,
            blocks=((4, 4), (8, 8), (8, 8)),
            dense=(16, 16),
            step=2e-3,
            epochs=4,
        ),
        variants={
            "test-split": LightEffect(
                images="test", lit=_SHARES, blocks=((8, 8), (16, 16), (32, 32)), dense=(128, 128), epochs=8
            ),
        },
    )
)
