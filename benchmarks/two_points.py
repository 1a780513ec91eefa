"""The loss curve of boursier2022, Figures 2 and 3: closed form and event-driven flow against 20,000 steps."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import torch
from scipy.integrate import solve_ivp

from benchmarks.measure import Comparison
from lib.flow import gradient_flow
from lib.models.two_layer import Start
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import SQUARE

STEPS, STEP = 20_000, 1e-3
TIMES = 2 * STEP * np.arange(STEPS + 1)  # torch's MSE loss is twice ours, so its steps count twice
INPUTS, LABELS = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
START = Start.gaussian(60, 2, np.log(1e-6 / np.sqrt(60)), rng=np.random.default_rng(0))


def closed_form() -> np.ndarray:
    return two_plateaus(START, INPUTS, LABELS).loss(TIMES)


def flow(rtol: float = 1e-10) -> np.ndarray:
    """The loss at every twentieth step, enough for any figure."""
    run = gradient_flow(START, INPUTS, LABELS, SQUARE, until=TIMES[-1], rtol=rtol)
    return run.loss(TIMES[::20])


def weights() -> tuple[np.ndarray, np.ndarray]:
    network = START.network()
    return network.w, network.a


def plain() -> np.ndarray:
    w, a = (torch.tensor(value, requires_grad=True) for value in weights())
    inputs, labels = torch.tensor(INPUTS), torch.tensor(LABELS)
    optimiser = torch.optim.SGD([w, a], lr=STEP)
    losses = []
    for _ in range(STEPS):
        loss = torch.nn.functional.mse_loss(torch.relu(inputs @ w.T) @ a, labels)
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    losses.append(torch.nn.functional.mse_loss(torch.relu(inputs @ w.T) @ a, labels).item())
    return np.array(losses) / 2


@cache
def reference() -> np.ndarray:
    """The flow of the weights themselves by scipy, with steps that shrink at the kinks."""
    w, a = weights()

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        w, a = state[:w_size].reshape(-1, 2), state[w_size:]
        z = w @ INPUTS.T
        residual = (LABELS - a @ np.maximum(z, 0)) / 2
        return np.concatenate(
            [((a[:, None] * (z > 0) * residual) @ INPUTS).ravel(), np.maximum(z, 0) @ residual]
        )

    w_size = w.size
    start = np.concatenate([w.ravel(), a])
    solution = solve_ivp(
        velocity, (0, TIMES[-1]), start, method="DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-19
    )
    w, a = solution.y[:w_size].T.reshape(len(TIMES), -1, 2), solution.y[w_size:].T
    outputs = np.einsum("tm,tmn->tn", a, np.maximum(w @ INPUTS.T, 0))
    return SQUARE.value(outputs, LABELS).mean(axis=1)


def error(losses: np.ndarray) -> float:
    every = STEPS // (len(losses) - 1)
    return float(np.abs(losses - reference()[::every]).max())


against_steps = partial(
    Comparison[np.ndarray],
    plain=plain,
    plain_title="20,000 steps of gradient descent in torch",
    error=error,
    error_of="loss, largest difference over the run",
    goal="at least 50, hoped for 200",
    needed=50,
)
by_closed_form = against_steps(title="Two-point flow, closed form", ours=closed_form)
by_flow = against_steps(title="Two-point flow, event-driven", ours=flow)
by_loose_flow = against_steps(title="Two-point flow, event-driven, tolerance 1e-5", ours=partial(flow, 1e-5))
