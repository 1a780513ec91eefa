"""The question that each chapter answers, as a table a part, and how long chapters take to read."""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxRole

from executable_claims.layout import details
from executable_claims.outcomes import outcomes
from executable_claims.pages import LedgerDirective

WORDS_A_MINUTE = 150  # a formula counts by its parts


def parts(env: BuildEnvironment) -> dict[str, list[str]]:
    """The chapters of each part, its core chapter first."""
    if not hasattr(env, "parts_of_the_book"):
        env.parts_of_the_book = {}
    return env.parts_of_the_book


def words(page: nodes.document) -> int:
    """How many words of prose a page has: no code, and none that is folded in a card."""
    folded = {id(node) for card in page.findall(details) for node in card.findall(nodes.paragraph)}
    kinds = (nodes.paragraph, nodes.caption, nodes.title, nodes.math_block)
    shown = (node for node in page.findall() if isinstance(node, kinds) and id(node) not in folded)
    return sum(len(node.astext().split()) for node in shown)


def minutes(env: BuildEnvironment, pages: Iterable[str]) -> int:
    return round(sum(words(env.get_doctree(page)) for page in pages) / WORDS_A_MINUTE)


def duration(total: int) -> str:
    """Minutes up to an hour and a half, hours beyond."""
    return f"{total} minutes" if total <= 90 else f"{round(total / 60)} hours"


class pending_minutes(nodes.Inline, nodes.Element):
    """Placeholder for the minutes that some chapters take to read."""


class pending_title(nodes.Inline, nodes.Element):
    """Placeholder for the title of a page, linked to it."""


class FillQuestions(SphinxPostTransform):
    default_priority = 5

    def run(self, **options) -> None:
        for pending in list(self.document.findall(pending_minutes)):
            pages = self.pages(pending["pages"])
            total = minutes(self.env, pages)
            pending.replace_self(nodes.Text(str(total) if pending["bare"] else duration(total)))
        for pending in list(self.document.findall(pending_title)):
            target = self.app.builder.get_relative_uri(self.env.docname, pending["page"])
            title = self.env.titles[pending["page"]]
            link = nodes.reference("", "", *title.deepcopy().children, internal=True, refuri=target)
            pending.replace_self(link)

    def pages(self, which: str) -> list[str]:
        """The chapters that are meant: of a part, the core ones, all, or one page."""
        listed = parts(self.env)
        known = {
            **listed,
            "core": [chapters[0] for chapters in listed.values()],
            "all": [chapter for chapters in listed.values() for chapter in chapters],
        }
        if which not in known and which not in self.env.found_docs:
            raise ExtensionError(f"reading time of {which!r}, allowed: a page, {', '.join(known)}")
        return known.get(which, [which])


class ReadingTime(SphinxRole):
    """``{reading-time}`core```: how long a part, the core chapters, all, or a page take to read."""

    def run(self) -> tuple[list[nodes.Node], list]:
        outcomes(self.env).dependent.add(self.env.docname)
        return [pending_minutes(pages=self.text, bare=False)], []


class Questions(LedgerDirective):
    """``{questions} part``: the chapters of a part, a line ``name: question`` each, the core one first."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        outcomes(self.env).dependent.add(self.env.docname)
        folder = f"book/{self.arguments[0]}/"
        asked = dict(line.split(": ", 1) for line in self.content if line)
        chapters = {name.removeprefix(folder) for name in self.env.found_docs if name.startswith(folder)}
        if chapters != set(asked):
            wrong = ", ".join(sorted(chapters ^ set(asked)))
            raise self.error(f"each chapter of {folder} has one question; not so: {wrong}")
        parts(self.env)[self.arguments[0]] = [folder + name for name in asked]
        rows = [self.row(folder + name, question) for name, question in asked.items()]
        headings = ["Question", "Answer", "Minutes"]
        return self.lay_out("table.xml", headings=headings, classes="questions", rows=rows)

    def row(self, page: str, question: str) -> list[list[nodes.Node]]:
        return [self.parsed(question), [pending_title(page=page)], [pending_minutes(pages=page, bare=True)]]


def setup(app: Sphinx) -> None:
    for node in (pending_minutes, pending_title):
        app.add_node(node)
    app.add_directive("questions", Questions)
    app.add_role("reading-time", ReadingTime())
    app.add_post_transform(FillQuestions)
