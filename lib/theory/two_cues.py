"""Two binary cues of a binary label in the population: what spectral decoupling makes of colour and shape.

Given the label y = +-1, a cue c agrees with it with probability ``colour`` and a cue s, independently, with
probability ``shape`` (coloured digits with noisy labels: 0.85 and 0.75).  The classifier ``f = a c + b s`` is
trained on the mean of ``log(1 + exp(-y f)) + penalty f^2 / 2``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expit, logit

from lib.checks import broadcast, number, numbers, refuse_overflow
from lib.theory.newton import damped_newton

_LARGEST_LOG_RATIO = np.log(1e6)
_SHORTEST = 1e-30  # LSODA never ends on shorter intervals
_AGREEMENTS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])


def cue_posteriors(colour: ArrayLike, shape: ArrayLike) -> np.ndarray:
    """Return the chances that the shape is right, (..., 2): where the colour agrees with it, and where not.

    ``colour`` and ``shape``, in (0, 1), broadcast to (...).  Raises ``ValueError`` for other values.
    [pezeshki2021, Section 4]

    Example:

    >>> cue_posteriors(0.85, 0.75).round(3)
    array([0.944, 0.346])
    """
    first, second = broadcast(colour=numbers("colour", colour, 0, 1), shape=numbers("shape", shape, 0, 1))
    return expit(logit(second)[..., None] + logit(first)[..., None] * [1, -1])


def penalised_weights(colour: float, shape: float, penalty: float) -> np.ndarray:
    """Return the minimiser (a, b) of the mean loss with the penalty; without it, the logits of the cues.

    ``colour`` and ``shape`` are in [1e-6, 1 - 1e-6], ``penalty`` is zero or more.  Accurate to 1e-13.  Raises
    ``ValueError`` for other values.

    Example:

    >>> penalised_weights(0.85, 0.75, 0.0).round(4), penalised_weights(0.85, 0.75, 2.0).round(4)
    (array([1.7346, 1.0986]), array([0.133 , 0.0646]))
    """
    chances = _chances(colour, shape)
    weight = number("penalty", penalty, 0, ends="[)")
    second = (_AGREEMENTS.T * chances) @ _AGREEMENTS

    def newton(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = expit(-_AGREEMENTS @ w)
        hessian = (_AGREEMENTS.T * (chances * p * (1 - p))) @ _AGREEMENTS + weight * second
        gradient = _slope(w, chances, weight)
        return gradient, np.linalg.solve(hessian, gradient)

    def value(w: np.ndarray) -> float:
        return float(chances @ (np.logaddexp(0, -_AGREEMENTS @ w)) + weight * w @ second @ w / 2)

    return damped_newton(np.zeros(2), newton, value, 1e-13)


@refuse_overflow
def forgetting_flow(
    times: ArrayLike, ratio: float, *, colour: float = 0.85, shape: float = 0.75, penalty: float = 2.0
) -> np.ndarray:
    """Return (a, b), shape (times, 2), when the penalty is switched on at the minimum of the loss without it.

    Gradient flow with learning rates ``ratio``, from 1e-6 to 1e6, for the colour and 1 for the shape, as the
    tangent features of a network weigh them.  ``times``, zero or more, increase; they and the ``penalty`` go
    up to 1e6, ``colour`` and ``shape`` are in [1e-6, 1 - 1e-6].  Accurate to about 1e-9.  With the values
    given above the shape leads for a while (``b > a``) exactly for ratios above 1.546, that of
    :func:`lib.theory.two_cues.leading_ratio`, although in the end the colour leads again: what spectral
    decoupling gains there is a transient.  Raises ``ValueError`` for other values.

    Example:

    >>> forgetting_flow([0.0, 0.5, 50.0], ratio=10.0).round(3)
    array([[ 1.735,  1.099],
           [-0.006,  0.429],
           [ 0.133,  0.065]])
    """
    wanted = numbers("times", times, 0, 1e6, "[]")
    if wanted.ndim != 1 or not wanted.size or not (np.diff(wanted) > 0).all():
        raise ValueError(f"times has shape {wanted.shape}, allowed: an increasing array of times from 0 on")
    chances, rates = _chances(colour, shape), np.array([number("ratio", ratio, 1e-6, 1e6, "[]"), 1.0])
    weight, start = number("penalty", penalty, 0, 1e6, "[]"), penalised_weights(colour, shape, 0.0)
    path = solve_ivp(
        lambda _, w: -rates * _slope(w, chances, weight),
        (0.0, max(wanted[-1], _SHORTEST)),
        start,
        method="LSODA",
        t_eval=wanted,
        rtol=1e-10,
        atol=1e-12,
    )
    if not path.success:
        raise RuntimeError(f"the flow could not be integrated ({path.message}); try nearer times")
    return path.y.T


def leading_ratio(*, colour: float = 0.85, shape: float = 0.75, penalty: float = 2.0) -> float:
    """Return the ratio of learning rates above which the shape leads for a while in the forgetting flow.

    Arguments as of :func:`forgetting_flow`, with ``colour`` above ``shape``, both above 1/2, and ``penalty``
    positive.  The flow of this ratio touches the line ``a = b`` from below.  Accurate to about 1e-7.  Raises
    ``ValueError`` for other values, and where the ratio is above 1e6.

    Example:

    >>> round(leading_ratio(), 3)
    1.546
    """
    chances, start = _chances(colour, shape), penalised_weights(colour, shape, 0.0)
    weight = number("penalty", penalty, 1e-6, 1e6, "[]")
    if not 0.5 < shape < colour:
        raise ValueError(f"colour is {colour}, shape {shape}; allowed: 0.5 < shape < colour")

    def longest_lead(log_ratio: float) -> float:
        rates = np.array([np.exp(log_ratio), 1.0])

        def velocity(_: float, w: np.ndarray) -> np.ndarray:
            return -rates * _slope(w, chances, weight)

        def gain(time: float, w: np.ndarray) -> float:
            return float(np.diff(velocity(time, w))[0])

        gain.terminal, gain.direction = True, -1  # type: ignore[attr-defined]
        end = 50 / (weight * min(chances @ (1 - _AGREEMENTS.prod(axis=1)), 1.0))
        path = solve_ivp(velocity, (0.0, end), start, method="LSODA", events=gain, rtol=1e-10, atol=1e-13)
        return float(np.diff(path.y[:, -1])[0])

    if longest_lead(_LARGEST_LOG_RATIO) <= 0:
        raise ValueError(f"penalty is {penalty}, with these cues the shape leads at no ratio up to 1e6")
    return float(np.exp(brentq(longest_lead, 0.0, _LARGEST_LOG_RATIO, xtol=1e-10)))


def _chances(colour: float, shape: float) -> np.ndarray:
    """Return the probabilities of the four pairs (y c, y s)."""
    first, second = (
        number(name, value, 1e-6, 1 - 1e-6, "[]") for name, value in (("colour", colour), ("shape", shape))
    )
    return np.array([first * second, first * (1 - second), (1 - first) * second, (1 - first) * (1 - second)])


def _slope(w: np.ndarray, chances: np.ndarray, weight: float) -> np.ndarray:
    margins = _AGREEMENTS @ w
    return _AGREEMENTS.T @ (chances * (weight * margins - expit(-margins)))
