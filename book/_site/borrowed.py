"""Parts of pages that say what stands on other pages: made when all pages have been read.

A figure of a chapter with one sentence that says what was found, figures that move, and sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from executable_claims.dependencies import digest


class borrowed(nodes.Inline, nodes.Element):
    """The place of what a function ``make(app, page, **given)`` returns, nodes on that page."""


def borrow(env: BuildEnvironment, make: Callable[..., list[nodes.Node]], **given: Any) -> borrowed:
    """Return a place for what a module's function makes; the page is written anew when that has changed."""
    borrowers(env)[env.docname] = ""
    return borrowed(make=make, given=given)


def borrowers(env: BuildEnvironment) -> dict[str, str]:
    """The pages that borrow, with a digest of what each had borrowed when it was written last."""
    return vars(env).setdefault("borrowers", {})


def filled(app: Sphinx, page: str, place: borrowed) -> list[nodes.Node]:
    return place["make"](app, page, **place["given"])


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages for which others have something else than when they were written last."""
    before = {**borrowers(env)}
    borrowers(env).update({page: digest(shown_by_others(app, page)) for page in before})
    return [page for page, now in borrowers(env).items() if now != before[page]]


def shown_by_others(app: Sphinx, page: str) -> str:
    """All that a page borrows, as text."""
    places = doctree(app.env, page).findall(borrowed)
    return "".join(node.pformat() for place in places for node in filled(app, page, place))


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    borrowers(env).pop(docname, None)


@cache
def doctree(env: BuildEnvironment, page: str) -> nodes.document:
    """What was read of a page, unpickled once, for those who only look at it."""
    return env.get_doctree(page)


class FillBorrowed(SphinxPostTransform):
    default_priority = 3  # before MyST-NB chooses one of the forms of each output

    def run(self, **options: object) -> None:
        for place in list(self.document.findall(borrowed)):
            place.replace_self(filled(self.app, self.env.docname, place))


class InShort(SphinxRole):
    """``{in-short}`page` ``: what that page says in short, ``[in these words]{.in-short}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [borrow(self.env, short, page=self.text)], []


class Moving(SphinxDirective):
    """``{moving} page figure``: the live figure of that name, as it stands on its own page.

    With ``:plays: key=value`` it opens in that state, and moves by itself when it comes into sight.
    """

    required_arguments = 2
    option_spec = {"plays": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        page, figure = self.arguments
        return [borrow(self.env, moving, page=page, figure=figure, plays=self.options.get("plays"))]


class Finding(SphinxDirective):
    """``{finding} page figure``: the figure of that name beside the text, which links to the page."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        page, figure = self.arguments
        text = nodes.container(classes=["finding-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        shown = borrow(self.env, picture, page=page, figure=figure)
        return [nodes.container("", shown, text, classes=["finding"])]


def short(app: Sphinx, here: str, page: str) -> list[nodes.Node]:
    """What a page says in short."""
    return [short_of(doctree(app.env, page)).deepcopy()]


def moving(app: Sphinx, here: str, page: str, figure: str, plays: str | None) -> list[nodes.Node]:
    """A live figure of a page, with its picture and, for print, its caption."""
    tree = doctree(app.env, page)
    shown = figure_of(tree, figure).deepcopy()
    shown["classes"].append("borrowed")  # on the screen the page says what is seen, in print the caption
    return [shown, frame_of(tree, figure, plays)]


def picture(app: Sphinx, here: str, figure: str, page: str = "") -> list[nodes.Node]:
    """A figure of a page, linked to it; a small one of the page that has it where none is named."""
    there = page or page_with(app.env, figure)
    target = app.builder.get_relative_uri(here, there)
    link = nodes.reference("", "", internal=True, refuri=f"{target}#{figure}")
    link += next(figure_of(doctree(app.env, there), figure).findall(nodes.image)).deepcopy()
    if not page:
        link[0]["classes"].append("thumbnail")
    return [nodes.container("", nodes.inline("", "", link), classes=["finding-picture"])]


class LinkStates(SphinxPostTransform):
    """Links ``[text](?key=value#fig-live-name)`` to states of live figures, before MyST looks for targets."""

    default_priority = 5

    def run(self, **options: object) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link["reftarget"].startswith("?"):
                refuri = link["reftarget"]
                link.replace_self(nodes.reference("", "", *link.children, refuri=refuri, internal=True))


def page_with(env: BuildEnvironment, figure: str) -> str:
    """Return the page that has the figure of that name; raise ``ExtensionError`` if none has."""
    labels = env.domaindata["std"]["anonlabels"]
    if figure not in labels:
        raise ExtensionError(f"there is no figure {figure!r}")
    return labels[figure][0]


def figure_of(page: nodes.document, name: str) -> nodes.figure:
    """Return the figure of that name; raise ``ExtensionError`` if the page has none."""
    for figure in page.findall(nodes.figure):
        if name in figure["ids"] or name in figure["names"]:
            return figure
    raise ExtensionError(f"there is no figure {name!r}")


def short_of(page: nodes.document) -> nodes.inline:
    """Return what a page says in short; raise ``ExtensionError`` if it does not."""
    for words in page.findall(nodes.inline):
        if "in-short" in words["classes"]:
            return words
    raise ExtensionError(f"{page['source']} says nothing in short")


def frame_of(page: nodes.document, figure: str, plays: str | None) -> nodes.container:
    """Return the frame that a live figure is drawn in, with the state from which it plays."""
    name = figure.removeprefix("fig-live-").replace("-", "_")
    for raw in page.findall(nodes.raw):
        if f'data-live="{name}"' in raw.astext():
            opening = "" if plays is None else f'data-plays="{escape(plays)}" '
            html = raw.astext().replace("data-live=", f"{opening}data-live=", 1)
            return nodes.container("", nodes.raw("", html, format="html"), classes=["output"])
    raise ExtensionError(f"there is no frame for {figure!r}")


def thumbnail(app: Sphinx, figure: str) -> nodes.Node:
    """The small picture of a figure, on the page of its paper."""
    return borrow(app.env, picture, figure=figure)


def setup(app: Sphinx) -> None:
    app.add_node(borrowed)
    app.add_role("in-short", InShort())
    app.add_directive("finding", Finding)
    app.add_directive("moving", Moving)
    app.connect("claim-picture", thumbnail)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-updated", pages_to_rewrite)
    app.add_post_transform(FillBorrowed)
    app.add_post_transform(LinkStates)
