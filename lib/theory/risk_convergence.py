"""How long stochastic gradient descent needs for a small logistic loss on linearly separable data.

The network is ``f(x) = v sum_j (phi(<w_j, x>) - phi(<u_j, x>))``, k neurons of each type, with leaky slope
``slope``; an epoch goes once through the n data, one a step of size ``step``, in any order.  The arguments of
the bounds are the same and broadcast: ``epsilon``, the mean loss to reach; ``n`` and ``k``, 1 or more;
``slope`` in (0, 1]; ``v`` and ``step``; ``radius``, the largest input norm; ``teacher``, the norm of a vector
with ``y_i <w*, x_i> >= 1`` (the shortest, that of :func:`lib.geometry.programs.linear_svm`, gives the best bound), all
positive; ``start``, zero or more, the largest norm of an initial neuron.  Relative errors are below 1e-13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import wrightomega

from lib.checks import broadcast, numbers, refuse_overflow

# The largest value of z / (1 + exp(z)), Lambert's W(1/e): a step adds at most twice this to the squared norm.
LARGEST_PRODUCT = float(wrightomega(-1.0))


@dataclass(frozen=True)
class RiskBound:
    """What Theorem 4.1 promises: at most ``epochs`` with a large loss, a small mean loss within ``steps``.

    ``loss`` is what counts as large: at the end of the first epoch in which no datum, when drawn, has a
    larger loss, the mean loss is below epsilon.  ``steps = n (epochs + 1)``.

    Example:

    >>> setting = dict(n=10, k=2, slope=0.5, v=1.0, step=0.1, radius=1.0, teacher=1.0, start=0.0)
    >>> bound = risk_bound([0.1, 0.01], **setting)
    >>> bound.loss, (bound.epochs[1] / bound.epochs[0]).round(1)
    (array([0.02 , 0.002]), np.float64(98.2))
    """

    loss: np.ndarray
    epochs: np.ndarray
    steps: np.ndarray


@refuse_overflow
def risk_bound(
    epsilon: ArrayLike,
    *,
    n: ArrayLike,
    k: ArrayLike,
    slope: ArrayLike,
    v: ArrayLike,
    step: ArrayLike,
    radius: ArrayLike,
    teacher: ArrayLike,
    start: ArrayLike,
    product: ArrayLike = 1.0,
) -> RiskBound:
    """Return the bound of Theorem 4.1 on stochastic gradient descent without replacement.

    Arguments as above.  ``product`` bounds ``z / (1 + exp(z))``; the paper takes 1, the best is
    ``LARGEST_PRODUCT``, 0.278..., the least allowed.  Raises ``ValueError`` for other values.
    [sarussi2021, Eq. 20 and 27]

    Example:

    >>> setting = dict(n=10, k=2, slope=0.3, v=0.5**0.5, step=0.1, radius=3.351, teacher=0.592, start=0.001)
    >>> f"{risk_bound(0.1, **setting).epochs:.3g}"
    '4.57e+07'
    """
    given = _checked(epsilon, n, k, slope, v, step, radius, teacher, start)
    allowed = numbers("product", product, LARGEST_PRODUCT, 1, "[]")
    growth = given["n"] * (2 * given["step"] * allowed + _quadratic(given))
    return _bound(given, -np.expm1(-_clean_loss(given)), growth)


@refuse_overflow
def improved_risk_bound(
    epsilon: ArrayLike,
    *,
    n: ArrayLike,
    k: ArrayLike,
    slope: ArrayLike,
    v: ArrayLike,
    step: ArrayLike,
    radius: ArrayLike,
    teacher: ArrayLike,
    start: ArrayLike,
) -> RiskBound:
    """Return a smaller bound: the growth of the norm is charged to the losses met instead of to the steps.

    Arguments and errors as of :func:`lib.theory.risk_convergence.risk_bound`.  A step with slope p =
    ``|l'|`` adds at most ``2 step p log(1/p)`` and ``2 k step^2 v^2 radius^2 p`` to the squared norm; by
    concavity, N steps whose slopes sum to S add at most ``S (2 step log(N/S) + 2 k step^2 v^2 radius^2)``.

    Example:

    >>> setting = dict(n=10, k=2, slope=0.3, v=0.5**0.5, step=0.1, radius=3.351, teacher=0.592, start=0.001)
    >>> f"{improved_risk_bound(0.1, **setting).epochs:.2g}"
    '8.1e+04'
    """
    given = _checked(epsilon, n, k, slope, v, step, radius, teacher, start)
    large = -np.expm1(-_clean_loss(given))
    growth = large * (2 * given["step"] * np.log(given["n"] / large) + _quadratic(given))
    return _bound(given, large, growth)


@refuse_overflow
def polynomial_risk_bound(
    epsilon: ArrayLike,
    *,
    n: ArrayLike,
    k: ArrayLike,
    slope: ArrayLike,
    v: ArrayLike,
    step: ArrayLike,
    radius: ArrayLike,
    teacher: ArrayLike,
    start: ArrayLike,
) -> RiskBound:
    """Return a larger bound, a polynomial in the square roots of ``1/epsilon`` and the other arguments.

    Arguments and errors as of :func:`lib.theory.risk_convergence.risk_bound`.  With ``a T <= b sqrt(T) +
    c`` for the epochs T, and ``a`` made smaller by ``1 - exp(-l) >= l / (1 + l)``, it is ``b^2 / a^2 + (b /
    a) sqrt(c / a) + c / a``.  [sarussi2021, App. B]

    Example:

    >>> setting = dict(n=10, k=2, slope=0.3, v=0.5**0.5, step=0.1, radius=3.351, teacher=0.592, start=0.001)
    >>> f"{polynomial_risk_bound(0.1, **setting).epochs:.3g}"
    '4.59e+07'
    """
    given = _checked(epsilon, n, k, slope, v, step, radius, teacher, start)
    loss = _clean_loss(given)
    ratio, rest = _inequality(given, loss / (1 + loss), given["n"] * (2 * given["step"] + _quadratic(given)))
    epochs = ratio**2 + ratio * np.sqrt(rest) + rest
    return RiskBound(loss, epochs, given["n"] * (epochs + 1))


def _checked(
    epsilon: ArrayLike,
    n: ArrayLike,
    k: ArrayLike,
    slope: ArrayLike,
    v: ArrayLike,
    step: ArrayLike,
    radius: ArrayLike,
    teacher: ArrayLike,
    start: ArrayLike,
) -> dict[str, np.ndarray]:
    given = {
        "epsilon": numbers("epsilon", epsilon, 0),
        "n": numbers("n", n, 1, ends="[)"),
        "k": numbers("k", k, 1, ends="[)"),
        "slope": numbers("slope", slope, 0, 1, "(]"),
        "v": numbers("v", v, 0),
        "step": numbers("step", step, 0),
        "radius": numbers("radius", radius, 0),
        "teacher": numbers("teacher", teacher, 0),
        "start": numbers("start", start, 0, ends="[)"),
    }
    return dict(zip(given, broadcast(**given), strict=True))


def _quadratic(given: dict[str, np.ndarray]) -> np.ndarray:
    """Return the square of the longest step of all neurons together, ``2 k (step v radius)^2``."""
    return 2 * given["k"] * (given["step"] * given["v"] * given["radius"]) ** 2


def _clean_loss(given: dict[str, np.ndarray]) -> np.ndarray:
    """Return the loss below which each datum must be in a clean epoch [sarussi2021, Eqs. 21-26]."""
    return given["epsilon"] / (1 + given["n"] * _quadratic(given) / given["step"])


def _inequality(
    given: dict[str, np.ndarray], large: np.ndarray, growth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return b/a and c/a of ``a T <= b sqrt(T) + c`` for T epochs, each with a slope ``large``."""
    gain = 2 * given["k"] * given["step"] * given["slope"] * given["v"] * large
    ratio = np.sqrt(2 * given["k"] * growth) * given["teacher"] / gain
    return ratio, 4 * given["k"] * given["start"] * given["teacher"] / gain


def _bound(given: dict[str, np.ndarray], large: np.ndarray, growth: np.ndarray) -> RiskBound:
    ratio, rest = _inequality(given, large, growth)
    epochs = ((ratio + np.hypot(ratio, 2 * np.sqrt(rest))) / 2) ** 2
    return RiskBound(_clean_loss(given), epochs, given["n"] * (epochs + 1))
