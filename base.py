import matplotlib; matplotlib.use('Agg')
from lib.claims import verify as _
from copy import deepcopy
from functools import partial
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.interpolate import interp1d
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_digits
from torch.nn.functional import softplus

from lib import figures
from lib.claims.verify import Variant, verify, verify_all
from lib.models.mlps import draw_mlps, gradient_function, seed_generators
def say(**k): print({a:float(b) for a,b in k.items()})
from lib.seeds import book_seed, generator
from lib.training.ensembles import train

figures.use_style()
torch.set_num_threads(1)
started = perf_counter()

AGREE = np.array([0.85, 0.75])  # of colour and shape with the label
CELLS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])  # who is right
ODDS = np.outer([0.85, 0.15], [0.75, 0.25]).ravel()
OPTIMUM = np.log(AGREE / (1 - AGREE))  # of cross-entropy


def slope(w, penalty, entropy=1.0):
    """The gradient of the objective in the two weights w = (a, b)."""
    margins = CELLS @ w
    return CELLS.T @ (ODDS * (penalty * margins - entropy * expit(-margins)))

def forget(kernel, times, entropy=1.0, start=OPTIMUM):
    """Weights (T, 2) along the flow of two cues, with a kernel or a function of time."""
    now = kernel if callable(kernel) else lambda _: kernel
    velocity = lambda t, w: -now(t) @ slope(w, 2.0, entropy)
    options = {"method": "LSODA", "rtol": 1e-7, "atol": 1e-9, "t_eval": times}
    return solve_ivp(velocity, (0, times[-1]), start, **options).y.T


SEEDS, N, TESTS, PALE = 10, 400, 400, 0.05
levels, digits = load_digits(return_X_y=True)
orders = np.array([generator(k).permutation(len(digits)) for k in range(SEEDS)])


def world(chosen, agree):
    """Inputs (seeds, 2n, 128), colours, shapes, and the odds of both labels."""
    n = chosen.shape[1]
    s = np.tile(np.where(digits[chosen] > 4, 1, -1), 2)
    c = np.repeat([[1, -1]], n, axis=1)
    x = np.tile(levels[chosen] / 16, (1, 2, 1))
    x = np.concatenate([x * (c > 0)[..., None], x * (c < 0)[..., None]], axis=-1)
    chance = lambda cue, y, agree: np.where(cue == y, agree, 1 - agree)
    odds = [chance(s, y, AGREE[1]) * chance(c, y, agree) / n for y in (1, -1)]
    return [torch.tensor(np.array(part)).float() for part in (x, c, s, odds)]


x, c, s, odds = world(orders[:, :N], AGREE[0])
x_test, _, _, odds_test = world(orders[:, N : N + TESTS], 0.1)
accuracy = lambda f: torch.where(f > 0, *odds_test).sum(-1).numpy()


def objective(penalty, entropy=1.0):
    """Of logits (seeds, 2n), one number a seed; the labels are in the odds."""
    return lambda f, _=None: (
        entropy * (odds[0] * softplus(-f) + odds[1] * softplus(f))
        + penalty / 2 * odds.sum(0) * f**2
    ).sum(-1)


def kernels(network):
    """The tangent kernels of colour and shape weight, (seeds, 2, 2)."""
    gradients = gradient_function(network)
    slopes = [gradients(x, lambda f: (f * cue).mean(-1))[1] for cue in (c, s)]
    rows = torch.stack([torch.cat([g.flatten(1) for g in each], 1) for each in slopes], 1)
    return (rows @ rows.mT).numpy().astype(float)


ratio = lambda kernel: kernel[:, 0, 0] / kernel[:, 1, 1]


def descend(network, penalty, entropy=1.0, end=12.0, watch=lambda _: 0):
    """Times, weights (T, 2, seeds), accuracies (T, seeds) and what is watched, of descent.

    The steps grow from 0.002 to 0.06; time is their sum.
    """
    network, time, found, watched = deepcopy(network), 0.0, [], []
    gradients = gradient_function(network)
    for count in range(10**6):
        if count % 3 == 0:
            with torch.no_grad():
                two = [(network(x) * cue).mean(-1).numpy() for cue in (c, s)]
                found.append((time, two, accuracy(network(x_test))))
            watched.append(watch(network))
        if time > end:
            return *map(np.array, zip(*found)), np.array(watched)
        step = min(max(0.08 * time, 0.002), 0.06)
        time += step
        slopes = gradients(x, objective(penalty, entropy))[1]
        with torch.no_grad():
            for w, g in zip(network.parameters(), slopes):
                w -= step * g


def fit(network):
    """The network after training by cross-entropy."""
    for pace, steps in ((0.005, 300), (0.001, 100)):
        adam = partial(torch.optim.Adam, lr=pace)
        network = train(
            network, x, s, objective=objective(0.0), optimiser=adam, steps=steps
        )
    return network.network


def predict(network, kernel, entropy=1.0):
    """Weights and accuracies as ``descend`` has them, from network and kernels at the switch."""
    f0 = network(x_test).detach()
    paths = np.stack([forget(one, clock, entropy) for one in kernel], axis=-1)
    shape_part = f0.unflatten(1, (2, TESTS)).mean(1).tile(2)
    scales = torch.tensor(paths / OPTIMUM[:, None]).float()[..., None]
    parts = (a * (f0 - shape_part) + b * shape_part for a, b in scales)
    return paths, np.array([accuracy(f) for f in parts])


draws = seed_generators(book_seed(50), SEEDS)
untrained = draw_mlps((128, 40, 1), draws, dtype=torch.float32, initialisation="xavier")
full, blend = (x, x_test), lambda x: (1 + PALE) / 2 * x + (1 - PALE) / 2 * x.roll(64, -1)
x, x_test = map(blend, full)  # for the pale colours
before = fit(untrained)
ratios_pale = ratio(kernel := kernels(before))
clock, weights_pale, right_pale, _ = descend(before, 2.0)
expected_pale = predict(before, kernel)[1]
x, x_test = full
before = fit(untrained)
kernel = kernels(before)
clock, weights, right, moving = descend(before, 2.0, watch=kernels)
_, decayed, right_decayed, _ = descend(before, 2.0, entropy=0.0)
theory, expected = predict(before, kernel)
expected_decayed = predict(before, kernel, 0.0)[1]


def fall(accuracies):
    """When each column falls through one half for good, at most the end of the run."""
    last = len(clock) - 1 - np.argmax(accuracies[::-1] > 0.5, axis=0)
    return np.where(accuracies.max(0) > 0.5, clock[last], 0.0)


prevails = lambda weights: (weights[:, 1] > weights[:, 0]).any(axis=0)
mean, foreseen = right.mean(1), expected.mean(1)
say(seeds=SEEDS, ratio_least=ratio(kernel).min(), ratio_most=ratio(kernel).max())
say(pale_least=ratios_pale.min(), pale_most=ratios_pale.max(), last=mean[-1])
say(pale_share=100 * prevails(weights_pale).mean(), pale_start=weights_pale[0, 0].mean())
say(pale_peak=right_pale.mean(1).max())
say(peak=mean.max(), peak_predicted=foreseen.max(), alone_peak=right_decayed.mean(1).max())
say(falls=fall(mean), falls_predicted=fall(foreseen), alone_last=right_decayed[-1].mean())
say(distance=np.sqrt(np.mean((mean - foreseen)[clock < 1] ** 2)))
