"""Text of Matplotlib's drawings: outlines of letters become text that is set in the same places."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

from glyphs import glyph

from lib import figures

NUMBER = re.compile(r"-?\d*\.?\d+(?:e[-+]?\d+)?")
CALL = re.compile(r"(\w+)\(([^)]*)\)")
LETTER = re.compile(r"#([A-Za-z-]+)-([0-9a-f]+)$")
USED_LETTER = re.compile(r'href="#([A-Za-z-]+)-([0-9a-f]+)"')
PLAIN_FONT = "DejaVuSans"
PLAIN_STYLE = f"fill: {figures.THEORY.lower()}"
BLACK = "fill: #000"  # what Matplotlib does not say
EM = 100  # the size at which Matplotlib lays out a text
ASCENT, DESCENT = 0.8, 0.25  # of letters, in ems


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def moved(self, right: float, down: float) -> Box:
        return Box(self.left + right, self.top + down, self.right + right, self.bottom + down)


def around(boxes: list[Box], margin: float = 0.0) -> Box:
    """Return the least box around others, and a margin."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return Box(min(left) - margin, min(top) - margin, max(right) + margin, max(bottom) + margin)


def short(value: float) -> str:
    """Return a coordinate to two decimals."""
    return f"{round(value, 2) + 0.0:g}"


def calls(transform: str) -> dict[str, list[float]]:
    """Return the parts of a transformation, by name."""
    return {name: [float(one) for one in NUMBER.findall(values)] for name, values in CALL.findall(transform)}


class Letter(NamedTuple):
    font: str
    character: str
    advance: float
    x: float
    y: float
    size: float


class Text(Element):
    """A group with a line of text, which knows the room it takes and the size of its letters."""

    box: Box
    size: float


def set_letters(element: Element) -> None:
    """Put text in the place of the outlines of letters."""
    for place, child in enumerate(element):
        if any(LETTER.match(use.get("href", "")) for use in child.findall("use")):
            element[place] = text_of(child)
        else:
            set_letters(child)


def text_of(outlines: Element) -> Text:
    """Return outlines of letters as text, with the strokes that a formula has beside its letters."""
    place, group = calls(outlines.attrib["transform"]), Text("g")
    group.size = place["scale"][0] * EM
    letters = [letter_of(use, group.size) for use in outlines.findall("use")]
    group.box = room(letters, *place["translate"], *place.get("rotate", [0.0]))
    text = SubElement(group, "text", {"font-size": short(group.size), **turned(place)})
    if (style := outlines.get("style", BLACK)) != PLAIN_STYLE:
        text.set("style", style)
    for _, run in groupby(enumerate(letters), run_of):
        text.append(span_of([letter for _, letter in run], group.size))
    if strokes := outlines.findall("path"):
        SubElement(group, "g", outlines.attrib).extend(strokes)
    return group


def turned(place: dict[str, list[float]]) -> dict[str, str]:
    moves = {name: place[name] for name in ("translate", "rotate") if name in place}
    return {"transform": "".join(f"{name}({' '.join(map(short, values))})" for name, values in moves.items())}


def letters_of(source: str) -> set[tuple[str, int]]:
    """Return the letters of a drawing: the name of the font, and the number of the glyph."""
    return {(font, int(number, 16)) for font, number in USED_LETTER.findall(source)}


def letter_of(use: Element, size: float) -> Letter:
    font, number = LETTER.match(use.attrib["href"]).groups()  # type: ignore[union-attr]
    found, at = glyph(font, int(number, 16)), calls(use.get("transform", ""))
    x, y = at.get("translate", [0.0, 0.0])
    letter = found.character, found.advance, x * size / EM, -y * size / EM
    return Letter(font, *letter, size * at.get("scale", [1.0])[0])


def run_of(numbered: tuple[int, Letter]) -> tuple:
    """What letters of one span share; browsers do not agree on how to count what is beyond 16 bits."""
    number, letter = numbered
    alone = number if ord(letter.character) > 0xFFFF else -1
    return letter.font, short(letter.y), letter.size, alone


def span_of(run: list[Letter], size: float) -> Element:
    first = run[0]
    span = Element("tspan", {"x": " ".join(short(one.x) for one in run), "y": short(first.y)})
    span.text = "".join(one.character for one in run)
    if first.font != PLAIN_FONT:
        span.set("font-family", first.font)
    if first.size != size:
        span.set("font-size", short(first.size))
    return span


def room(letters: list[Letter], right: float, down: float, degrees: float) -> Box:
    """Return the room that letters take when they are turned and moved."""
    sizes = [
        Box(a.x, a.y - ASCENT * a.size, a.x + a.advance * a.size, a.y + DESCENT * a.size) for a in letters
    ]
    box, angle = around(sizes), math.radians(degrees)
    corners = [(x, y) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    points = [
        (x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle))
        for x, y in corners
    ]
    return around([Box(x, y, x, y) for x, y in points]).moved(right, down)
