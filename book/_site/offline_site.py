"""Makes the site complete in itself.

Drops scripts that a page does not need, or that only work with a network, and refuses figures without
alternative text.
"""

from __future__ import annotations

import re
from pathlib import Path

from after_build import after_build
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
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
# What some scripts are for: a page without it does without the script, and without its settings.
USES = {
    "togglebutton": re.compile(r'class="(?:(?:[^"]* )?toggle[ "]|[^"]*\badmonition [^"]*\bdropdown[ "])'),
    "design-tabs": re.compile(r'class="[^"]*\bsd-tab-'),
    "clipboard.min": re.compile(r'<div class="highlight'),
    "copybutton": re.compile(r'<div class="highlight'),
}
SCRIPT = re.compile(r"<script[^>]*/(?P<name>[\w.-]+)\.js[^>]*></script>\s*")
SETTING = re.compile(r"<script>(?:let|var) (?:toggleHint|toggleOpen|togglebutton)[^<]*</script>\s*")
WAITING = re.compile(r'<script (?=[^>]*src="[^"]*_static/(?!documentation_options))(?!defer)')
# The theme lays out all code, folded or not, to learn what scrolls: scroll.js does it without.
MEASURING = re.compile(r'"complete"===document\.readyState\?(\w)\(\):window\.addEventListener\("load",\1\)')
THEME = "scripts/pydata-sphinx-theme.js"
# It only imports the other, which a browser would learn late.
IMPORTING, IMPORTED = re.compile(r'_static/styles/theme\.css[^"]*'), "_static/basic.css"
NOT_SERVED = ("**/*.map", "scripts/fontawesome.js")


def refuse_figures_without_text(app: Sphinx, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        if not image.get("alt", "").strip():
            LOGGER.warning("a figure has no alternative text", location=image)


def keep_scripts_local(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    context["script_files"] = [script for script in context["script_files"] if "thebe" not in str(script)]
    context["css_files"] = [sheet for sheet in context["css_files"] if "thebe" not in str(sheet)]
    context["body"] = context.get("body", "").replace("<table ", '<table tabindex="0" ')


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
        page = UNNEEDED.sub("", source)
        page = UNNAMED.sub(r'\1 aria-label="Chapters below"\2', page)
        page = IMPORTING.sub(IMPORTED, page)
        if first := VIEWPORT.search(page):  # docutils, Sphinx and the theme write one each
            page = page[: first.end()] + VIEWPORT.sub("", page[first.end() :])
        page = page if path.name == "search.html" else lean(page)
        if page != source:
            path.write_text(page, encoding="utf-8")
    static = Path(app.outdir, "_static")
    theme, count = MEASURING.subn("0", (static / THEME).read_text(encoding="utf-8"))
    if count != 1:
        raise ExtensionError(f"{THEME}: what lays out all code stands in it {count} times, expected once")
    (static / THEME).write_text(theme, encoding="utf-8")
    for pattern in NOT_SERVED:
        for path in static.glob(pattern):
            path.unlink()


def setup(app: Sphinx) -> None:
    for script in ("switch", "scroll", "preview", "menu"):
        app.add_js_file(f"{script}.classic.js", defer="defer")
    app.connect("doctree-read", refuse_figures_without_text)
    app.connect("html-page-context", keep_scripts_local, priority=900)
    after_build(app, finish)
