"""Brightness that reveals the class, and what a network then learns of the shape [combes2018, Table 2]."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from experiments.convolutional import Convolutional
from experiments.lit_images import BRIGHT, DARK, read_images, with_light
from experiments.registry import Experiment
from lib.training.descent import TrainingRun
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

VGG16 = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)


@dataclass(frozen=True)
class LightEffect:
    """Images, network and training of the experiment; the defaults are the paper's where it says them.

    ``images``, ``side`` and ``per_class`` are those of :func:`experiments.lit_images.read_images`; of the
    images the share ``test_share`` is to test.  A network is trained for each of ``lit``, the share of the
    training images with the light, with the ``blocks`` and ``dense`` layers of
    :class:`experiments.convolutional.Convolutional`; Adam trains it with ``step`` and ``betas`` on batches of
    ``batch`` images for ``epochs``.  The paper does not say side, share, batch and epochs.
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


def run_light_effect(config: LightEffect, seed: int, device: str = "cpu") -> dict:
    """Train on images one class of which is bright and the other dark, and return the metrics of a seed.

    A bright image has its levels reduced to 128 to 255, a dark one to 0 to 127.  For each share of training
    images with this light, ``lit_100`` say, from the same start, there are the accuracies on the ``training``
    images and on those to test: ``modified`` as the bright and dark ones, ``real``, as they are, and
    ``swapped``, with the light of the other class; at the end, and as ``curves`` after each epoch from 0 on.
    ``called_bright`` is the share of real images taken for the bright class, ``area_under_curve`` the chance
    that the logit of a real image of the bright class exceeds that of the other, ``area_of_brightness`` the
    same chance for the mean level.  ``classes`` are the bright and the dark one, ``examples`` the numbers of
    images to train and to test.
    """
    rng = np.random.default_rng(seed)
    images, signs, names = read_images(config.images, config.side, config.per_class, seed, rng)
    levels, own = images.reshape(len(images), -1), np.where(signs > 0, BRIGHT, DARK).astype(float)
    lights = {"modified": own, "real": own + np.nan, "swapped": BRIGHT + DARK - own}
    tested = 2 * round(config.test_share * len(own) / 2)
    labels = torch.tensor(signs, dtype=torch.float32, device=device)
    tests = {
        name: (with_light(levels[:tested], begins[:tested]).to(device), labels[:tested])
        for name, begins in lights.items()
    }
    generator = torch.Generator().manual_seed(seed)
    start = Convolutional(images.shape[1:], config.blocks, config.dense, generator).to(device)
    draws = rng.random(len(own) - tested)
    metrics: dict = {
        "classes": list(names),
        "examples": [len(draws), tested],
        "area_of_brightness": float(roc_auc_score(signs[:tested], levels[:tested].mean(axis=1))),
    }
    for share in config.lit:
        begins = np.where(draws < share, own[tested:], np.nan)
        sets = {"training": (with_light(levels[tested:], begins).to(device), labels[tested:]), **tests}
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
    config: LightEffect, seed: int, start: Convolutional, sets: Sequence[tuple[torch.Tensor, torch.Tensor]]
) -> TrainingRun:
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


_SHARES = (1.0, 0.9, 0.0)
TABLE_2 = Experiment(
    "combes2018-table-2",
    "Cats and dogs, one class darkened, the other brightened: what is learnt beside the brightness",
    full=LightEffect(),
    quick=LightEffect(images="digits", lit=_SHARES, blocks=(), dense=(64, 64), step=2e-3, epochs=8),
    metrics_of=run_light_effect,
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
