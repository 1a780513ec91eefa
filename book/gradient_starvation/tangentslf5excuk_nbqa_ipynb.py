# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import minimize_scalar
from scipy.special import entr

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def entropy(p):
    return entr(p) + entr(1 - p)


LOSSES = {
    "cross-entropy": (lambda q: np.logaddexp(0, -q), entropy, (0, 1)),
    "hinge": (lambda q: np.maximum(0, 1 - q), lambda p: p, (0, 1)),
    "square": (lambda q: (1 - q) ** 2, lambda p: p - p**2 / 4, (-2, 6)),
}
line, gaps = np.linspace(-2, 2, 201), []
fig, panels = figures.panels(3, height=2.6)
for axes, (name, (loss, height, ends)) in zip(panels, LOSSES.items()):
    slopes = np.linspace(*ends, 41)[:, None]
    lines = height(slopes) - slopes * line
    axes.plot(line, lines[::5].T, color=figures.THEORY, linewidth=0.6, alpha=0.5)
    axes.plot(line, loss(line), color=figures.SIMULATION, linewidth=3, alpha=0.6)
    axes.plot(line, lines.max(axis=0), **figures.DASHED)
    axes.set(xlabel="margin $q$", ylim=(-0.5, 3.2))
    axes.set_title(name)
    gaps.append(np.abs(loss(line) - lines.max(axis=0)).max())
panels[0].set_ylabel("loss")
say(gap=max(gaps))
plt.show()


# %%NBQA-CELL-SEP476b88
margins = np.linspace(-6, 6, 25)


def envelope(height, bounds):
    """The largest of the lines height(p) - p q over p in bounds, and where it is, for each margin."""
    options = {"bounds": bounds, "method": "bounded", "options": {"xatol": 1e-12}}
    best = [minimize_scalar(lambda p: p * q - height(p), **options) for q in margins]
    return np.array([-one.fun for one in best]), np.array([one.x for one in best])


def quadratic(factor):
    return envelope(lambda p: p - factor * p**2, (-20, 20))[0]


loss = np.logaddexp(0, -margins)
top, where = envelope(entropy, (0, 1))
hinge, square = np.maximum(0, 1 - margins), (1 - margins) ** 2
q = sp.symbols("q", real=True)
derivative = sp.lambdify(q, sp.diff(sp.log(1 + sp.exp(-q)), q))
slope, wide = derivative(margins), np.linspace(-30, 30, 61)
chances = np.tile(np.append(generator(3).uniform(0, 1, 40), [0, 1])[:, None], len(wide))
chances = np.vstack([chances, -derivative(wide)])
space = np.logaddexp(0, -wide) - entropy(chances) + chances * wide
right = 1 + derivative(wide)
verify_all(
    verify(
        "pezeshki2021-lem-2a",
        measured=space,
        at_least=0.0,
        atol=1e-13,
        because="tangents touch; terms of size 30 in floats",
        control=Variant(
            "the entropy in bits",
            measured=space - (1 / np.log(2) - 1) * entropy(chances),
            share=0.05,
        ),
    ),
    verify(
        "pezeshki2021-lem-2b",
        measured=entropy(-derivative(wide)) + derivative(wide) * wide,
        predicted=np.logaddexp(0, -wide),
        atol=1e-13,
        because="an identity, with the slope by SymPy; terms of size 30 in floats",
        control=Variant(
            "the chance of the right label",
            measured=entropy(right) - right * wide,
            share=0.9,
        ),
    ),
    verify(
        "pezeshki2021-lem-2c",
        measured=top,
        predicted=loss,
        atol=1e-11,
        because="p is found to 1e-8, and the height is flat: 1e-16 over 2p(1 - p) of 0.005 or more",
        control=Variant(
            "without the entropy", measured=envelope(np.zeros_like, (0, 1))[0], share=0.9
        ),
    ),
    verify(
        "pezeshki2021-eq-11",
        measured=where,
        predicted=-slope,
        atol=1e-6,
        because="the place of a maximum is found to the root of the rounding",
        control=Variant("the chance of the right label", predicted=1 + slope, share=0.9),
        printed=Variant("without the minus sign", predicted=slope),
    ),
    verify(
        "pezeshki2021-tab-4-hinge",
        measured=envelope(lambda p: p, (0, 1))[0],
        predicted=hinge,
        atol=1e-6,
        because="the maximum is at an end of the interval, met to 1e-8, times slopes of 7",
        control=Variant("the squared hinge loss", predicted=hinge**2, share=0.3),
    ),
    verify(
        "pezeshki2021-tab-4-square",
        measured=quadratic(0.25),
        predicted=square,
        atol=1e-8,
        because="a parabola, maximised to rounding",
        control=Variant(
            "chances between 0 and 1 only",
            measured=envelope(lambda p: p - p**2 / 4, (0, 1))[0],
            share=0.9,
        ),
        printed=Variant("the factor 1/2", measured=quadratic(0.5), share=24 / 25),
    ),
)


# %%NBQA-CELL-SEP476b88
line = np.linspace(-6, 6, 601)
sigmoid, slopes = 1 / (1 + np.exp(line)), np.linspace(0, 1, 2001)[:, None]
heights = (sigmoid + slopes * line).min(axis=1, keepdims=True)
missing = sigmoid - (heights - slopes * line).max(axis=0)
say(missed=missing.max(), missed_at=line[missing.argmax()])


# %%NBQA-CELL-SEP476b88
say(seconds=max(1.0, process_time() - started))
