"""Makes the site complete in itself.

Drops scripts that a page does not need, or that only work with a network, and refuses figures without
alternative text.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
# The icons come from a font; what a search needs is on its own page.
UNNEEDED = re.compile(
    r"<(?:script|link)[^>]*/scripts/fontawesome\.js[^>]*>(?:</script>)?\s*"
    r'|<script type="text/x-thebe-config">.*?</script>\s*(?:<script>\s*kernelName[^<]*</script>\s*)?',
    re.S,
)
VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>\s*')
UNNAMED = re.compile(r'(<summary)(>\s*<span class="toctree-toggle")')
SEARCH = re.compile(r'<script[^>]*src="[^"]*(?:searchtools|language_data|searchindex)\.js[^>]*></script>\s*')


def refuse_figures_without_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning("a figure has no alternative text", location=image)


def keep_scripts_local(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    context["script_files"] = [script for script in context["script_files"] if "thebe" not in str(script)]
    context["css_files"] = [sheet for sheet in context["css_files"] if "thebe" not in str(sheet)]
    context["body"] = context.get("body", "").replace("<table ", '<table tabindex="0" ')


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = UNNEEDED.sub("", path.read_text(encoding="utf-8"))
        page = UNNAMED.sub(r'\1 aria-label="Chapters below"\2', page)
        if first := VIEWPORT.search(page):  # docutils, Sphinx and the theme write one each
            page = page[: first.end()] + VIEWPORT.sub("", page[first.end() :])
        path.write_text(page if path.name == "search.html" else SEARCH.sub("", page), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    for script in ("switch", "scroll", "preview"):
        app.add_js_file(f"{script}.classic.js", defer="defer")
    app.connect("doctree-read", refuse_figures_without_text)
    app.connect("html-page-context", keep_scripts_local, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": False}
