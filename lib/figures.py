"""One style for every figure: transparent ground, fixed roles for colours."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython import get_ipython
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats
from numpy.typing import ArrayLike

SIMULATION = "#0072B2"
CONTRAST = "#D55E00"
THIRD = "#009E73"
FOURTH = "#CC79A7"
THEORY = "#767676"

WIDTH = 7.2  # inches: the text column of the site

_STYLE: dict[Any, Any] = {
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "axes.edgecolor": THEORY,
    "axes.labelcolor": THEORY,
    "axes.titlecolor": THEORY,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.prop_cycle": plt.cycler(color=[SIMULATION, CONTRAST, THIRD, FOURTH]),
    "text.color": THEORY,
    "xtick.color": THEORY,
    "ytick.color": THEORY,
    "lines.linewidth": 1.8,
    "legend.frameon": False,
    "font.size": 10.5,
    "mathtext.fontset": "stixsans",
    "svg.hashsalt": "learning-dynamics",
    "svg.fonttype": "path",
    "image.cmap": "cividis",
}

DASHED = {"color": THEORY, "linestyle": (0, (4, 2)), "linewidth": 1.6, "zorder": 3}
"""Line properties of every curve that is theory."""


def use_style() -> None:
    """Set the book's figure style; in a notebook, also figures in SVG with reproducible bytes."""
    plt.rcParams.update(_STYLE)
    if get_ipython() is not None:
        set_matplotlib_formats("svg", metadata={"Date": None})


def panels(columns: int = 1, rows: int = 1, height: float = 3.0, **options: Any) -> tuple[Figure, Any]:
    """Return a figure as wide as the text, and its axes: one, or an array of them as ``plt.subplots`` gives.

    ``height`` is inches per row; ``options`` go to ``plt.subplots``.
    """
    return plt.subplots(rows, columns, figsize=(WIDTH, rows * height), **options)


def label_curve(axes: Axes, x: float, y: float, text: str, colour: str, **options: Any) -> None:
    """Write a curve's name beside the point (x, y), in its colour, instead of a legend.

    ``x`` and ``y`` are in the units of the data; ``options`` go to ``axes.annotate``.
    """
    placed = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", **options}
    axes.annotate(text, (x, y), color=colour, **placed)


def mark_time(axes: Axes, time: float, text: str) -> None:
    """Draw a light vertical rule at an event, with its name at the top; ``time`` is in units of the data."""
    axes.axvline(time, color=THEORY, linewidth=0.6, alpha=0.6, zorder=0)
    top = {"xycoords": ("data", "axes fraction"), "xytext": (3, -2), "va": "top", "fontsize": "small"}
    label_curve(axes, time, 1.0, text, THEORY, **top)


def live(name: str, **parameters: ArrayLike) -> HTML:
    """Return the frame of a live figure, which the script of that name draws where the site has it.

    ``parameters`` are finite numbers and arrays of them that the script reads.
    """
    values = {key: np.asarray(value, dtype=float).tolist() for key, value in parameters.items()}
    data = escape(json.dumps(values, allow_nan=False))
    frame = f'<div class="live-figure" data-live="{name}" data-parameters="{data}">'
    return HTML(f"{frame}This figure is live on the book's website.</div>")
