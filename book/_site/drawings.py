"""Puts the drawings of Matplotlib into the pages: they follow the theme, and panels stack on a phone.

A drawing is cut between its columns of axes, where nothing stands, into pictures that a wide screen shows
side by side.  The first holds what is drawn, the others show another part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from html import escape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from look import remembered
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib import figures

DRAWN = "jupyter_execute"  # where myst-nb writes what cells have drawn
ROLES = {
    figures.SIMULATION.lower(): "simulation",
    figures.CONTRAST.lower(): "contrast",
    figures.THIRD.lower(): "third",
    figures.FOURTH.lower(): "fourth",
    figures.THEORY.lower(): "theory",
}
COLOUR = re.compile("|".join(ROLES))
NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
LONG = re.compile(r"(\.\d\d)\d+")
STEP = re.compile(r" ?([A-Za-z]) ?")
UNSEEN = re.compile(r'<g id="patch_\d+"> <path d="[^"]*" style="fill: none"/> </g>')
COORDINATES = re.compile(r'(?<= [dxy]=")[^"]*')
PROLOG = re.compile(r"^.*?(?=<g id=\"figure_1\">)|</svg>\s*$|<!--.*?-->", re.S)
LAID_OUT = re.compile(r"\s*\n\s*")
TEXT = re.compile(r"translate\(([-\d.]+) [-\d.]+\)( rotate\(\S+\))? scale\(([\d.]+) ")
SHIFT = re.compile(r"translate\(([-\d.]+)")
EM = 100  # the size at which Matplotlib lays out a text
BAR = 40.0  # points: what is narrower is no panel of its own but a bar of colours
LEGIBLE = 9  # pixels, the size of letters that one can read
LARGEST = 1.5  # pixels for a point, about as on a wide screen


def texts(element: Element) -> list[tuple[float, float, float]]:
    """Where each text begins and ends, from the left, and the size of its letters."""
    found = []
    for group in element.iter("g"):
        if place := TEXT.match(group.get("transform", "")):
            left, size = float(place[1]), float(place[3]) * EM
            last = SHIFT.match(group[-1].get("transform", "")) if len(group) else None
            right = left if place[2] else left + size * (float(last[1]) / EM if last else 0.0) + size * 0.7
            found.append((left - size if place[2] else left, right, size))
    return found


def extent(axes: Element) -> tuple[float, float, float, float] | None:
    """Where axes begin with their labels, where their frame begins and ends, and where they end with labels.

    What has no frame, as axes that lie on others, has the room of its labels; ``None`` without any.
    """
    frame = next((path for path in axes.findall("g/path") if path.get("style") == "fill: none"), None)
    across = [] if frame is None else [float(one) for one in NUMBER.findall(frame.get("d", ""))[::2]]
    labels = texts(axes)
    room = [*across, *(left for left, _, _ in labels)], [*across, *(right for _, right, _ in labels)]
    if not room[0]:
        return None
    return min(room[0]), min(across or room[0]), max(across or room[1]), max(room[1])


def borrows_labels(axes: Element) -> bool:
    """Whether axes have ticks for heights whose labels stand at a neighbour."""
    heights = [group for group in axes if group.get("id", "").startswith("matplotlib.axis")][1:]
    return any(next(one.iter("use"), None) is not None and not texts(one) for one in heights)


def cuts(figure: Element) -> list[float]:
    """Where the columns of a drawing can be taken apart: each has labels of its own, and nothing crosses."""
    groups = [group for group in figure if group.get("id") != "patch_1"]
    rooms = [(extent(group), borrows_labels(group)) for group in groups]
    if any(room is None for room, _ in rooms):
        return []
    found, reached = [], 0.0
    for (left, start, end, right), borrows in sorted(rooms, key=lambda one: one[0][1]):
        if reached and left > reached and end - start > BAR and not borrows:
            found.append((left + reached) / 2)
        reached = max(reached, right)
    return found


def inline(source: str, name: str, description: str) -> str:
    """Return a drawing of Matplotlib as part of a page, where ``name`` is the only one of that name."""
    root = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", source, count=1))
    width, height = (float(one) for one in NUMBER.findall(root.attrib["viewBox"])[2:])
    figure = root.find("g")
    edges = [0.0, *cuts(figure), width]
    smallest = min((size for *_, size in texts(figure)), default=LEGIBLE)
    shown = written(source, name)
    panels = []
    for left, right in pairwise(edges):
        across = right - left
        least, most = across * LEGIBLE / smallest, across * LARGEST
        style = f"--share:{across:.4g};--least:{least:.4g}px;--most:{most:.4g}px"
        panels.append(f'<svg viewBox="{left:.5g} 0 {across:.5g} {height:.5g}" style="{style}">{shown}</svg>')
        shown = f'<use xlink:href="#{name}-figure_1"/>'
    opening = f'<span class="drawing" role="img" aria-label="{escape(description)}"'
    return f'{opening} style="--width:{width:.5g};--height:{height:.5g}">{"".join(panels)}</span>'


def written(source: str, name: str) -> str:
    """Return what is drawn with names of its own, roles for colours and short coordinates."""
    text = LAID_OUT.sub(" ", PROLOG.sub("", source))
    text = COORDINATES.sub(lambda found: STEP.sub(r"\1", LONG.sub(r"\1", found[0])), UNSEEN.sub("", text))
    text = re.sub(r'<g id="text_\d+">', '<g class="letters">', text)
    text = COLOUR.sub(lambda found: f"var(--figure-{ROLES[found[0]]})", text)
    used = set(re.findall(r'href="#([^"]+)|url\(#([^)]+)', text))
    known = {one for pair in used for one in pair} | {"figure_1"}
    numbers = {one: "figure_1" if one == "figure_1" else str(k) for k, one in enumerate(sorted(known))}
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in known else "", text)
    return re.sub(r"> +<", "><", NAME.sub(lambda found: f"{found[1]}{name}-{numbers[found[2]]}", text))


def is_drawing(path: Path) -> bool:
    return path.parent.name == DRAWN and path.suffix == ".svg"


def read(app: Sphinx, path: Path, name: str, description: str) -> str:
    """Return the drawing in a file as part of a page."""
    return remembered(app.srcdir, inline)(path.read_text(encoding="utf-8"), name, description)


class InlineFigures(SphinxPostTransform):
    default_priority = 8  # after the front page has borrowed figures of chapters
    formats = ("html",)

    def run(self, **options) -> None:
        seen: Counter[str] = Counter()
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir, image["uri"])
            if is_drawing(path) and "thumbnail" not in image["classes"]:
                name = f"f{path.stem[:6]}{seen[path.stem] or ''}"
                seen[path.stem] += 1
                image.replace_self(nodes.raw("", read(self.app, path, name, image["alt"]), format="html"))


def draw(app: Sphinx, path: Path, description: str) -> str | None:
    """A drawing on the page of a claim."""
    if not is_drawing(path):
        return None
    return read(app, path, f"f{path.stem[:6]}", description)


def setup(app: Sphinx) -> None:
    app.connect("claim-drawing", draw)
    app.add_post_transform(InlineFigures)
