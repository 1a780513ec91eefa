"""The dual of a loss of the margin, and of cross-entropy with one example: closed forms."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, lambertw, wrightomega, xlog1py

from lib.checks import broadcast, choice, numbers


def entropy(probability: ArrayLike) -> np.ndarray:
    """Return the entropy of a coin in nats, for probabilities of any shape; zero at 0 and 1.

    Raises ``ValueError`` for entries outside [0, 1].

    Example:

    >>> entropy([0.0, 0.5]).round(6)
    array([0.      , 0.693147])
    """
    p = numbers("probability", probability, 0, 1, "[]")
    return entr(p) - xlog1py(1 - p, -p)


def tangent_bound(loss: str, slope: ArrayLike, margin: ArrayLike) -> np.ndarray:
    """Return the tangent of a loss of the margin q with slope ``-p``, a lower bound that touches the loss.

    ``slope`` p and ``margin`` q broadcast.  For the ``loss`` "logistic", ``log(1 + exp(-q))``, it is ``H(p) -
    p q`` with the entropy H and p from 0 to 1; for "hinge", ``max(0, 1 - q)``, it is ``p - p q``, p from 0 to
    1; for "square", ``(1 - q)^2``, it is ``p - p^2 / 4 - p q`` for real p (the paper's ``p - p^2 / 2 - p q``
    belongs to half that loss).  The loss is the largest value over p.  Raises ``ValueError`` for other losses
    and slopes.  [pezeshki2021, Lemma 2 and Table 4]

    Example:

    >>> tangent_bound("hinge", [0.0, 1.0], -2.0)
    array([0., 3.])
    >>> [tangent_bound("square", p, 3.0).item() for p in (0.0, -2.0, -4.0)]
    [0.0, 3.0, 4.0]
    """
    real = choice("loss", loss, ("logistic", "hinge", "square")) == "square"
    p = numbers("slope", slope) if real else numbers("slope", slope, 0, 1, "[]")
    p, q = broadcast(slope=p, margin=numbers("margin", margin))
    height = p - p**2 / 4 if real else p if loss == "hinge" else entropy(p)
    return height - p * q


def lone_dual(coupling: ArrayLike) -> np.ndarray:
    """Return the root of ``-log p = a p``, which is ``W(a)/a`` with Lambert's W.

    ``coupling`` a is positive, of any shape.  Relative error below 1e-14 from 1e-300 to 1e300; raises
    ``ValueError`` for other values.

    Example:

    >>> lone_dual([1e-20, 1.0, 1e300]).round(6)
    array([1.      , 0.567143, 0.      ])
    """
    a = numbers("coupling", coupling, 0)
    # W(a) is the Wright omega function of log a, which does not overflow; for small a log a loses digits.
    return np.where(a < 1, lambertw(np.minimum(a, 1)).real, wrightomega(np.log(a))) / a


def truncation_error(coupling: ArrayLike) -> np.ndarray:
    """Return the leading relative error of Eq. 19, ``p^2 / (2 (1 + W))``, for one example.

    ``coupling`` ``a = s^2 / ridge`` is positive, of any shape; ``W = W(a + 1)`` with Lambert's W and ``p = W
    / (a + 1)``, the fixed point of Eq. 19.  That of Eq. 17 is smaller by about this share, to leading
    order in p.  Raises ``ValueError`` for other values.  [pezeshki2021, Eq. 19]

    Example:

    >>> f"{truncation_error(100.0):.3e}"
    '1.285e-04'
    """
    p = lone_dual(numbers("coupling", coupling, 0) + 1)
    return p**2 / (2 * (1 - np.log(p)))
