"""Lets the first screen of a page stand as it appears: nothing is drawn twice, and nothing moves.

The theme's colours are chosen before anything is drawn, the font of the text is fetched with the style
sheets, pictures have their size in the page and are fetched when they are near, and the switch that opens all
folds is in the page before its script is.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath

import imagesize
from docutils import nodes
from markup import render
from sphinx.application import Sphinx

FOLD = re.compile(r'<details class="(?:[^"]* )?(?:hide|claim-card)[ "]')
PLACES = '<p class="chapter-actions">', "</h1>"
SWITCH = (
    '<button type="button" class="fold-switch pst-js-only" aria-pressed="false">Show code and checks</button>'
)
PICTURE = re.compile(r'<img (?![^>]*\bloading=)(?=[^>]*src="([^"]*_images/[^"]*)")')


def with_switch(body: str) -> str:
    """Return the page with one switch below its title, where it has several folds."""
    if len(FOLD.findall(body)) < 2:
        return body
    place = next((place for place in PLACES if place in body), "")
    return body.replace(place, place + SWITCH, 1)


@cache
def size(path: Path) -> tuple[int, int]:
    """Return width and height of a picture in pixels."""
    width, height = imagesize.get(path)
    return round(width), round(height)


def with_sizes(body: str, pictures: dict[str, Path]) -> str:
    """Return the page with the sizes of its ``pictures`` (by file name), each fetched when it is near."""

    def sized(found: re.Match) -> str:
        width, height = size(pictures[PurePosixPath(found[1]).name])
        return f'<img loading="lazy" decoding="async" width="{width}" height="{height}" '

    return PICTURE.sub(sized, body)


def settle(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.Node | None) -> None:
    pictures = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}
    context["body"] = with_sizes(with_switch(context.get("body", "")), pictures)
    context["metatags"] = render("preload.html") + context.get("metatags", "")


def setup(app: Sphinx) -> None:
    app.add_js_file(None, body=render("choose_colours.js"), priority=1)
    app.connect("html-page-context", settle, priority=960)
