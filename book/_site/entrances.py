"""How readers and machines come to the site: what a link to a page shows, its root, its map, and a miss."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from textwrap import shorten
from urllib.parse import urlsplit

from borrowed import doctree
from docutils import nodes
from look import Context, after_build, on_page, render
from markupsafe import Markup
from mathematics import plain
from provenance import citation
from sphinx.application import Sphinx

from executable_claims.ledger import Claim

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
    paragraphs = page.findall(nodes.paragraph) if page is not None else ()
    texts = [
        " ".join(text_of(paragraph).split())
        for paragraph in paragraphs
        if isinstance(paragraph.parent, nodes.section)
    ]
    said = next((PROMISE.sub("", text) for text in texts if PROMISE.search(text)), "")
    for text in texts:
        said += " " + text if len(said) < ENOUGH else ""
    if len(said) < ENOUGH:
        said = f"{title}. {citation()['abstract']}"
    return shorten(said, DESCRIPTION, placeholder=" …")


def describe(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    named = app.env.titles.get(page)  # what Sphinx writes itself, as the search, has its title in the context
    title = named.astext() if named else unescape(context.get("title", app.config.html_title))
    shown = tags(app, app.builder.get_target_uri(page), title, description(doctree, title))
    context["metatags"] = context.get("metatags", "") + shown


def describe_claim(app: Sphinx, claim: Claim, verdict: str) -> str:
    """The tags of the preview of a claim's own page: the claim in words, and its verdict."""
    address = f"c/{claim.id}.html"
    shown = tags(app, address, f"{claim.about}, {claim.paper}: {verdict}", claim.headline)
    base = app.config.html_baseurl
    return f'{shown}\n<link rel="canonical" href="{base + address if base else f"{claim.id}.html"}">'


def write(app: Sphinx) -> None:
    """Write what stands at the root: a page that opens the book, one for a miss, and for machines a map."""
    site, base, root = Path(app.outdir), app.config.html_baseurl, app.config.root_doc
    shared = {"book": app.config.html_title, "start": app.builder.get_target_uri(root)}
    first = description(doctree(app.env, root), shared["book"])
    described = Markup(tags(app, shared["start"], app.env.titles[root].astext(), first))
    (site / "index.html").write_text(render("index.html", described=described, **shared), encoding="utf-8")
    miss = render("404.html", root=urlsplit(base).path or "/", **shared)
    (site / "404.html").write_text(miss, encoding="utf-8")
    robots = "User-agent: *\nAllow: /\n"
    if base:  # a map needs whole addresses
        pages = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
        claims = sorted(path.relative_to(site).as_posix() for path in site.glob("c/*.html"))
        map_of_site = render("sitemap.xml", base=base, addresses=pages + claims)
        (site / "sitemap.xml").write_text(map_of_site, encoding="utf-8")
        robots += f"Sitemap: {base}sitemap.xml\n"
    (site / "robots.txt").write_text(robots, encoding="utf-8")


def setup(app: Sphinx) -> None:
    on_page(app, describe)
    app.connect("claim-head", describe_claim)
    after_build(app, write)
