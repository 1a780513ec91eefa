"""An index of the book: subjects, claims, errata, theorems, figures, sections and names of the library.

It is one classic script, which the search box loads when it is first used, so it works from the disk as well.
What answers equally well is shown in the order of the index, which no build before may change: pages by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

import yaml
from borrowed import doctree
from docutils import nodes
from look import after_build
from mathematics import plain
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from executable_claims.ledger import Paper, read_ledger
from executable_claims.outcomes import errata_of, outcomes

SUBJECTS = "book/subjects.yml"
SECTIONED = (nodes.section, nodes.document)

Thing = tuple[str, str, str, str, str]
"""What it is, its name, its text, its address from the root of the site, and its verdict if it has one."""


def line(text: str, length: int = 160) -> str:
    """Return a text with TeX as characters, short enough for a line of the index."""
    return shorten(plain(text.replace("`", "")), length, placeholder=" …")


def claims(env: BuildEnvironment, papers: tuple[Paper, ...]) -> Iterator[Thing]:
    known = outcomes(env)
    for paper in papers:
        for claim in paper.claims:
            anchor = f"{'claim' if claim.id in known.records else 'scorecard'}-{claim.id}"
            if anchor not in known.pages:
                raise ValueError(
                    f"{anchor} is on no page, allowed: claims with a card or a line of the scorecard"
                )
            text, address = f"{claim.in_words} {line(claim.place)}", f"{known.pages[anchor]}.html#{anchor}"
            yield "claim", claim.id, text, address, known.verdict(claim)


def errata(env: BuildEnvironment, papers: tuple[Paper, ...]) -> Iterator[Thing]:
    for paper in papers:
        for note in (*errata_of(paper), *paper.remarks):
            if page := outcomes(env).pages.get(f"erratum-{note.id}"):
                text = f"{paper.key}, {note.place}: {line(note.wrong)}"
                yield "erratum", note.id, text, f"{page}.html#erratum-{note.id}", ""


def sections(env: BuildEnvironment) -> Iterator[Thing]:
    """The pages and their sections; what the reference of the library has is among its names."""
    for page, contents in sorted(env.tocs.items()):
        chapter = env.titles[page].astext()
        first = next(doctree(env, page).findall(nodes.paragraph), None)
        yield "page", chapter, line(first.astext(), 300) if first else "", f"{page}.html", ""
        for link in contents.findall(nodes.reference):
            if link["anchorname"] and not page.startswith("book/api/"):
                yield "section", link.astext(), chapter, f"{page}.html{link['anchorname']}", ""


def boxes_and_figures(env: BuildEnvironment) -> Iterator[Thing]:
    for page in sorted(env.found_docs):
        tree, chapter = doctree(env, page), env.titles[page].astext()
        for figure in tree.findall(nodes.figure):
            if figure["ids"] and (caption := next(figure.findall(nodes.caption), None)):
                yield "figure", line(caption.astext()), chapter, f"{page}.html#{figure['ids'][0]}", ""
        for box in tree.findall(lambda node: isinstance(node, nodes.Element) and "realtype" in node):
            title = line(box["title"]).strip("()") or box["label"]
            yield box["realtype"], title, chapter, f"{page}.html#{box['ids'][0]}", ""


def numbered(env: BuildEnvironment) -> Iterator[Thing]:
    """The chapters, theorems and figures by the numbers that they have in the book."""
    for page, kinds in sorted(env.toc_fignumbers.items()):
        title = env.titles[page].astext()
        if number := env.toc_secnumbers.get(page, {}).get(""):
            yield "number", f"Chapter {number[0]}", title, f"{page}.html", ""
        for kind, numbers in kinds.items():
            for anchor, number in numbers.items() if kind != "displaymath" else ():
                name = f"{kind.capitalize()} {'.'.join(map(str, number))}"
                yield "number", name, title, f"{page}.html#{anchor}", ""


def passages(env: BuildEnvironment) -> Iterator[Thing]:
    """What paragraphs of chapters begin with in bold or italics, and end with a full stop: their subject."""
    for page in sorted(env.found_docs):
        for paragraph in doctree(env, page).findall(nodes.paragraph):
            first, section = paragraph.next_node(), paragraph.parent
            if isinstance(first, nodes.strong | nodes.emphasis) and first.astext().endswith((".", "?")):
                while not (isinstance(section, nodes.section) and isinstance(section.parent, SECTIONED)):
                    section = section.parent
                place = f"{page}.html#{section['ids'][0]}"
                yield "passage", line(first.astext()).rstrip("."), env.titles[page].astext(), place, ""


def subjects(env: BuildEnvironment) -> Iterator[Thing]:
    """The pages that `subjects.yml` has for words of readers."""
    for place, *words in yaml.safe_load(Path(env.srcdir, SUBJECTS).read_text(encoding="utf-8")):
        page = re.split("[?#]", place)[0]
        address = f"{page}.html{place.removeprefix(page)}"
        yield "subject", "; ".join(words), env.titles[page].astext(), address, ""


def library(env: BuildEnvironment) -> Iterator[Thing]:
    for name, obj in env.domaindata["py"]["objects"].items():
        if not obj.aliased:
            yield "lib", name, "", f"{obj.docname}.html#{obj.node_id}", ""


def write_index(app: Sphinx) -> None:
    env, papers = app.env, read_ledger()
    things = [
        *subjects(env),
        *claims(env, papers),
        *errata(env, papers),
        *boxes_and_figures(env),
        *sections(env),
        *numbered(env),
        *passages(env),
        *library(env),
    ]
    script = f"window.thingsOfTheBook = {json.dumps(things, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "things.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_js_file("find.classic.js", defer="defer")
    after_build(app, write_index)
