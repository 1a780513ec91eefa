"""Puts the figures of the chapters into the pages: they follow the theme and the width of the screen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from after_build import after_build
from docutils import nodes
from drawings import inline
from glyphs import write_fonts
from lettering import letters_of
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

DRAWN = "jupyter_execute"  # where myst-nb writes what cells have drawn


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
                drawing = inline(path.read_text(encoding="utf-8"), name, image["alt"])
                image.replace_self(nodes.raw("", drawing, format="html"))


def is_drawing(path: Path) -> bool:
    return path.parent.name == DRAWN and path.suffix == ".svg"


def write_letters(app: Sphinx) -> None:
    """Write fonts with the letters of all figures."""
    paths = [path for uri in app.env.images if is_drawing(path := Path(app.srcdir, uri))]
    letters = {letter for path in paths for letter in letters_of(path.read_text(encoding="utf-8"))}
    static = Path(app.outdir, "_static")
    (static / "letters.css").write_text(write_fonts(letters, static / "letters"), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_post_transform(InlineFigures)
    app.add_css_file("letters.css")
    after_build(app, write_letters)
