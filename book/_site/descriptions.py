"""Gives every page a description and what the preview of a link to it shows."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from textwrap import shorten

from colophon import address_of
from docutils import nodes
from link_previews import Preview, tags, write_picture
from plain_text import plain
from provenance import citation
from sphinx.application import Sphinx

from executable_claims.ledger import Claim

DESCRIPTION = 300  # characters; a preview shows no more
ENOUGH = 50  # a shorter description says little
PROMISE = re.compile(r"^.*?(?=At the end you will )")  # a chapter names its paper before


def text_of(node: nodes.Node) -> str:
    """What a reader reads of a paragraph, with its TeX as characters."""
    if isinstance(node, nodes.math):
        return plain(node.astext())
    return "".join(map(text_of, node.children)) if node.children else node.astext()


def description(doctree: nodes.document | None, title: str) -> str:
    """The first sentences of a page, or its title and what the book is about."""
    text = ""
    for paragraph in doctree.findall(nodes.paragraph) if doctree is not None else ():
        if isinstance(paragraph.parent, nodes.section) and len(text) < ENOUGH:
            words = " ".join(text_of(paragraph).split())
            text += " " + PROMISE.sub("", words)
    if len(text) < ENOUGH:
        text = f"{title}. {citation()['abstract']}"
    return shorten(text, DESCRIPTION, placeholder=" …")


def describe(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Put the tags of its preview into the head of a page, and write the picture; lists have the book's."""
    named = app.env.titles.get(pagename)
    title = named.astext() if named else unescape(context.get("title", app.config.html_title))
    preview = Preview(app.config.html_title, title, description(doctree, title))
    shown = preview if named else Preview(preview.book, preview.book, citation()["abstract"])
    base = app.config.html_baseurl or "../" * pagename.count("/")
    picture = base + write_picture(shown, Path(app.outdir))
    context["metatags"] = context.get("metatags", "") + tags(preview, picture, address_of(app, pagename))


def describe_claim(app: Sphinx, claim: Claim, verdict: str) -> str:
    """The tags of the preview of a claim's own page: the claim in words, and its verdict."""
    title, base = f"{claim.about}, {claim.paper}: {verdict}", app.config.html_baseurl
    preview = Preview(app.config.html_title, title, claim.in_words, verdict)
    picture = (base or "../") + write_picture(preview, Path(app.outdir))
    address = f"{base}c/{claim.id}.html" if base else f"{claim.id}.html"
    return f'{tags(preview, picture, base and address)}\n<link rel="canonical" href="{address}">'


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", describe, priority=930)
    app.connect("claim-head", describe_claim)
