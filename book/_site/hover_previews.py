"""Stores what links to other pages lead to, so that a link can show it.

Each page gets one classic script with the equations, theorems, figures, cards, errata, citations and first
lines that other pages link to in it.  It is loaded when it is first needed, from the disk as well.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from look import after_build
from sphinx.application import Sphinx

from executable_claims.dependencies import digest

LINK = re.compile(r'<a class="[^"]*\binternal\b[^"]*" href="([^"#]+)#?([^"]*)"')
ARTICLE = re.compile(r"<article.*</article>", re.S)
# The first three as in preview.js, which shows what stands on its own page.
KINDS = "div.math, div.proof, figure, details.claim-card, div.erratum, div.citation"
HEADING = re.compile("^h[1-6]$")
OPENING = 400  # characters of the first lines
ADDRESS = re.compile(r'(?:(?<= href=")|(?<= src="))[^"]*')
LEFT_OUT = re.compile(r'<a class="headerlink".*?</a>|<script.*?</script>| tabindex="[^"]*"', re.S)
NAMES = re.compile(r' id="|xlink:href="#|url\(#|aria-labelledby="')


def links(page: str, html: str) -> Iterator[tuple[str, str]]:
    """What ``page`` can show of other pages: a page, from the root of the site, and an anchor in it."""
    for path, anchor in set(LINK.findall(html)):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unescape(path)))
        if target != page:
            yield target, unescape(anchor)


def article(page: str, html: str) -> str:
    """What the page says: other parts of the site change its head after this one."""
    if not (match := ARTICLE.search(html)):
        raise ValueError(f"{page} has no article, allowed: pages of the theme")
    return match[0]


def opening(heading: Tag) -> str:
    """The heading of a section and its first lines."""
    parts, length = [heading], 0
    for part in heading.find_next_siblings():
        if part.name == "section" or length > OPENING:
            break
        if part.name == "p" or "math" in part.get_attribute_list("class"):
            parts.append(part)
            length += len(part.get_text())
    return "".join(map(str, parts))


def shown(place: Tag) -> str:
    """The HTML that stands for a place of a page; empty for one of no known kind."""
    if thing := place.css.closest(KINDS):
        return str(thing)
    section = place.parent if place.name == "span" else place
    headings = section.find_all(HEADING, recursive=False) if section and section.name == "section" else []
    return opening(headings[0]) if headings else ""


def moved(html: str, page: str, folder: str) -> str:
    """HTML of a page, for a page in another folder: its links and pictures are those they were."""

    def from_there(address: re.Match) -> str:
        target = unescape(address[0])
        if re.match(r"[a-z]+:", target):
            return address[0]
        there = posixpath.basename(page) + target if target.startswith("#") else target
        path, mark, anchor = posixpath.join(posixpath.dirname(page), there).partition("#")
        return escape(posixpath.relpath(path, folder) + mark + anchor)

    return ADDRESS.sub(from_there, html)


def fragment(html: str, page: str) -> str:
    """A part of ``page`` as it may stand in any page of a folder of the root: open, with ids of its own."""
    html = LEFT_OUT.sub("", html).replace("<details ", "<details open ")
    return moved(NAMES.sub(r"\g<0>preview-", html), page, "fragments")


def fragments(page: str, html: str, anchors: list[str]) -> dict[str, str]:
    """The parts of a page at these anchors, its beginning at the empty one."""
    tree = BeautifulSoup(html, "html.parser")
    places = {str(tag["id"]): tag for tag in tree.find_all(id=True)} | {"": tree.find("section")}
    parts = {anchor: shown(place) for anchor in anchors if (place := places.get(anchor))}
    return {anchor: fragment(part, page) for anchor, part in parts.items() if part}


def write_fragments(app: Sphinx) -> None:
    """Write ``_static/fragments/<page>.js`` for every page that has changed, or of which others ask else."""
    pages = {app.builder.get_target_uri(name): name for name in app.env.found_docs}
    html = {page: Path(app.outdir, page).read_text(encoding="utf-8") for page in pages}
    wanted = defaultdict(set)
    for page, text in html.items():
        for target, anchor in links(page, text):
            wanted[target].add(anchor)
    folder = Path(app.outdir, "_static", "fragments")
    for left in set(folder.rglob("*.js")).difference(folder / f"{name}.js" for name in pages.values()):
        left.unlink()  # of a page that is no more
    for page, name in pages.items():
        text, anchors, script = article(page, html[page]), sorted(wanted[page]), folder / f"{name}.js"
        mark = f"// {digest(''.join([text, *anchors]))}\n"
        if not (script.exists() and script.read_text(encoding="utf-8").startswith(mark)):
            script.parent.mkdir(parents=True, exist_ok=True)
            stored = json.dumps(fragments(page, text, anchors), ensure_ascii=False)
            statement = f"(window.fragments ??= {{}})[{json.dumps(name)}] = {stored};\n"
            script.write_text(mark + statement, encoding="utf-8")


def setup(app: Sphinx) -> None:
    after_build(app, write_fragments)
