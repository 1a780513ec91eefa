"""Makes the site complete in itself, and lets the first screen of a page stand as it appears.

Drops scripts that a page does not need, or that only work with a network, and refuses figures without
alternative text.  The theme's colours are chosen before anything is drawn, the font of the text is fetched
with the style sheets, scripts do not hold a page up, and pictures are fetched when they are near.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from look import Context, after_build, on_page, render
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
FOLD = re.compile(r'<details class="(?:[^"]* )?(?:hide|claim-card)[ "]')
PLACES = '<p class="chapter-actions">', "</h1>"
SWITCH = (
    '<button type="button" class="fold-switch pst-js-only" aria-pressed="false">Show code and checks</button>'
)
# Pygments marks what has no colour of its own, half of the marks: names, punctuation, white space.
COLOURLESS = re.compile(r'<span class="[npw]">([^<]*)</span>')
# The icons come from a font, no page has tabs, and hints stand open; what a search needs is on its own page.
UNNEEDED = re.compile(
    r"<(?:script|link)[^>]*/(?:scripts/fontawesome|design-tabs|togglebutton)\.js[^>]*>(?:</script>)?\s*"
    r'|<script type="text/x-thebe-config">.*?</script>\s*(?:<script>\s*kernelName[^<]*</script>\s*)?',
    re.S,
)
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')
UNNAMED = re.compile(r'(<summary)(>\s*<span class="toctree-toggle")')
SEARCH = re.compile(
    r'<script[^>]*src="[^"]*(?:searchtools|language_data|searchindex|sphinx_highlight)\.js[^>]*></script>\s*'
)
WAITING = re.compile(r'<script (?=[^>]*src="[^"]*_static/(?!documentation_options|live/))(?!defer)')
# It only imports the other, which a browser would learn late.
IMPORTING, IMPORTED = re.compile(r'_static/styles/theme\.css[^"]*'), "_static/basic.css"
# What is left if the theme, or an extension, writes any of these otherwise.
LEFT = re.compile(
    r"<[^>]*\b(?:(?:fontawesome|design-tabs|togglebutton)\.js|x-thebe|styles/theme\.css)[^>]*>"
    r'|<summary(?![^>]*aria-label)[^>]*>\s*<span class="toctree-toggle"'
)
NOT_SERVED = ("**/*.map", "scripts/fontawesome.js")


def refuse_figures_without_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning("a figure has no alternative text", location=image)


def with_switch(body: str, page: str) -> str:
    """Return the body of a page with one switch below its title, where it has several folds.

    Raises ``ValueError`` if there is no title.
    """
    if len(FOLD.findall(body)) < 2:
        return body
    for place in PLACES:
        if place in body:
            return body.replace(place, place + SWITCH, 1)
    raise ValueError(f"{page} has folds and no place for their switch, allowed: after {' or '.join(PLACES)}")


def settle(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    for files in ("script_files", "css_files"):
        context[files] = [file for file in context[files] if "thebe" not in str(file)]
    body = with_switch(context.get("body", ""), page)
    body = body.replace("<img ", '<img loading="lazy" ').replace("<table ", '<table tabindex="0" ')
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')  # what a list may hold
    context["body"] = COLOURLESS.sub(r"\1", body)
    context["metatags"] = render("preload.html") + context.get("metatags", "")


def lean(source: str, name: str) -> str:
    """Return a page as it is served; ``ValueError`` if the theme has written it in another way."""
    page = UNNAMED.sub(r'\1 aria-label="Chapters below"\2', UNNEEDED.sub("", source))
    page = IMPORTING.sub(IMPORTED, page)
    if first := VIEWPORT.search(page):  # docutils, Sphinx and the theme write one each
        page = page[: first.end()] + VIEWPORT.sub("", page[first.end() :])
    if name != "search.html":
        page = WAITING.sub("<script defer ", SEARCH.sub("", page))
    if rest := LEFT.search(page):
        raise ValueError(f"{name} has {rest[0]!r}, which stands in no form that is known")
    return page


def finish(app: Sphinx) -> None:
    for path in Path(app.outdir).rglob("*.html"):
        source = path.read_text(encoding="utf-8")
        if (page := lean(source, path.relative_to(app.outdir).as_posix())) != source:
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
