"""Lets a citation say what it cites when the pointer rests on it, without a script."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from lib.claims.ledger import read_ledger


def add_titles(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    papers = {paper.key: paper for paper in read_ledger()}
    cited = {item.citation_id: papers.get(item.key) for item in app.env.get_domain("cite").citations}
    for reference in doctree.findall(nodes.reference):
        _, _, anchor = reference.get("refuri", "").partition("#")
        if paper := cited.get(anchor):
            reference["reftitle"] = f"{paper.authors}: {paper.title} ({paper.year}), arXiv {paper.arxiv}"


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", add_titles)
    return {"version": "1", "parallel_read_safe": True}
