"""Objectives of torch networks: slopes in closed form, one number a seed."""

import numpy as np
import pytest
import torch

from lib.training.losses import LOGISTIC
from lib.training.objectives import cross_entropy, spectral_decoupling

RNG = np.random.default_rng(0)
LOGITS, LABELS = 2 * RNG.standard_normal((3, 40)), RNG.choice([-1.0, 1.0], (3, 40))


def value_and_slope(objective):
    logits = torch.tensor(LOGITS, requires_grad=True)
    values = objective(logits, torch.tensor(LABELS))
    return values.detach(), torch.autograd.grad(values.sum(), logits)[0]


def test_cross_entropy_is_the_mean_logistic_loss():
    value, slope = value_and_slope(cross_entropy)
    np.testing.assert_allclose(value, LOGISTIC.value(LOGITS, LABELS).mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(slope, LOGISTIC.slope(LOGITS, LABELS) / 40, rtol=1e-12)


@pytest.mark.parametrize("strength", [0.3, 2.0])
def test_spectral_decoupling_pulls_every_logit_to_zero(strength):
    value, slope = value_and_slope(spectral_decoupling(strength))
    penalty = strength / 2 * np.square(LOGITS).mean(axis=1)
    np.testing.assert_allclose(value, LOGISTIC.value(LOGITS, LABELS).mean(axis=1) + penalty, rtol=1e-13)
    pull = LOGISTIC.slope(LOGITS, LABELS) + strength * LOGITS
    np.testing.assert_allclose(slope, pull / 40, rtol=1e-12, atol=1e-16)
