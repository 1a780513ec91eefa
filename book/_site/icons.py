"""Leaves in the fonts of icons the few that the site shows."""

from __future__ import annotations

import re
from pathlib import Path

from after_build import after_build
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

ICON = re.compile("[\ue000-\uf8ff]")
SOURCE = re.compile(
    r'(url\([^()]*/fa-[\w-]+\.)woff2\) *format\("woff2"\), *url\([^()]*\.ttf\) *format\("truetype"\)'
)
FONTS = "vendor/fontawesome/webfonts"


def subset(font: Path, icons: set[int]) -> None:
    """Write beside a font, as WOFF, the same font with the ``icons`` alone, and remove the whole one."""
    small = TTFont(font, recalcTimestamp=False)
    subsetter = Subsetter(Options(layout_features=[], notdef_outline=True))
    subsetter.populate(unicodes=icons)
    subsetter.subset(small)
    small.flavor = "woff"
    small.save(font.with_suffix(".woff"))
    font.unlink()
    font.with_suffix(".woff2").unlink()


def write_icons(app: Sphinx) -> None:
    static = Path(app.outdir, "_static")
    sheets = {path: path.read_text(encoding="utf-8") for path in static.rglob("*.css")}
    icons = {ord(icon) for sheet in sheets.values() for icon in ICON.findall(sheet)}
    for font in sorted((static / FONTS).glob("*.ttf")):
        subset(font, icons)
    for path, sheet in sheets.items():
        path.write_text(SOURCE.sub(r'\1woff) format("woff")', sheet), encoding="utf-8")


def setup(app: Sphinx) -> None:
    after_build(app, write_icons, priority=995)  # when the sheets name what is shown alone
