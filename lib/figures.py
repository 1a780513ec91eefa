"""One style for every figure: transparent ground, fixed roles for colours."""

from __future__ import annotations

import json
from html import escape

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

SIMULATION = "#0072B2"
CONTRAST = "#D55E00"
THIRD = "#009E73"
FOURTH = "#CC79A7"
THEORY = "#767676"

WIDTH = 7.2  # inches: the text column of the site

_STYLE = {
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
    """Set the book's figure style, and SVG with reproducible bytes as the format of a notebook's figures."""
    plt.rcParams.update(_STYLE)
    set_matplotlib_formats("svg", metadata={"Date": None})


def panels(columns: int = 1, rows: int = 1, height: float = 3.0, **options: object) -> tuple[Figure, Axes]:
    """Return a figure as wide as the text with its axes; ``height`` is inches per row."""
    return plt.subplots(rows, columns, figsize=(WIDTH, rows * height), **options)


def label_curve(axes: Axes, x: float, y: float, text: str, colour: str, **options: object) -> None:
    """Write a curve's name beside it, in its colour, instead of a legend."""
    axes.annotate(
        text, (x, y), xytext=(4, 0), textcoords="offset points", color=colour, va="center", **options
    )


def mark_time(axes: Axes, time: float, text: str) -> None:
    """Draw a light vertical rule at an event, with its name at the top."""
    axes.axvline(time, color=THEORY, linewidth=0.6, alpha=0.6, zorder=0)
    axes.annotate(
        text,
        (time, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
        fontsize="small",
    )


def live(name: str, **parameters: object) -> HTML:
    """Return the frame of a live figure of the site, drawn by ``book/_static/live/<name>.js``.

    ``parameters`` are numbers and lists of numbers that the script reads.
    """
    frame = f'<div class="live-figure" data-live="{name}" data-parameters="{escape(json.dumps(parameters))}">'
    script = f'<script type="module" src="../../_static/live/{name}.js"></script>'
    return HTML(f"{frame}This figure is live on the book's website.</div>{script}")
