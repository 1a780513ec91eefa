"""Gradient flow of the mean logistic loss L in loss-rescaled time ``ds = L dt``, for given margins.

The loss of a separating network decays like 1/t, so plain time stretches without end.  In s the velocity
``dtheta/ds = sum_i |l'_i| grad q_i / sum_i l_i``, all from logarithms, is of order one for ever, at most
G, the length of the longest ``grad q_i``.  The time is carried along as ``u = G^2 t L``, which is of order
one as well: ``du/ds = G^2 - u |dtheta/ds|^2``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import BDF, OdeSolver, solve_ivp
from scipy.special import expit, logsumexp

from lib.checks import array, signs
from lib.flow.crossings import Crossing
from lib.flow.late import log_logistic
from lib.models.two_layer import TwoLayer

_SLACK = 1e-4  # absolute tolerance of u, at most
REACHED = "reached the last time asked for"


def checked_data(
    network: TwoLayer, inputs: ArrayLike, labels: ArrayLike, times: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs (n, d), labels (n,) and rescaled times (T,) for a network of shape (m, d) as floats.

    Raises ``ValueError`` naming the bad one.

    Example:

    >>> checked_data(TwoLayer([[1.0, 2.0]], [1.0]), [[0.0, 1.0]], [1], [0.0, 3.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: times falls from 3.0 to 2.0, allowed: increasing numbers
    """
    if not isinstance(network, TwoLayer) or network.w.ndim != 2 or not len(network.w):
        raise ValueError(f"network is {network!r}, allowed: one TwoLayer, with weights (m, d)")
    x = array("inputs", inputs, ("n", network.w.shape[1]))
    y, s = signs("labels", labels, (len(x),)), array("times", times, ("T",))
    if len(s) < 2:
        raise ValueError(f"times holds {s}, allowed: two or more numbers, the first is the start")
    if (falls := np.flatnonzero(np.diff(s) <= 0)).size:
        raise ValueError(f"times falls from {s[falls[0]]} to {s[falls[0] + 1]}, allowed: increasing numbers")
    return x, y, s


def steepness(network: TwoLayer, inputs: np.ndarray) -> float:
    """Return the bound ``|a| max_i |x_i|`` on the gradients of a network's outputs in w, or 1 if it is zero.

    Example:

    >>> steepness(TwoLayer([[1.0, 0.0], [0.0, 1.0]], [3.0, -4.0]), np.array([[0.0, 2.0]]))
    10.0
    """
    return float(np.linalg.norm(network.a) * np.linalg.norm(inputs, axis=1).max()) or 1.0


def loss_weights(margins: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ``|l'_i| / sum_j l_j`` (n,) and ``log L``, for margins (n,) of any size.

    Example:

    >>> weights, log_loss = loss_weights(np.array([1e8, 1e8 + 1]))
    >>> weights.round(6), round(log_loss + 1e8, 6)
    (array([0.731059, 0.268941]), -0.379885)
    """
    total = float(logsumexp(log_logistic(margins)))
    return np.exp(-np.logaddexp(0, margins) - total), total - float(np.log(len(margins)))


class CleanBDF(BDF):
    """SciPy's BDF with zeros where its table of differences is not yet in use.

    SciPy leaves arbitrary memory there and computes with it, which changes no result but can warn.

    Example:

    >>> solver = CleanBDF(lambda t, state: -state, 0.0, np.ones(1), 1.0)
    >>> solver.D[2:].any()
    np.False_
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.D[2:] = 0


class LossTimePath(NamedTuple):
    """A computed flow: times ``s`` (T,), parameters ``theta`` (T, size) and ``log_time = log(1 + t)`` (T,).

    ``stopped`` says why it ends, ``calls`` counts evaluations of the velocity.

    Example:

    >>> LossTimePath(np.zeros(1), np.zeros((1, 2)), np.zeros(1), REACHED, calls=0).theta.shape
    (1, 2)
    """

    s: np.ndarray
    theta: np.ndarray
    log_time: np.ndarray
    stopped: str
    calls: int


@dataclass(frozen=True)
class LossTimeFlow:
    """The flow of parameters theta (size,) whose margins are given; a state is theta, then u.

    ``margins(theta)`` returns the margins (n,) and their gradients (n, size); ``bending(theta, weights)`` the
    second derivative (size, size) of the sum of ``weights`` (n,) times margins, and is left out where margins
    are linear.  ``steepest`` bounds the lengths of the gradients.

    Example: one margin, ``q = theta``.  In plain time ``exp(q) + q`` grows by one a unit of time.

    >>> flow = LossTimeFlow(lambda theta: (theta, np.eye(1)), steepest=1.0)
    >>> path = flow.solve(np.zeros(1), np.array([0.0, 1.0, 1e8]), CleanBDF, rtol=1e-9, atol=1e-12)
    >>> (np.exp(path.theta[1]) + path.theta[1] - 1 - np.expm1(path.log_time[1])).round(6)
    array([0.])
    >>> (path.log_time[2] / path.theta[2]).round(6)
    array([1.])
    """

    margins: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    steepest: float
    bending: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def velocity(self, _s: float, state: np.ndarray) -> np.ndarray:
        margins, gradients = self.margins(state[:-1])
        velocity = loss_weights(margins)[0] @ gradients
        return np.append(velocity, self.steepest**2 - state[-1] * (velocity @ velocity))

    def jacobian(self, _s: float, state: np.ndarray) -> np.ndarray:
        """Return the derivatives (size + 1, size + 1) of `velocity` in the state."""
        margins, gradients = self.margins(state[:-1])
        weights, _ = loss_weights(margins)
        velocity = weights @ gradients
        slopes = np.outer(weights, weights) - np.diag(weights * expit(margins))
        block = gradients.T @ slopes @ gradients
        if self.bending is not None:
            block += self.bending(state[:-1], weights)
        corner = np.full((1, 1), -velocity @ velocity)
        return np.block(
            [[block, np.zeros((len(block), 1))], [-2 * state[-1] * (velocity @ block)[None], corner]]
        )

    def solve(
        self,
        start: np.ndarray,
        times: np.ndarray,
        method: str | type[OdeSolver],
        event: Crossing | None = None,
        event_means: str = "",
        *,
        rtol: float,
        atol: float,
    ) -> LossTimePath:
        """Integrate from theta = ``start`` at ``times[0]`` to the last of ``times``, or to the ``event``."""
        reach = np.abs(self.margins(start)[0]).max() + self.steepest**2 * (times[-1] - times[0])
        # The weights of the data jump by as much as the integrator errs on margins; u must not follow them.
        jumps = _SLACK * min(1.0, rtol * reach)
        answer = solve_ivp(
            self.velocity,
            (times[0], times[-1]),
            np.append(start, 0.0),
            method=method,
            t_eval=times,
            events=event,
            jac=self.jacobian,
            rtol=rtol,
            atol=np.append(np.full(len(start), atol), max(atol, jumps)),
        )
        s, states = answer.t, answer.y.T
        if answer.status == 1:
            s, states = np.append(s, answer.t_events[0]), np.vstack([states, answer.y_events[0]])
        theta = states[:, :-1]
        log_losses = np.array([loss_weights(self.margins(each)[0])[1] for each in theta])
        with np.errstate(divide="ignore"):
            log_time = np.logaddexp(0, np.log(states[:, -1] / self.steepest**2) - log_losses)
        reasons = {0: REACHED, 1: event_means, -1: f"the integrator failed: {answer.message}"}
        return LossTimePath(s, theta, log_time, reasons[answer.status], int(answer.nfev))
