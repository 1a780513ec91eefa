"""The letters of Matplotlib's drawings: which character a glyph is, how wide it is, and fonts for the site.

A drawing names a glyph by its font and its number there.  The fonts are those that come with Matplotlib.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import matplotlib
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

FONTS = Path(matplotlib.get_data_path(), "fonts", "ttf")
POSTSCRIPT_NAME = 6
DROPPED = ["FFTM", "GDEF", "GPOS", "GSUB", "kern"]  # every letter is placed by itself


class Glyph(NamedTuple):
    character: str
    advance: float
    """How far the next letter is, in ems."""


@functools.cache
def files() -> dict[str, Path]:
    """The fonts of Matplotlib by their PostScript names."""
    return {name_of(path): path for path in sorted(FONTS.glob("*.ttf"))}


def name_of(path: Path) -> str:
    with TTFont(path, lazy=True) as font:
        return font["name"].getDebugName(POSTSCRIPT_NAME)


@functools.cache
def glyphs(name: str) -> list[Glyph | None]:
    """The glyphs of a font by number; ``None`` is one that no character has."""
    with TTFont(files()[name]) as font:
        characters = {one: chr(code) for code, one in sorted(font.getBestCmap().items(), reverse=True)}
        widths, em = font["hmtx"].metrics, font["head"].unitsPerEm
        return [
            Glyph(characters[one], widths[one][0] / em) if one in characters else None
            for one in font.getGlyphOrder()
        ]


def glyph(font: str, number: int) -> Glyph:
    """Return a glyph; raise ``ExtensionError`` for another's font and for what is no letter."""
    if font not in files():
        raise ExtensionError(f"a figure has letters of {font!r}, allowed: {', '.join(files())}")
    found = glyphs(font)[number]
    if found is None:
        raise ExtensionError(f"a figure has glyph {number} of {font}, allowed: glyphs of characters")
    return found


def write_fonts(letters: Iterable[tuple[str, int]], folder: Path) -> str:
    """Write fonts with these letters alone, and return the rules that name them in a style sheet."""
    numbers = defaultdict(set)
    for font, number in letters:
        numbers[font].add(number)
    folder.mkdir(parents=True, exist_ok=True)
    for name, kept in sorted(numbers.items()):
        with TTFont(files()[name]) as font:
            subset = Subsetter(Options(layout_features=[], hinting=False, name_IDs=[], drop_tables=DROPPED))
            subset.populate(gids=kept, text="".join(glyph(name, number).character for number in kept))
            subset.subset(font)
            font.flavor = "woff"
            font.save(folder / f"{name}.woff")
    return "".join(
        f'@font-face {{ font-family: "{font}"; src: url({folder.name}/{font}.woff) format("woff"); }}\n'
        for font in sorted(numbers)
    )
