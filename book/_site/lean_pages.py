"""Makes the site complete in itself, and lets the first screen of a page stand as it appears.

Drops scripts that a page does not need, or that only work with a network, and refuses figures without
alternative text.  The theme's colours are chosen before anything is drawn, the font of the text is fetched
with the style sheets, and pictures have their size in the page and are fetched when they are near.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath

import imagesize
from after_build import after_build, on_page
from docutils import nodes
from markup import render
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
FOLD = re.compile(r'<details class="(?:[^"]* )?(?:hide|claim-card)[ "]')
PLACES = '<p class="chapter-actions">', "</h1>"
SWITCH = (
    '<button type="button" class="fold-switch pst-js-only" aria-pressed="false">Show code and checks</button>'
)
PICTURE = re.compile(r'<img (?![^>]*\bloading=)(?=[^>]*src="([^"]*_images/[^"]*)")')
# The icons come from a font; what a search needs is on its own page.
UNNEEDED = re.compile(
    r"<(?:script|link)[^>]*/scripts/fontawesome\.js[^>]*>(?:</script>)?\s*"
    r'|<script type="text/x-thebe-config">.*?</script>\s*(?:<script>\s*kernelName[^<]*</script>\s*)?',
    re.S,
)
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')
UNNAMED = re.compile(r'(<summary)(>\s*<span class="toctree-toggle")')
SEARCH = re.compile(r'<script[^>]*src="[^"]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>\s*')
# What some scripts are for: a page without it does without the script, and without its settings.
USES = {
    "togglebutton": re.compile(r'class="(?:(?:[^"]* )?toggle[ "]|[^"]*\badmonition [^"]*\bdropdown[ "])'),
    "design-tabs": re.compile(r'class="[^"]*\bsd-tab-'),
    "clipboard.min": re.compile(r'<div class="highlight'),
    "copybutton": re.compile(r'<div class="highlight'),
}
SCRIPT = re.compile(r"<script[^>]*/(?P<name>[\w.-]+)\.js[^>]*></script>\s*")
SETTING = re.compile(r"<script>(?:let|var) (?:toggleHint|toggleOpen|togglebutton)[^<]*</script>\s*")
WAITING = re.compile(r'<script (?=[^>]*src="[^"]*_static/(?!documentation_options|live/))(?!defer)')
# It only imports the other, which a browser would learn late.
IMPORTING, IMPORTED = re.compile(r'_static/styles/theme\.css[^"]*'), "_static/basic.css"
NOT_SERVED = ("**/*.map", "scripts/fontawesome.js")


def refuse_figures_without_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning("a figure has no alternative text", location=image)


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
    for files in ("script_files", "css_files"):
        context[files] = [one for one in context[files] if "thebe" not in str(one)]
    pictures = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}
    body = context.get("body", "").replace("<table ", '<table tabindex="0" ')
    context["body"] = with_sizes(with_switch(body), pictures)
    context["metatags"] = render("preload.html") + context.get("metatags", "")


def lean(page: str) -> str:
    """Return a page without the scripts that nothing on it uses; the others do not hold it up."""
    for name, use in USES.items():
        if not use.search(page):
            page = SCRIPT.sub(lambda found, name=name: "" if found["name"] == name else found[0], page)
    if "/togglebutton.js" not in page:
        page = SETTING.sub("", page)
    return WAITING.sub("<script defer ", SEARCH.sub("", page))


def finish(app: Sphinx) -> None:
    for path in Path(app.outdir).rglob("*.html"):
        source = path.read_text(encoding="utf-8")
        page = UNNAMED.sub(r'\1 aria-label="Chapters below"\2', UNNEEDED.sub("", source))
        page = IMPORTING.sub(IMPORTED, page)
        if first := VIEWPORT.search(page):  # docutils, Sphinx and the theme write one each
            page = page[: first.end()] + VIEWPORT.sub("", page[first.end() :])
        page = page if path.name == "search.html" else lean(page)
        if page != source:
            path.write_text(page, encoding="utf-8")
    for pattern in NOT_SERVED:
        for path in Path(app.outdir, "_static").glob(pattern):
            path.unlink()


def setup(app: Sphinx) -> None:
    app.add_js_file(None, body=render("choose_colours.js"), priority=1)
    for script in ("switch", "scroll", "preview", "menu"):
        app.add_js_file(f"{script}.classic.js", defer="defer")
    app.connect("doctree-read", refuse_figures_without_text)
    on_page(app, settle)
    after_build(app, finish)
