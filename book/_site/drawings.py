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
    getattr(figures, role.upper()).lower(): role
    for role in ("simulation", "contrast", "third", "fourth", "theory")
}
COLOUR = re.compile("|".join(ROLES))
XLINK = "http://www.w3.org/1999/xlink"
REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=^#).+")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
LONG = re.compile(r"(\.\d\d)\d+")
STEP = re.compile(r"\s*([A-Za-z])\s*")
TEXT = re.compile(r"translate\(([-\d.]+) [-\d.]+\)( rotate\(\S+\))? scale\(([\d.]+) ")
SHIFT = re.compile(r"translate\(([-\d.]+)")
EM = 100  # the size at which Matplotlib lays out a text
BAR = 40.0  # points: what is narrower is no panel of its own but a bar of colours
LEGIBLE = 9  # pixels, the size of letters that one can read
LARGEST = 1.5  # pixels for a point, about as on a wide screen


def placed(pattern: re.Pattern, transform: str) -> re.Match:
    """Return how a text or a letter is placed; ``ValueError`` if not as Matplotlib does it."""
    if not (place := pattern.match(transform)):
        raise ValueError(f"transform of a text is {transform!r}, allowed: {pattern.pattern}")
    return place


def texts(element: Element) -> list[tuple[float, float, float]]:
    """Where each text begins and ends, from the left, and the size of its letters."""
    places = []
    for group in element.iterfind(".//g[@transform]"):
        place = placed(TEXT, group.attrib["transform"])
        left, size = float(place[1]), float(place[3]) * EM
        last = group[-1].get("transform") if len(group) else None
        length = size * (float(placed(SHIFT, last)[1]) / EM if last else 0.0) + size * 0.7
        places.append((left - size, left, size) if place[2] else (left, left + length, size))
    return places


def is_unseen(path: Element) -> bool:
    """Whether a path is neither filled nor stroked, as the frame of axes is."""
    return path.tag == "path" and path.get("style", "").replace(" ", "") == "fill:none"


def extent(axes: Element) -> tuple[float, float, float, float] | None:
    """Where axes begin with their labels, where their frame begins and ends, and where they end with labels.

    What has no frame, as axes that lie on others, has the room of its labels; ``None`` without any.
    """
    frame = next(filter(is_unseen, axes.iterfind("g/path")), None)
    across = [] if frame is None else [float(x) for x in NUMBER.findall(frame.get("d", ""))[::2]]
    labels = texts(axes)
    room = [*across, *(left for left, _, _ in labels)], [*across, *(right for _, right, _ in labels)]
    if not room[0]:
        return None
    return min(room[0]), min(across or room[0]), max(across or room[1]), max(room[1])


def borrows_labels(axes: Element) -> bool:
    """Whether axes have ticks for heights whose labels stand at a neighbour."""
    heights = [group for group in axes if group.get("id", "").startswith("matplotlib.axis")][1:]
    return any(next(axis.iter("use"), None) is not None and not texts(axis) for axis in heights)


def cuts(figure: Element) -> list[float]:
    """Where the columns of a drawing can be taken apart: each has labels of its own, and nothing crosses."""
    groups = [group for group in figure if group.get("id") != "patch_1"]
    rooms = [(room, borrows_labels(group)) for group in groups if (room := extent(group))]
    if len(rooms) < len(groups):
        return []
    edges, reached = [], 0.0
    for (left, start, end, right), borrows in sorted(rooms, key=lambda room: room[0][1]):
        if reached and left > reached and end - start > BAR and not borrows:
            edges.append((left + reached) / 2)
        reached = max(reached, right)
    return edges


def inline(source: str, name: str, description: str) -> str:
    """Return a drawing of Matplotlib as part of a page, where ``name`` is the only one of that name.

    Raises ``ValueError`` for another picture.
    """
    root = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", source, count=1))
    figure, box = root.find("g[@id='figure_1']"), NUMBER.findall(root.get("viewBox", ""))
    if figure is None or len(box) != 4:
        raise ValueError(f"{name} is no drawing of Matplotlib, which has a viewBox and a group figure_1")
    width, height = map(float, box[2:])
    edges = [0.0, *cuts(figure), width]
    smallest = min((size for *_, size in texts(figure)), default=LEGIBLE)
    shown = written([*root][[*root].index(figure) :], name)
    panels = []
    for left, right in pairwise(edges):
        across = right - left
        least, most = across * LEGIBLE / smallest, across * LARGEST
        style = f"--share:{across:.4g};--least:{least:.4g}px;--most:{most:.4g}px"
        panels.append(f'<svg viewBox="{left:.5g} 0 {across:.5g} {height:.5g}" style="{style}">{shown}</svg>')
        shown = f'<use xlink:href="#{name}-figure_1"/>'
    opening = f'<span class="drawing" role="img" aria-label="{escape(description)}"'
    return f'{opening} style="--width:{width:.5g};--height:{height:.5g}">{"".join(panels)}</span>'


def written(parts: list[Element], name: str) -> str:
    """Return what is drawn with names of its own, roles for colours and short coordinates."""
    for parent in [element for part in parts for element in part.iter()]:
        for patch in [child for child in parent if len(child) == 1 and is_unseen(child[0])]:
            parent.remove(patch)
    elements = [element for part in parts for element in part.iter()]
    used = {old for each in elements for text in each.attrib.values() for old in REFERENCE.findall(text)}
    names = {old: f"{name}-{k}" for k, old in enumerate(sorted(used))} | {"figure_1": f"{name}-figure_1"}
    for element in elements:
        element.text = element.tail = None
        is_text = element.get("id", "").startswith("text_")
        if (own := element.attrib.pop("id", "")) in names:
            element.set("id", names[own])
        for key, text in element.items():
            if key in ("d", "x", "y"):
                text = STEP.sub(r"\1", LONG.sub(r"\1", text)).strip()
            text = REFERENCE.sub(lambda old: names[old[0]], text)
            element.set(key, COLOUR.sub(lambda colour: f"var(--figure-{ROLES[colour[0]]})", text))
        if is_text:
            element.set("class", "letters")
    ElementTree.register_namespace("xlink", XLINK)
    texts = (ElementTree.tostring(part, "unicode") for part in parts)
    return "".join(texts).replace(f' xmlns:xlink="{XLINK}"', "").replace(" />", "/>")


def is_drawing(path: Path) -> bool:
    return path.parent.name == DRAWN and path.suffix == ".svg"


def read(app: Sphinx, path: Path, name: str, description: str) -> str:
    """Return the drawing in a file as part of a page."""
    return remembered(app.srcdir, inline)(path.read_text(encoding="utf-8"), name, description)


class InlineFigures(SphinxPostTransform):
    default_priority = 8  # after the front page has borrowed figures of chapters
    formats = ("html",)

    def run(self, **options: object) -> None:
        seen: Counter[str] = Counter()
        for image in list(self.document.findall(nodes.image)):
            path = Path(self.app.srcdir, image["uri"])
            if is_drawing(path) and "thumbnail" not in image["classes"]:
                name = f"f{path.stem[:6]}{seen[path.stem] or ''}"
                seen[path.stem] += 1
                image.replace_self(nodes.raw("", read(self.app, path, name, image["alt"]), format="html"))


def draw(app: Sphinx, path: Path, description: str) -> str | None:
    """A drawing on the page of a claim."""
    return read(app, path, f"f{path.stem[:6]}", description) if is_drawing(path) else None


def setup(app: Sphinx) -> None:
    app.connect("claim-drawing", draw)
    app.add_post_transform(InlineFigures)
