"""How readers and machines come to the site: what a link to a page shows, its root, its map, and a miss."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from textwrap import shorten
from urllib.parse import urlsplit

from borrowed import doctree
from docutils import nodes
from look import after_build, on_page, render
from markupsafe import Markup
from mathematics import plain
from provenance import citation
from sphinx.application import Sphinx

from executable_claims.claims.ledger import Claim

DESCRIPTION = 300  # characters; a preview shows no more
ENOUGH = 50  # a shorter description says little
PROMISE = re.compile(r"^.*?(?=At the end you will )")  # a chapter names its paper before


def tags(app: Sphinx, page: str, title: str, text: str) -> str:
    """The tags in the head of a page that say what a link to it shows."""
    shared = {"book": app.config.html_title, "base": app.config.html_baseurl}
    return render("link.html", page=page, title=title, text=text, **shared)


def text_of(node: nodes.Node) -> str:
    """What a reader reads of a paragraph, with its TeX as characters."""
    if isinstance(node, nodes.math):
        return plain(node.astext())
    return "".join(map(text_of, node.children)) if node.children else node.astext()


def description(page: nodes.document | None, title: str) -> str:
    """What a page promises, or its first sentences, or its title and what the book is about."""
    found = page.findall(nodes.paragraph) if page is not None else ()
    paragraphs = [text_of(one) for one in found if isinstance(one.parent, nodes.section)]
    texts = [" ".join(text.split()) for text in paragraphs]
    text = next((PROMISE.sub("", one) for one in texts if PROMISE.search(one)), "")
    for one in texts:
        text += " " + one if len(text) < ENOUGH else ""
    if len(text) < ENOUGH:
        text = f"{title}. {citation()['abstract']}"
    return shorten(text, DESCRIPTION, placeholder=" …")


def describe(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    named = app.env.titles.get(pagename)
    title = named.astext() if named else unescape(context.get("title", app.config.html_title))
    address = app.builder.get_target_uri(pagename)
    context["metatags"] = context.get("metatags", "") + tags(app, address, title, description(doctree, title))


def describe_claim(app: Sphinx, claim: Claim, verdict: str) -> str:
    """The tags of the preview of a claim's own page: the claim in words, and its verdict."""
    title, address = f"{claim.about}, {claim.paper}: {verdict}", f"{claim.id}.html"
    canonical = f"{app.config.html_baseurl}c/{address}" if app.config.html_baseurl else address
    shown = tags(app, f"c/{address}", title, claim.headline)
    return f'{shown}\n<link rel="canonical" href="{canonical}">'


def write(app: Sphinx) -> None:
    """Write what stands at the root: a page that opens the book, one for a miss, and for machines a map."""
    site, base, book = Path(app.outdir), app.config.html_baseurl, app.config.html_title
    start = app.builder.get_target_uri(app.config.root_doc)
    first = description(doctree(app.env, app.config.root_doc), book)
    described = Markup(tags(app, start, app.env.titles[app.config.root_doc].astext(), first))
    texts = {
        "index.html": render("index.html", described=described, book=book, start=start),
        "404.html": render("404.html", root=urlsplit(base).path or "/", book=book, start=start),
        "robots.txt": "User-agent: *\nAllow: /\n" + (f"Sitemap: {base}sitemap.xml\n" if base else ""),
    }
    if base:  # a map needs whole addresses
        pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
        claims = sorted(path.relative_to(site).as_posix() for path in site.glob("c/*.html"))
        texts["sitemap.xml"] = render("sitemap.xml", base=base, addresses=pages + claims)
    for name, text in texts.items():
        (site / name).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    on_page(app, describe)
    app.connect("claim-head", describe_claim)
    after_build(app, write)
