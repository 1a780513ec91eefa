"""Ten networks on two moons trained in one batch, against one after another with torch's own layers."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import torch
from scipy.special import expit

from benchmarks.measure import Comparison
from lib.data.synthetic import two_moons_with_gap
from lib.models.mlps import draw_mlps, seed_generators
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

SEEDS, EXAMPLES, WIDTH, STEPS = 10, 100, 100, 200
STEP, MOMENTUM, DECAY = 0.1, 0.9, 2e-4
NETWORKS = draw_mlps((2, WIDTH, 1), seed_generators(0, SEEDS))
DRAWS = [two_moons_with_gap(EXAMPLES, 0.1, rng=np.random.default_rng(k)) for k in range(SEEDS)]
INPUTS, LABELS = (torch.tensor(np.stack(parts)) for parts in zip(*DRAWS, strict=True))


def ours() -> np.ndarray:
    """The logits (seeds, n) after training."""
    optimiser = partial(torch.optim.SGD, lr=STEP, momentum=MOMENTUM, weight_decay=DECAY)
    done = train(NETWORKS, INPUTS, LABELS, objective=cross_entropy, optimiser=optimiser, steps=STEPS)
    with torch.no_grad():
        return done.network(INPUTS).numpy()


def plain_network(k: int) -> torch.nn.Sequential:
    layers = [torch.nn.Linear(2, WIDTH, dtype=torch.float64), torch.nn.Linear(WIDTH, 1, dtype=torch.float64)]
    for layer, weight, bias in zip(layers, NETWORKS.weights, NETWORKS.biases, strict=True):
        layer.weight.data, layer.bias.data = weight[k].T.detach().clone(), bias[k, 0].detach().clone()
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1])


def plain() -> np.ndarray:
    logits = []
    for k in range(SEEDS):
        network = plain_network(k)
        optimiser = torch.optim.SGD(network.parameters(), lr=STEP, momentum=MOMENTUM, weight_decay=DECAY)
        for _ in range(STEPS):
            optimiser.zero_grad()
            loss = torch.nn.functional.softplus(-LABELS[k] * network(INPUTS[k])[:, 0]).mean()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            logits.append(network(INPUTS[k])[:, 0].numpy())
    return np.array(logits)


@cache
def reference() -> np.ndarray:
    """The same training with the gradient written out, in NumPy's longest floats."""
    logits = []
    for k in range(SEEDS):
        (w1, w2), (b1, b2) = (
            [value[k].detach().numpy().astype(np.longdouble) for value in part]
            for part in (NETWORKS.weights, NETWORKS.biases)
        )
        parameters = [w1, b1, w2, b2]
        velocity = [np.zeros_like(value) for value in parameters]
        x, y = INPUTS[k].numpy().astype(np.longdouble), LABELS[k].numpy()[:, None].astype(np.longdouble)
        for step in range(STEPS + 1):
            w1, b1, w2, b2 = parameters
            z = x @ w1 + b1
            hidden = np.maximum(z, 0)
            output = hidden @ w2 + b2
            if step == STEPS:
                break
            pull = -y * expit(-y * output) / EXAMPLES
            below = (pull @ w2.T) * (z > 0)
            gradients = [
                x.T @ below,
                below.sum(0, keepdims=True),
                hidden.T @ pull,
                pull.sum(0, keepdims=True),
            ]
            for i, gradient in enumerate(gradients):
                velocity[i] = MOMENTUM * velocity[i] + gradient + DECAY * parameters[i]
                parameters[i] = parameters[i] - STEP * velocity[i]
        logits.append(output[:, 0])
    return np.array(logits)


def error(logits: np.ndarray) -> float:
    return float(np.abs(logits - reference()).max())


ten_seeds = Comparison(
    title="Ten networks in one batch",
    plain_title="one after another, torch's own layers and optimiser",
    ours=ours,
    plain=plain,
    error=error,
    error_of="logits after training, largest difference",
    goal="at least 5",
    needed=5,
    sound=1e-10,
    plain_rounds=6,
)
