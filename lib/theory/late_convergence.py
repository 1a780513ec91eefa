"""The end of training on orthogonally separable data: rate of the loss and rank of the weights.

The loss is summed over data and is, or has the tail of, the exponential loss; time counts in the flow on this
sum.  Class margins gamma are the largest with which unit vectors call all inputs of one class positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, choice, number, numbers, refuse_overflow, whole
from lib.separation import labelled_data, largest_margin
from lib.theory.orthogonal_data import Pair

LOSSES = ("exponential", "logistic", "twice logistic")


def decay_constant(loss: str) -> float:
    """Return the largest k with ``dL/dt <= -k |v|^2 gamma^2 L^2`` for a linear net with positive margins.

    ``loss`` is "exponential" (1), "logistic" or "twice logistic" (``1/(4 ln^2 2)``); the paper has 1/4.
    Raises ``ValueError`` for other losses.  [min2024, Lemma 15; the values are ours]

    Example:

    >>> round(decay_constant("logistic"), 4)
    0.5203
    """
    return 1.0 if choice("loss", loss, LOSSES) == "exponential" else float(1 / (2 * np.log(2)) ** 2)


def decay_rate(mu: ArrayLike, x_min: ArrayLike, x_max: ArrayLike, *, loss: str | None = None) -> np.ndarray:
    """Return the alpha of ``L(t) <= L(t_2)/(1 + alpha L(t_2) (t - t_2))``: ``(mu X_min)^2/(32 X_max)``.

    With a ``loss`` the constant 1/4 of Lemma 15 is replaced by :func:`decay_constant`, up to four times more.
    ``mu`` is in (0, 1], ``x_min`` and ``x_max`` are positive; all broadcast.  Raises ``ValueError`` for other
    values.  [min2024, App. D.2]

    Example:

    >>> float(decay_rate(0.5, 2.0, 2.0)), float(decay_rate(0.5, 2.0, 2.0, loss="exponential"))
    (0.015625, 0.0625)
    """
    mu, low, high = broadcast(
        mu=numbers("mu", mu, 0.0, 1.0, "(]"),
        x_min=numbers("x_min", x_min, 0.0),
        x_max=numbers("x_max", x_max, 0.0),
    )
    if (low > high).any():
        raise ValueError(
            f"x_min holds {low[low > high].flat[0]}, allowed: up to x_max, {high[low > high].flat[0]}"
        )
    constant = 0.25 if loss is None else decay_constant(loss)
    return constant * mu**2 * low * (low / high) / 8


def loss_bound(times: ArrayLike, start: ArrayLike, start_loss: ArrayLike, rate: ArrayLike) -> np.ndarray:
    """Return ``L(t_2)/(1 + alpha L(t_2) (t - t_2))`` at ``times`` from ``start`` = t_2 on.

    ``start_loss`` is L(t_2) and ``rate`` alpha, both positive; all broadcast.  Raises ``ValueError`` for
    earlier times and other values.  [min2024, Theorem 1 (ii)]

    Example:

    >>> float(loss_bound(10.0, 2.0, 0.5, 0.25))
    0.25
    """
    t, first, loss, alpha = broadcast(
        times=numbers("times", times),
        start=numbers("start", start),
        start_loss=numbers("start_loss", start_loss, 0.0),
        rate=numbers("rate", rate, 0.0),
    )
    if (t < first).any():
        raise ValueError(
            f"times holds {t[t < first].flat[0]}, allowed: from start, {first[t < first].flat[0]}, on"
        )
    with np.errstate(over="ignore"):
        return loss / (1 + alpha * (t - first) * loss)


@refuse_overflow
def class_margins(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return the largest margin of the positive and of the negative inputs, each class by itself.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1.  Returns a pair of
    :class:`lib.separation.Separation`, with None for an absent class.
    Neurons of either sign converge in direction to the ``normal`` of their class, and their common
    squared norm grows like ``ln(t)/margin``.  Raises ``ValueError`` for other data and for a class that
    no vector calls positive.  Ours, for [min2024, Theorem 1 (ii)].

    Example:

    >>> margins = class_margins([[3.0, 0.0], [0.0, 4.0], [-1.0, 0.0]], [1, 1, -1])
    >>> round(margins.positive.margin, 12), margins.negative.normal.tolist()
    (2.4, [-1.0, 0.0])
    """
    x, y = labelled_data(inputs, labels)
    found = [largest_margin(x[y == sign]) if (y == sign).any() else None for sign in (1, -1)]
    for name, answer in zip(("positive", "negative"), found, strict=True):
        if answer is not None and not answer.separable:
            raise ValueError(
                f"inputs of the {name} class are called positive by no vector, allowed: those of a cone"
            )
    return Pair(found[0], found[1])


def _inverse_margins(inputs: ArrayLike, labels: ArrayLike) -> tuple[float, float, float]:
    """Return the two inverse margins, 0 for an absent class, and the cosine of the normals."""
    first, last = class_margins(inputs, labels)
    one, other = (0.0 if part is None else 1 / part.margin for part in (first, last))
    return one, other, 0.0 if first is None or last is None else float(first.normal @ last.normal)


@refuse_overflow
def late_constant(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the limit ``(1/gamma_+ + 1/gamma_-)/2`` of ``L t ln(1/L)``; an absent class counts zero.

    Data as in :func:`class_margins`.  The limit is the same for the exponential, the logistic and the
    twice logistic loss, and approached like ``ln ln t/ln t``; the squared norm of all weights grows like
    this constant times ``2 ln t``.  Raises ``ValueError`` for other data.  Ours; [min2024, Theorem 1
    (ii)] has O(1/t).

    Example:

    >>> late_constant([[2.0, 0.0], [-1.0, 0.0]], [1, -1])
    0.75
    """
    one, other, _ = _inverse_margins(inputs, labels)
    return (one + other) / 2


def late_log_loss(log_times: ArrayLike, constant: ArrayLike) -> np.ndarray:
    """Return the logarithm of the loss L < 1/e with ``L t ln(1/L) = constant``, at times ``exp(log_times)``.

    Times are natural logarithms, above ``1 + ln(constant)``, so that t = 1e1000 can be asked for;
    ``constant`` is positive, as by :func:`late_constant`; they broadcast.  Relative accuracy 1e-13.
    Raises ``ValueError`` for other values.  Ours.

    Example:

    >>> late_log_loss([10.0, 1e3, 1e300], 1.0).round(6).tolist()
    [-12.527963, -1006.914646, -1e+300]
    """
    c = numbers("constant", constant, 0.0)
    t, c = broadcast(log_times=numbers("log_times", log_times), constant=c)
    level = t - np.log(c)
    if (level <= 1).any():
        raise ValueError(f"log_times holds {t[level <= 1].flat[0]}, allowed: above 1 + ln(constant)")
    # y - ln y = level with y = ln(1/L) > 1; Newton's method from the right, where the function is convex.
    y = level + np.log(level) + 1
    for _ in range(60):
        step = (y - np.log(y) - level) * y / (y - 1)
        y = y - step
        if (np.abs(step) <= 4e-16 * y).all():
            break
    return -y


@refuse_overflow
def stable_rank_limit(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the limit of the stable rank ``|W|_F^2/|W|_2^2`` of the first layer as time goes to infinity.

    With ``A = 1/gamma_+``, ``B = 1/gamma_-`` and c the cosine of the two normals it is ``2 (A + B)/(A + B
    + sqrt((A - B)^2 + 4 A B c^2))``, between 1 and 2, and 1 if a class is absent; approached like
    ``1/sqrt(ln t)``.  Data as in :func:`class_margins`.  Raises ``ValueError`` for other data.  Ours;
    [min2024, Theorem 1] has the bound 2.

    Example:

    >>> [stable_rank_limit([[1.0, 0.0], other], [1, -1]) for other in ([0.0, 1.0], [-1.0, 0.0])]
    [2.0, 1.0]
    """
    a, b, cosine = _inverse_margins(inputs, labels)
    return float(2 * (a + b) / (a + b + np.hypot(a - b, 2 * np.sqrt(a * b) * cosine)))


def log_rank_excess(m: int, w_max: float, log_scale: ArrayLike) -> np.ndarray:
    """Return the logarithm of ``4 sqrt(m) scale W_max^2``, by which ``|W|_F^2`` can exceed ``2 |W|_2^2``.

    ``m`` neurons, ``w_max`` the largest norm of a neuron at scale 1, positive, ``log_scale`` of any
    shape; from t_1 on.  Raises ``ValueError`` for other values.  [min2024, Theorem 1, App. D.3]

    Example:

    >>> float(log_rank_excess(4, 1.0, -100.0).round(6))
    -97.920558
    """
    m, w_max = whole("m", m, 1), number("w_max", w_max, 0.0)
    return np.log(4) + np.log(m) / 2 + 2 * np.log(w_max) + numbers("log_scale", log_scale)
