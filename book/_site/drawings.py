"""Rewrites the drawings of Matplotlib for a web page: text as text, roles for colours, and one SVG a panel.

A panel is what stacks on a narrow screen: a pair of axes with its labels, or several that lie on each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from lettering import NUMBER, Box, Text, around, calls, set_letters, short

from lib import figures

ROLES = {
    figures.SIMULATION.lower(): "simulation",
    figures.CONTRAST.lower(): "contrast",
    figures.THIRD.lower(): "third",
    figures.FOURTH.lower(): "fourth",
    figures.THEORY.lower(): "theory",
}
COLOUR = re.compile("|".join(ROLES))
REFERENCE = re.compile(r"(?<=^#)[\w-]+|(?<=url\(#)[\w-]+")
OPACITY = re.compile(r"(^|;)opacity")  # of each one, which a group would have once
GROUND = "patch_1"  # of the figure
INVISIBLE = "fill: none"
UNGROUPED = ("defs", "text")  # the style sheet has rules for text
MARGIN = 3.0  # points around a panel
LEGIBLE = 9  # pixels, the size of letters that one can read
LARGEST = 1.5  # pixels for a point, about as on a wide screen


@dataclass
class Axes:
    """A pair of axes, or what stands beside all axes."""

    group: Element
    frame: Box
    box: Box


@dataclass(eq=False)
class Panel:
    axes: list[Axes]
    labels: list[Element] = field(default_factory=list)
    """Labels of neighbours, which this panel needs when it stands alone."""

    @property
    def box(self) -> Box:
        return around([*(one.box for one in self.axes), *extents(self.labels)], MARGIN)

    @property
    def least(self) -> float:
        """The width in pixels at which the smallest letters can be read."""
        sizes = [text.size for one in self.axes for text in texts(one.group)]
        return (self.box.right - self.box.left) * LEGIBLE / min(sizes, default=LEGIBLE)


def panels_of(figure: Element) -> list[Panel]:
    """Return the panels of a figure in their order, joined where their frames overlap."""
    panels: list[Panel] = []
    for axes in filter(None, (axes_of(group) for group in figure if group.get("id") != GROUND)):
        touched = [panel for panel in panels if any(axes.frame.overlaps(one.frame) for one in panel.axes)]
        place = panels.index(touched[0]) if touched else len(panels)
        panels = [panel for panel in panels if panel not in touched]
        panels.insert(place, Panel([*(one for panel in touched for one in panel.axes), axes]))
    share_labels(panels)
    return panels


def axes_of(group: Element) -> Axes | None:
    """Return axes and their frame, or all they draw if they have none; ``None`` if they draw nothing."""
    ground = group.find(f"g/path[@style='{INVISIBLE}']")
    frame = list(extents([group] if ground is None else [ground], clipped=True))
    return Axes(group, around(frame), around([*frame, *extents(group)])) if frame else None


def extents(elements: Iterable[Element], clipped: bool = False) -> Iterator[Box]:
    """Yield the room of everything in elements, that of what a frame may clip only if asked for."""
    for element in elements:
        place = calls(element.get("transform", ""))
        if isinstance(element, Text):
            yield element.box
        elif element.tag == "defs" or ("clip-path" in element.attrib and not clipped):
            continue
        elif element.tag == "image":  # upside down
            x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
            bottom = -(y + place["translate"][1])
            yield Box(x, bottom - height, x + width, bottom)
        elif element.tag == "path":
            numbers = [float(one) for one in NUMBER.findall(element.attrib["d"])]
            yield from (Box(x, y, x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
        elif element.tag == "use":
            x, y = float(element.attrib["x"]), float(element.attrib["y"])
            yield Box(x, y, x, y)
        else:
            right, down = place.get("translate", (0.0, 0.0))
            yield from (box.moved(right, down) for box in extents(element, clipped))


def share_labels(panels: list[Panel]) -> None:
    """Give panels that leave the labels of a shared axis to a neighbour labels of their own."""
    for panel in panels:
        others = [axes for other in panels if other is not panel for axes in other.axes]
        for axes in panel.axes:
            for direction in "xy":
                if len(own := axis(axes, direction)) and not texts(own):
                    panel.labels += labels_of(others, own, direction, axes.frame)


def texts(element: Element) -> list[Text]:
    return [one for one in element.iter() if isinstance(one, Text)]


def axis(axes: Axes, direction: str) -> Element:
    """Return the horizontal or the vertical axis, which is empty if it is not drawn."""
    ticks = f"{direction}tick"
    found = (group for group in axes.group if any(one.get("id", "").startswith(ticks) for one in group))
    return next(found, Element("g"))


def ticks_of(axis: Element, direction: str) -> set[str]:
    return {use.attrib[direction] for use in axis.iter("use")}


def labels_of(others: list[Axes], own: Element, direction: str, frame: Box) -> list[Element]:
    """Return the labels that one of other axes has at the same ticks, moved to a frame."""
    ticks = ticks_of(own, direction)
    for axes in others:
        there = axis(axes, direction)
        if texts(there) and ticks_of(there, direction) == ticks:
            right, down = frame.left - axes.frame.left, frame.bottom - axes.frame.bottom
            move = f"translate({short(right)} 0)" if direction == "y" else f"translate(0 {short(down)})"
            group = Element("g", {"class": "drawing-shared", "transform": move})
            group.extend(texts(there))
            return [group]
    return []


# The page


def parsed(source: str) -> Element:
    """Return a drawing without namespaces, which a page has not, and with text for outlines of letters."""
    root = ElementTree.fromstring(source)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    set_letters(root)
    return root


def inline(source: str, name: str, description: str) -> str:
    """Return a drawing of Matplotlib as part of a page.

    What its parts refer to is called by ``name`` and a number; a name must be the only one on the page.
    """
    root = parsed(source)
    panels = panels_of(next(group for group in root if group.get("id", "").startswith("figure")))
    size = [float(one) for one in NUMBER.findall(root.attrib["viewBox"])[2:]]
    names = {old: f"{name}-{number}" for number, old in enumerate(sorted(referred(root)))}
    clips = list(root.iter("clipPath"))
    drawn = [drawn_panel(panel, size, names, clips if panel is panels[0] else []) for panel in panels]
    style = f"--width:{short(size[0])};--height:{short(size[1])}"
    opening = f'<span class="drawing" role="img" aria-label="{escape(description)}" style="{style}">'
    return opening + "".join(drawn) + "</span>"


def referred(root: Element) -> set[str]:
    """Return the names that elements are referred to by."""
    values = (value for one in root.iter() for value in one.attrib.values())
    return {name for value in values for name in REFERENCE.findall(value)}


def drawn_panel(panel: Panel, size: list[float], names: dict[str, str], clips: list[Element]) -> str:
    """Return a panel as SVG: on a wide screen it stands at its place in the figure."""
    box = panel.box
    width, height = box.right - box.left, box.bottom - box.top
    svg = Element("svg", {"viewBox": " ".join(map(short, (box.left, box.top, width, height)))})
    shares = zip(("left", "top", "across", "down"), (box.left, box.top, width, height), size * 2, strict=True)
    style = [f"--{key}:{short(100 * value / whole)}%" for key, value, whole in shares]
    style += [f"--least:{short(panel.least)}px", f"--most:{short(width * LARGEST)}px"]
    svg.set("style", ";".join(style))
    for element in [*clips, *(axes.group for axes in panel.axes), *panel.labels]:
        svg.extend(tidy(element, names))
    return ElementTree.tostring(svg, encoding="unicode")


def tidy(element: Element, names: dict[str, str]) -> list[Element]:
    """Return an element as it stands on a page, without what draws nothing; a group may become several."""
    if element.get("style") == INVISIBLE:
        return []
    new = Element(element.tag, dict(written(element, names)))
    new.text = element.text if element.tag == "tspan" else None
    children = [child for one in element for child in tidy(one, names)]
    if element.get("id", "").startswith("matplotlib.axis"):
        children.sort(key=lambda child: child.tag)  # the ticks, then their labels
    new.extend(gathered(children))
    return list(new) if element.tag == "g" and not new.attrib else [new]


def written(element: Element, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of an element, with roles for colours, short coordinates and its new name."""
    for key, value in element.attrib.items():
        if key == "d":
            points = NUMBER.sub(lambda found: short(float(found[0])), value)
            yield key, re.sub(r"\s*([A-Za-z])\s*", r"\1", points).strip()
        elif key in ("x", "y") and element.tag == "use":
            yield key, short(float(value))
        elif key == "href":
            yield "xlink:href", REFERENCE.sub(lambda found: names[found[0]], value)  # not a link of the page
        elif key != "id":
            renamed = REFERENCE.sub(lambda found: names[found[0]], value)
            roles = COLOUR.sub(lambda found: f"var(--figure-{ROLES[found[0]]})", renamed)
            yield key, roles.replace(": ", ":").replace("; ", ";")
        elif value in names:
            yield key, names[value]


def gathered(elements: list[Element]) -> list[Element]:
    """Put neighbours of one style in a group that has it."""
    groups: list[Element] = []
    for style, run in groupby(elements, lambda one: "" if one.tag in UNGROUPED else one.get("style", "")):
        same = list(run)
        if style and len(same) > 1 and not OPACITY.search(style):
            for element in same:
                del element.attrib["style"]
            group = Element("g", {"style": style})
            group.extend(same)
            same = [group]
        groups += same
    return groups
