"""The chapters by the question that each answers, the papers, and how long chapters take to read.

A page says in its head which question it answers; the order is that of the table of contents, where the page
of a paper stands before the chapters about it.  A part about no paper begins with its first chapter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import yaml
from borrowed import borrow, doctree, short
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxRole

from executable_claims.site.layout import details
from executable_claims.site.pages import LedgerDirective

WORDS_A_MINUTE, DISPLAYS_A_MINUTE, FORMULAS_A_MINUTE = 200, 2, 20
PAPERS = "book/papers/"
REFERENCE = Path("book/api")


load = cache(yaml.safe_load)  # the table of contents is asked for by every reading time


def listed(entries: Iterable[dict], below: bool = False) -> Iterator[tuple[str, bool]]:
    """The pages of a table of contents, in its order, and whether each stands below a chapter."""
    for entry in entries:
        if "file" in entry:
            yield entry["file"], below
        yield from listed(entry.get("chapters", ()), below)
        yield from listed(entry.get("sections", ()), True)


def contents(folder: Path) -> list[tuple[str, bool]]:
    return [*listed(load((folder / "_toc.yml").read_text(encoding="utf-8"))["parts"])]


def parts(folder: Path) -> dict[str, list[str]]:
    """The chapters of each part, which has a folder: of one on a paper, by the page of the paper."""
    of_parts: dict[str, list[str]] = {}
    chapters: list[str] = []
    for page, _ in contents(folder):
        if page.startswith(PAPERS):
            chapters = of_parts[page] = []
        elif page.count("/") > 1 and (own := Path(page).parent) != REFERENCE:
            if chapters and own != Path(chapters[0]).parent:
                chapters = of_parts[page] = []
            chapters.append(page)
    return of_parts


def offshoots(folder: Path) -> set[str]:
    """The pages that stand below a chapter."""
    return {page for page, below in contents(folder) if below}


def question_of(page: Path) -> str:
    """The question that the head of a page asks; ``ValueError`` if it asks none."""
    _, head, *_ = page.read_text(encoding="utf-8").split("---\n", 2)
    question = (yaml.safe_load(head) or {}).get("question", "")
    if not question.endswith("?"):
        raise ValueError(f"{page}: question is {question!r}, allowed: the question that the page answers")
    return question


@cache
def reading(page: nodes.document) -> float:
    """The minutes that a page takes to read: its words and formulas, but no code and what cards fold."""
    folded = {id(node) for card in page.findall(details) for node in card.findall()}
    shown = [node for node in page.findall() if id(node) not in folded]
    prose = [node for node in shown if isinstance(node, nodes.paragraph | nodes.caption | nodes.title)]
    texts = [
        text for node in prose for text in node.findall(nodes.Text) if not isinstance(text.parent, nodes.math)
    ]
    words = sum(len(text.split()) for text in texts)
    displays = sum(isinstance(node, nodes.math_block) for node in shown)
    formulas = sum(1 for node in prose for _ in node.findall(nodes.math))
    return words / WORDS_A_MINUTE + displays / DISPLAYS_A_MINUTE + formulas / FORMULAS_A_MINUTE


def minutes(env: BuildEnvironment, pages: Iterable[str]) -> int:
    return round(sum(reading(doctree(env, page)) for page in pages))


def duration(total: int) -> str:
    """Minutes up to an hour, hours and halves of them beyond."""
    hours = round(total / 30) / 2
    return f"{total} minutes" if total < 60 else "1 hour" if hours == 1 else f"{hours:g} hours"


def chosen(env: BuildEnvironment, which: str) -> list[str]:
    """The chapters that are meant: on a paper, the core ones, all, or pages, with spaces between them."""
    of_parts = parts(Path(env.srcdir))
    known = {page: chapters for page, chapters in of_parts.items() if page.startswith(PAPERS)}
    known |= {
        "core": [chapters[0] for chapters in known.values()],
        "all": [chapter for chapters in of_parts.values() for chapter in chapters],
    }
    if unknown := set(which.split()).difference(known, env.found_docs):
        raise ExtensionError(f"reading time of {unknown}, allowed: pages, {', '.join(known)}")
    return [page for name in which.split() for page in known.get(name, [name])]


def time(app: Sphinx, here: str, which: str, bare: bool = False) -> list[nodes.Node]:
    """The minutes that some chapters take to read."""
    total = minutes(app.env, chosen(app.env, which))
    return [nodes.Text(str(total) if bare else duration(total))]


def title(app: Sphinx, here: str, page: str) -> list[nodes.Node]:
    """The title of a page, linked to it."""
    shown = app.env.titles[page].deepcopy().children
    return [nodes.reference("", "", *shown, internal=True, refuri=app.builder.get_relative_uri(here, page))]


class ReadingTime(SphinxRole):
    """``{reading-time}`core```: how long the core chapters, all, or a page take to read."""

    def run(self) -> tuple[list[nodes.Node], list]:
        return [borrow(self.env, time, which=self.text)], []


class Listed(LedgerDirective):
    """A directive that lists pages in the order of the table of contents."""

    def parts(self) -> dict[str, list[str]]:
        self.env.note_dependency("_toc.yml")
        return parts(Path(self.env.srcdir))

    def question(self, page: str) -> str:
        path = self.env.doc2path(page)
        self.env.note_dependency(path)
        return question_of(Path(path))


class Questions(Listed):
    """``{questions}``: a section for each part, with the question and the minutes of each chapter on it.

    The core chapter of a part is named so, and what stands below a chapter is set in.
    """

    def run(self) -> list[nodes.Node]:
        self.below = offshoots(Path(self.env.srcdir))
        return [self.section(first, chapters) for first, chapters in self.parts().items()]

    def section(self, first: str, chapters: list[str]) -> nodes.section:
        question = self.question(first)
        section = nodes.section("", nodes.title("", question), ids=[nodes.make_id(question)])
        section += nodes.paragraph("", "", borrow(self.env, title, page=first), nodes.Text("; "))
        section[-1] += [borrow(self.env, time, which=first), nodes.Text(".")]
        rows = [self.row(chapter, chapter == chapters[0]) for chapter in chapters]
        headings = ["Question", "Answer", "Minutes"]
        section += self.lay_out("table.xml", headings=headings, classes="questions", rows=rows)
        return section

    def row(self, page: str, core: bool) -> list[list[nodes.Node]]:
        kind = "core" if core else "offshoot" if page in self.below else "main"
        asked = nodes.inline("", "", *self.parsed(self.question(page)), classes=[kind])
        length = borrow(self.env, time, which=page, bare=True)
        return [[asked], [borrow(self.env, title, page=page)], [length]]


class Papers(Listed):
    """``{papers}``: for each part its question, its core chapter, and what its paper's page says in short."""

    def run(self) -> list[nodes.Node]:
        rows = [self.row(first, chapters) for first, chapters in self.parts().items()]
        headings = ["Question", "Core chapter", "Paper, and what is true of its theorems"]
        return self.lay_out("table.xml", headings=headings, classes="stacked map", rows=rows)

    def row(self, first: str, chapters: list[str]) -> list[list[nodes.Node]]:
        read = [borrow(self.env, time, which=chapters[0]), nodes.Text(f"; all {len(chapters)} chapters, ")]
        read.append(borrow(self.env, time, which=" ".join(chapters)))
        core = [borrow(self.env, title, page=chapters[0]), nodes.inline("", "", *read, classes=["minutes"])]
        said: list[nodes.Node] = [nodes.Text("All five, in one network")]
        if first.startswith(PAPERS):
            said = [borrow(self.env, title, page=first), nodes.Text(". ")]
            said += [borrow(self.env, short, page=first), nodes.Text(".")]
        return [[nodes.strong("", self.question(first))], core, said]


def setup(app: Sphinx) -> None:
    app.add_directive("questions", Questions)
    app.add_directive("papers", Papers)
    app.add_role("reading-time", ReadingTime())
