"""A million inverses of ``log u + Ei(u)``, against root finding by brentq one by one."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
from scipy.optimize import brentq
from scipy.special import expi

from benchmarks.measure import Comparison
from lib.theory.one_neuron import inverse_log_integral

COUNT, MEASURED, CHECKED = 1_000_000, 2_000, 200
VALUES = np.random.default_rng(0).uniform(-20, 1000, COUNT)
VALUES[::2] = np.random.default_rng(1).uniform(-20, 10, COUNT // 2)  # half of them where the curve bends


def ours() -> np.ndarray:
    return inverse_log_integral(VALUES)[:MEASURED]


def plain() -> np.ndarray:
    roots = [
        brentq(lambda u, value=value: np.log(u) + expi(u) - value, 1e-10, 20.0, xtol=1e-15, rtol=1e-15)
        for value in VALUES[:MEASURED]
    ]
    return np.array(roots)


@cache
def reference() -> list[mp.mpf]:
    """Roots with 30 digits, by the secant method in the logarithm of u."""
    with mp.workdps(30):
        starts = np.log(inverse_log_integral(VALUES[:CHECKED]))
        return [
            mp.exp(mp.findroot(lambda s, value=value: s + mp.ei(mp.exp(s)) - mp.mpf(value), mp.mpf(start)))
            for value, start in zip(VALUES[:CHECKED].tolist(), starts.tolist(), strict=True)
        ]


def error(roots: np.ndarray) -> float:
    """Largest relative error, of the first roots."""
    pairs = zip(roots[:CHECKED].tolist(), reference(), strict=True)
    return float(max(abs(root - true) / true for root, true in pairs))


million = Comparison(
    title="A million inverses of log u + Ei(u)",
    plain_title="scipy's brentq, one by one (2,000 measured, times 500)",
    ours=ours,
    plain=plain,
    error=error,
    error_of="200 of the roots, relative",
    goal="under 1 second",
    needed=1,
    by="seconds",
    share=MEASURED / COUNT,
)
