"""An index of the book: claims, errata, theorems, figures, sections, symbols and names of the library.

It is one classic script, which the search box loads when it is first used, so it works from the disk as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

from claim_cards import erratum_of, ledger_pages, verdict_of, verdicts
from docutils import nodes
from plain_text import plain
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from symbols import NOTATION, rows

from lib.claims.ledger import Paper, read_ledger

Thing = tuple[str, str, str, str, str]
"""What it is, its name, its text, its address from the root of the site, and its verdict if it has one."""


def line(text: str) -> str:
    """Return a text with TeX as characters, short enough for a line of the index."""
    return shorten(plain(text.replace("`", "")), 160, placeholder=" …")


def claims(env: BuildEnvironment, papers: tuple[Paper, ...]) -> Iterator[Thing]:
    for paper in papers:
        for claim in paper.claims:
            entry, anchor = verdicts(env).get(claim.id), f"scorecard-{claim.id}"
            page, anchor = (entry["docname"], f"claim-{claim.id}") if entry else ("book/scorecard", anchor)
            text = f"{claim.place}: {line(claim.corrected or claim.statement)}"
            yield "claim", claim.id, text, f"{page}.html#{anchor}", verdict_of(env, claim)


def errata(env: BuildEnvironment, papers: tuple[Paper, ...]) -> Iterator[Thing]:
    for paper in papers:
        listed = [(erratum.id, erratum.place, erratum.wrong) for erratum in paper.errata]
        listed += [(c.id, c.place, c.wrong) for c in paper.claims if c.wrong and erratum_of(c.id) == c.id]
        for name, place, wrong in listed:
            if page := ledger_pages(env).get(f"erratum-{name}"):
                text = f"{paper.key}, {place}: {line(wrong)}"
                yield "erratum", name, text, f"{page}.html#erratum-{name}", ""


def sections(env: BuildEnvironment) -> Iterator[Thing]:
    for page, contents in env.tocs.items():
        chapter = env.titles[page].astext()
        for link in contents.findall(nodes.reference):
            kind = "section" if link["anchorname"] else "page"
            name = link.astext() if kind == "section" else chapter
            yield kind, name, chapter if kind == "section" else "", f"{page}.html{link['anchorname']}", ""


def boxes_and_figures(env: BuildEnvironment) -> Iterator[Thing]:
    for page in env.found_docs:
        tree, chapter = env.get_doctree(page), env.titles[page].astext()
        for figure in tree.findall(nodes.figure):
            if figure["ids"] and (caption := next(figure.findall(nodes.caption), None)):
                yield "figure", line(caption.astext()), chapter, f"{page}.html#{figure['ids'][0]}", ""
        for box in tree.findall(lambda node: isinstance(node, nodes.Element) and "realtype" in node):
            title = line(box["title"]).strip("()") or box["label"]
            yield box["realtype"], title, chapter, f"{page}.html#{box['ids'][0]}", ""


def notation(env: BuildEnvironment) -> Iterator[Thing]:
    for row in rows(env):
        yield "symbol", row.name, row.meaning, f"{NOTATION}.html#{row.anchor}", ""


def library(env: BuildEnvironment) -> Iterator[Thing]:
    for name, obj in env.domaindata["py"]["objects"].items():
        if not obj.aliased:
            yield "lib", name, "", f"{obj.docname}.html#{obj.node_id}", ""


def write_index(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    env, papers = app.env, read_ledger()
    things = [
        *claims(env, papers),
        *errata(env, papers),
        *boxes_and_figures(env),
        *sections(env),
        *notation(env),
        *library(env),
    ]
    script = f"window.thingsOfTheBook = {json.dumps(things, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "things.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.add_js_file("find.classic.js", defer="defer")
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True}
