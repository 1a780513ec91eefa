"""Five theories beside training as it is usually done, nothing fitted [ours].

Starts are those of ``torch.nn.Linear``, with biases; in the formulas a bias is the weight of one more input,
which is 1.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.datasets import load_breast_cancer

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.checks import choice
from lib.data.digits import all_digits
from lib.geometry.patterns import cosine
from lib.models.mlps import MlpBatch, draw_mlps, seed_generators
from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.ensembles import train
from lib.training.losses import LOGISTIC
from lib.training.objectives import cross_entropy, spectral_decoupling

DIGITS = {"3 or 8": ((3,), (8,)), "below five": (range(5), range(5, 10))}
Layers = tuple[np.ndarray, np.ndarray, float]  # weights and biases (m, d + 1), output weights (m,) and bias


@dataclass(frozen=True)
class Ordinary:
    """Data, networks and training.

    A task is "3 or 8" or "below five" of scikit-learn's digits, or its "cancer".  Each of ``networks`` draws
    its start and its examples, ``trained_on`` and ``held_out``.  It is trained by batches of ``batch`` for
    ``steps``, by descent with ``step`` or by Adam with ``adam``, with spectral decoupling of ``strength``
    too.  The square loss has half as many examples as inputs, and a fifth of ``step``.  ``level`` is the loss
    at which a task counts as fitted.
    """

    tasks: tuple[str, ...] = ("3 or 8", "cancer", "below five")
    widths: tuple[int, ...] = (20, 100, 500)
    networks: int = 10
    trained_on: int = 240
    held_out: int = 110
    batch: int = 32
    step: float = 0.1
    adam: float = 1e-3
    steps: int = 1000
    strength: float = 0.1
    level: float = 0.1


def data(config: Ordinary, task: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (networks, n, d + 1), the last of which is 1, and labels (networks, n); held out come last."""
    if choice("tasks", task, ("cancer", *DIGITS)) == "cancer":
        x, y = load_breast_cancer(return_X_y=True)
        x, y = (x - x.mean(axis=0)) / x.std(axis=0), 2.0 * y - 1
    else:
        images, digits, top = all_digits("digits")
        chosen = np.isin(digits, [*DIGITS[task][0], *DIGITS[task][1]])
        x = images[chosen].reshape(-1, 64) / top
        x, y = x - x.mean(axis=0), np.where(np.isin(digits[chosen], DIGITS[task][0]), 1.0, -1.0)
    rng, n = np.random.default_rng(seed), config.trained_on + config.held_out
    order = np.array([rng.permutation(len(y))[:n] for _ in range(config.networks)])
    return np.column_stack([x, np.ones(len(y))])[order], y[order]


def two_neurons(start: Layers, x: np.ndarray, y: np.ndarray) -> TwoLayer:
    """The two neurons with the sizes that an early phase alone gives the classes, and their directions.

    While outputs are negligible every neuron moves alone; it is followed until it has grown by e^10.
    """
    w, a, _ = start
    z = y[:, None] * x / (2 * len(y))
    h, moves = 0.1 / max(np.linalg.norm(z[y == sign].sum(axis=0)) for sign in (1, -1)), 100
    for _ in range(moves):  # the midpoint rule
        g = (x @ w.T > 0).T @ z
        middle_w, middle_a = w + h / 2 * a[:, None] * g, a + h / 2 * (w * g).sum(axis=1)
        g = (x @ middle_w.T > 0).T @ z
        w, a = w + h * middle_a[:, None] * g, a + h * (middle_w * g).sum(axis=1)
    pair, steps = [], h * np.linalg.norm((x @ w.T > 0).T @ z, axis=1)
    for own in (a > 0, a < 0):
        total, step = np.abs(a[own]) @ w[own], np.average(steps[own], weights=a[own] ** 2)
        grown = (1 + step + step**2 / 2) ** moves  # as by the midpoint rule
        pair.append(total / np.sqrt(np.linalg.norm(total)) / grown)
    return TwoLayer.balanced(pair, [1.0, -1.0])


def frozen(start: Layers, x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Outputs (times, n) of the flow with the tangent features of the start; y are labels of the first x."""
    w, a, bias = start
    z, n = x @ w.T, len(y)
    slopes, values = (z > 0) * a, np.maximum(z, 0)
    kernel = (slopes @ slopes[:n].T) * (x @ x[:n].T) + values @ values[:n].T + 1

    def pull(_: float, moved: np.ndarray) -> np.ndarray:
        return y * expit(-y * (values[:n] @ a + bias + kernel[:n] @ moved)) / n

    run = solve_ivp(pull, (0, times[-1]), np.zeros(n), t_eval=times, rtol=1e-4, atol=1e-6)
    return values @ a + bias + run.y.T @ kernel.T


def directions(now: Layers, x: np.ndarray, pair: np.ndarray) -> list[float]:
    """Cosines of neurons with those two, by mass, and of sums; agreement, by mass."""
    w, a, _ = now
    masses, cosines, sums, agree = np.abs(a) * np.linalg.norm(w, axis=1), 0.0, [], []
    for own, neuron in zip((a > 0, a < 0), pair, strict=True):
        cosines += masses[own] @ cosine(w[own], neuron) / masses.sum()
        sums.append(cosine(np.abs(a[own]) @ w[own], neuron))
        share = masses[own] @ (w[own] @ x.T > 0) / masses[own].sum()
        agree.append((share**2 + (1 - share) ** 2).mean())
    return [cosines, np.mean(sums), np.mean(agree)]


def _trained(
    config: Ordinary, start: MlpBatch, x: np.ndarray, y: np.ndarray, seed: int, way: str, **given: Any
) -> tuple[np.ndarray, list[list[Layers]]]:
    """The steps at which was recorded, and the layers then, (records, networks)."""
    options = {"objective": cross_entropy, "step": config.step, **given}
    adam, sgd = partial(torch.optim.Adam, lr=config.adam), partial(torch.optim.SGD, lr=options["step"])
    run = train(
        start,
        torch.tensor(x[..., :-1], dtype=torch.float32),
        torch.tensor(y),
        objective=options["objective"],
        optimiser=adam if way == "adam" else sgd,
        steps=config.steps,
        batch_size=config.batch,
        generators=seed_generators(seed, config.networks),
        record=_layers,
        record_at=np.unique([0, *np.geomspace(1, config.steps, 60).astype(int)]),
    )
    return run.steps, [*run.recorded]


def _layers(network: Any) -> list[Layers]:
    weights, biases = (
        [layer.detach().numpy() for layer in kind] for kind in (network.weights, network.biases)
    )
    w = np.concatenate([weights[0], biases[0]], axis=1).swapaxes(1, 2)
    return [(w[k], weights[1][k, :, 0].copy(), float(biases[1][k, 0, 0])) for k in range(len(w))]


def outputs(now: Layers, x: np.ndarray) -> np.ndarray:
    """Outputs (n,) of a network of these layers."""
    return np.maximum(x @ now[0].T, 0) @ now[1] + now[2]


def at_level(times: np.ndarray, f: np.ndarray, y: np.ndarray, level: float) -> tuple[float, np.ndarray]:
    """The first time of the level, 0 for never, and outputs (n,) then or at the end; f, y as in `frozen`."""
    losses = LOGISTIC.value(f[:, : len(y)], y).mean(axis=1)
    if losses.min() > level:
        return 0.0, f[-1]
    k = max(1, int(np.argmax(losses <= level)))
    share = np.log(losses[k - 1] / level) / np.log(losses[k - 1] / losses[k])
    clock = (1 - share) * np.log1p(times[k - 1]) + share * np.log1p(times[k])
    return float(np.expm1(clock)), (1 - share) * f[k - 1] + share * f[k]


def least_norm(x: np.ndarray, y: np.ndarray) -> float:
    """The norm of two neurons, each one on its class and zero on the other; the least is not above it."""
    total = 0.0
    for sign in (1, -1):
        w = cp.Variable(x.shape[1])
        constraints = [x[y == sign] @ w == 1, x[y != sign] @ w <= 0]
        total += cp.Problem(cp.Minimize(cp.norm(w)), constraints).solve()
    return total


def _square(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return (logits - labels).square().mean(dim=-1) / 2


def _compared(config: Ordinary, task: str, m: int, seed: int) -> dict:
    (all_x, all_y), n = data(config, task, seed), config.trained_on
    few = all_x.shape[-1] // 2
    draws = seed_generators(seed, config.networks)
    start = draw_mlps((all_x.shape[-1] - 1, m, 1), draws, dtype=torch.float32)
    fits = all_x[:, :n], all_y[:, :n]
    decoupling = spectral_decoupling(config.strength)
    margin = brentq(lambda q: expit(-q) - config.strength * q, 0, 1 / config.strength)
    runs = {}
    for way in ("sgd", "adam"):
        trained = partial(_trained, config, start, seed=seed, way=way)
        interpolated = trained(all_x[:, :few], all_y[:, :few], objective=_square, step=config.step / 5)
        runs[way] = trained(*fits), trained(*fits, objective=decoupling), interpolated
    comparison: dict = {}

    def add(name: str, value: Any) -> None:
        comparison.setdefault(name, []).append(float(value))

    for k, first in enumerate(_layers(start)):
        x, y, flow = all_x[k], all_y[k, :n], np.geomspace(config.step, 10 * config.step * config.steps, 90)
        pair = two_neurons(first, x[:n], y)
        descent = gradient_descent(
            *(pair, x[:n], y, LOGISTIC),
            step=config.step,
            steps=config.steps,
            record=partial(TwoLayer.__call__, inputs=x),
            record_at=runs["sgd"][0][0],
        )
        theories = {
            "two": (config.step * descent.steps, np.array(descent.recorded)),
            "frozen": (flow, frozen(first, x, y, flow)),
        }
        foretold = {name: at_level(*path, y, config.level) for name, path in theories.items()}
        for name, (time, _) in foretold.items():
            add(f"{name}.time", time)
        for way, ((steps, run), (_, decoupled), (_, square)) in runs.items():
            seen = np.array([outputs(now[k], x) for now in run])
            losses = LOGISTIC.value(seen[:, :n], y).mean(axis=1)
            time, fitted = at_level(steps, seen, y, config.level)
            # If all examples had one logit, it would be 1/2, 1 and 2 at these losses.
            early, middle, late = (at_level(steps, seen, y, np.logaddexp(0, -u))[0] for u in (0.5, 1, 2))
            half, end = (run[j][k] for j in (int(np.argmax(losses <= losses[0] / 2)), -1))
            plane = x @ np.linalg.lstsq(x, seen[-1], rcond=None)[0]
            margins = y * outputs(decoupled[-1][k], x[:n]) / margin
            add(f"{way}.steps", time)
            for name, (_, other) in foretold.items():
                add(f"{way}.{name}", np.linalg.norm((fitted - other)[n:]) / np.linalg.norm(fitted[n:]))
            add(f"{way}.shape", (late - middle) / (middle - early) if late else 0.0)
            for name, value in zip(("neurons", "sums"), directions(half, x[:n], pair.w), strict=False):
                add(f"{way}.{name}", value)
            add(f"{way}.agree", directions(end, x[:n], pair.w)[2])
            add(f"{way}.straight", 1 - (seen[-1] - plane).var() / seen[-1].var())
            add(f"{way}.margin", margins.mean())
            add(f"{way}.spread", margins.std())
            last, few_x, few_y = square[-1][k], x[:few], y[:few]
            norms = np.abs(last[1]) * np.linalg.norm(last[0], axis=1)
            add(f"{way}.norm", norms.sum() / least_norm(few_x, few_y))
            add(f"{way}.missed", np.square(outputs(last, few_x) - few_y).mean())
    return comparison


def run_ordinary(config: Ordinary, seed: int, device: str = "cpu") -> dict:
    """Train and compare; return the metrics, by task and width, lists over the networks.

    ``two.time`` and ``frozen.time`` are the times to the level that two neurons and the tangent features of
    the start foretell.  For descent, as ``sgd.steps``, and Adam there are: the ``steps`` to it, the relative
    distances of held-out outputs from ``two`` and ``frozen`` at it; the ``shape``, the ratio of the times
    between the losses of logits 1/2, 1 and 2; `directions`, of ``neurons`` and ``sums`` at half the first
    loss, ``agree`` at the end; the share of the variance of outputs that is ``straight``; with spectral
    decoupling mean ``margin`` and ``spread``, over what all should be; and for the square loss the ``norm``,
    over `least_norm`, and the square that is ``missed``.
    """
    return {
        task: {f"{m}": rounded(_compared(config, task, m, seed)) for m in config.widths}
        for task in config.tasks
    }


ORDINARY = Experiment(
    "ordinary-training",
    "Five theories beside default starts, batches and Adam",
    full=Ordinary(),
    quick=Ordinary(tasks=("3 or 8",), widths=(20,), steps=200),
    metrics_of=run_ordinary,
    fingerprint_of=partial(
        replace, tasks=("3 or 8",), widths=(20,), networks=2, trained_on=90, steps=150, level=0.4
    ),
    devices=("cpu",),
)
