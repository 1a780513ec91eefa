"""One ReLU neuron trained with the hinge loss on the sum over many inputs of a class, before any is learnt.

While the neuron is active on all inputs and all margins are below 1, only the sum ``X`` of the inputs drives
it: ``w' = a X``, ``a' = <w, X>``, the flow of :mod:`lib.theory.hinge` for the one input ``X`` [combes2018,
Appendix C.2].  From the first margin 1 on that input rests, and the formula is wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import array, number, refuse_overflow


@refuse_overflow
def batch_path(
    times: ArrayLike, inputs: ArrayLike, w0: ArrayLike, a0: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``w``, shape (t, d), and ``a``, shape (t,), at these times; nan once a margin has reached 1.

    ``inputs`` has shape (n, d), ``w0`` shape (d,), times shape (t,).  ``w`` is the part of ``w0`` orthogonal
    to ``X`` and ``X / |X|`` times ``h cosh(|X| t) + a0 sinh(|X| t)``, ``h = <w0, X> / |X|``.
    Relative accuracy 1e-14. Raises ``ValueError`` for ``a0 < 0``, for inputs on which the neuron is inactive
    at the start, and for inputs that have no positive product with ``X``: their margins need not grow.

    Example:

    >>> w, a = batch_path([0.0, 1.0, 2.0], np.eye(2), [0.1, 0.2], 0.2)
    >>> w.round(4).tolist(), a.round(4).tolist()
    ([[0.1, 0.2], [0.5504, 0.6504], [nan, nan]], [0.2, 0.8461, nan])
    """
    times = array("times", times, ("t",), 0.0, ends="[)")
    inputs = array("inputs", inputs, ("n", "d"))
    w0 = array("w0", w0, (inputs.shape[1],))
    a0 = number("a0", a0, 0.0, ends="[)")
    sum_ = inputs.sum(axis=0)
    for products, with_what in ((inputs @ w0, "w0"), (inputs @ sum_, "the sum of the inputs")):
        if not (products > 0).all():
            i = int(np.argmin(products))
            raise ValueError(
                f"inputs[{i}] has product {products[i]} with {with_what}, allowed: positive ones"
            )
    size = np.linalg.norm(sum_)
    direction = sum_ / size
    h = direction @ w0
    # h and a of 1e150 have long since learnt; hyperbolic functions overflow from 710.
    angle = np.minimum(size * times, min(345 - np.log(h + a0), 709.0))
    along, a = h * np.cosh(angle) + a0 * np.sinh(angle), a0 * np.cosh(angle) + h * np.sinh(angle)
    w = w0 + np.outer(along - h, direction)
    learnt = (a[:, None] * (w @ inputs.T) >= 1).any(axis=1)
    return np.where(learnt[:, None], np.nan, w), np.where(learnt, np.nan, a)
