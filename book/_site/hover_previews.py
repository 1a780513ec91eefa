"""Stores what links to other pages lead to, so that a link can show it.

Each page gets one classic script with the equations, theorems, figures, cards, errata, citations and first
lines that other pages link to in it.  It is loaded when it is first needed, from the disk as well.
"""

from __future__ import annotations

import hashlib
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

LINK = re.compile(r'<a class="[^"]*\binternal\b[^"]*" href="([^"#]+)#?([^"]*)"')
ARTICLE = re.compile(r"<article.*</article>", re.S)
# The first three as in preview.js, which shows what stands on its own page.
KINDS = "div.math, div.proof, figure, details.claim-card, div.erratum, div.citation"
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


def opening(section: Tag) -> str:
    """The heading of a section and its first lines."""
    heading = section.find(re.compile("^h[1-6]$"), recursive=False)
    parts, length = [heading], 0
    for part in heading.find_next_siblings():
        if part.name == "section" or length > OPENING:
            break
        if part.name == "p" or "math" in part.get("class", ()):
            parts.append(part)
            length += len(part.get_text())
    return "".join(map(str, parts))


def shown(found: Tag) -> str:
    """The HTML that stands for a place of a page; empty for one of no known kind."""
    if thing := found.css.closest(KINDS):
        return str(thing)
    section = found.parent if found.name == "span" else found
    is_section = section.name == "section" and section.find(re.compile("^h[1-6]$"), recursive=False)
    return opening(section) if is_section else ""


def moved(html: str, page: str, folder: str) -> str:
    """HTML of a page, for a page in another folder: its links and pictures are those they were."""

    def from_there(found: re.Match) -> str:
        target = unescape(found[0])
        if re.match(r"[a-z]+:", target):
            return found[0]
        whole = (
            f"{page}{target}" if target.startswith("#") else posixpath.join(posixpath.dirname(page), target)
        )
        path, mark, anchor = whole.partition("#")
        return escape(posixpath.relpath(path, folder) + mark + anchor)

    return ADDRESS.sub(from_there, html)


def fragment(html: str, page: str) -> str:
    """A part of ``page`` as it may stand in any page of a folder of the root: open, with ids of its own."""
    html = LEFT_OUT.sub("", html).replace("<details ", "<details open ")
    return moved(NAMES.sub(r"\g<0>preview-", html), page, "fragments")


def write_fragments(app: Sphinx) -> None:
    """Write ``_static/fragments/<page>.js`` for every page of the book."""
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
        # Not the whole page: other parts of the site change its head after this one.
        article = ARTICLE.search(html[page])[0]
        source = "\n".join([article, *sorted(wanted[page])])
        mark = f"// {hashlib.sha256(source.encode()).hexdigest()}\n"
        target = folder / f"{name}.js"
        if target.exists() and target.read_text(encoding="utf-8").startswith(mark):
            continue  # neither the page nor what is asked of it has changed
        tree = BeautifulSoup(article, "html.parser")
        places = {tag["id"]: tag for tag in tree.find_all(id=True)} | {"": tree.find("section")}
        found = {anchor: shown(places[anchor]) for anchor in sorted(wanted[page]) if anchor in places}
        stored = {anchor: fragment(text, page) for anchor, text in found.items() if text}
        target.parent.mkdir(parents=True, exist_ok=True)
        script = (
            f"(window.fragments ??= {{}})[{json.dumps(name)}] = {json.dumps(stored, ensure_ascii=False)};\n"
        )
        target.write_text(mark + script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    after_build(app, write_fragments)
