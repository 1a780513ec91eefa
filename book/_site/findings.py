"""Findings: a figure of a chapter, one sentence that says what was found, and the way to the chapter.

And figures that move, and sentences, on other pages than their own.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from executable_claims.outcomes import outcomes


class pending_picture(nodes.General, nodes.Element):
    """Placeholder for a figure of a page, by default of the page that has one of that name, linked to it."""


class pending_moving(nodes.General, nodes.Element):
    """Placeholder for a live figure of another page, with its picture and its caption."""


class pending_short(nodes.Inline, nodes.Element):
    """Placeholder for the words that another page marks as its short answer."""


class InShort(SphinxRole):
    """``{in-short}`page` ``: what that page says in short, ``[in these words]{.in-short}``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        outcomes(self.env).borrowing.add(self.env.docname)
        return [pending_short(page=self.text)], []


class Moving(SphinxDirective):
    """``{moving} page figure``: the live figure of that name, as it stands on its own page."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        outcomes(self.env).borrowing.add(self.env.docname)
        page, figure = self.arguments
        return [pending_moving(page=page, figure=figure)]


class Finding(SphinxDirective):
    """``{finding} page figure``: the figure of that name beside the text, which links to the page."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        outcomes(self.env).borrowing.add(self.env.docname)
        page, figure = self.arguments
        text = nodes.container(classes=["finding-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        picture = pending_picture(page=page, figure=figure, small=False)
        return [nodes.container("", picture, text, classes=["finding"])]


class FillBorrowed(SphinxPostTransform):
    default_priority = 3  # before MyST-NB chooses one of the forms of each output

    def run(self, **options) -> None:
        for pending in list(self.document.findall(pending_picture)):
            page = pending.get("page") or page_with(self.env, pending["figure"])
            target = self.app.builder.get_relative_uri(self.env.docname, page)
            link = nodes.reference("", "", internal=True, refuri=f"{target}#{pending['figure']}")
            picture = next(figure_of(self.env.get_doctree(page), pending["figure"]).findall(nodes.image))
            link += picture.deepcopy()
            if pending["small"]:
                link[0]["classes"].append("thumbnail")
            pending.replace_self(nodes.container("", nodes.inline("", "", link), classes=["finding-picture"]))
        for pending in list(self.document.findall(pending_moving)):
            page = self.env.get_doctree(pending["page"])
            figure = pending["figure"]
            pending.replace_self([figure_of(page, figure).deepcopy(), frame_of(page, figure)])
        for pending in list(self.document.findall(pending_short)):
            pending.replace_self(short_of(self.env.get_doctree(pending["page"])).deepcopy())


class LinkStates(SphinxPostTransform):
    """Links ``[text](?key=value#fig-live-name)`` to states of live figures, before MyST looks for targets."""

    default_priority = 5

    def run(self, **options) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link["reftarget"].startswith("?"):
                refuri = link["reftarget"]
                link.replace_self(nodes.reference("", "", *link.children, refuri=refuri, internal=True))


def page_with(env: BuildEnvironment, figure: str) -> str:
    """Return the page that has the figure of that name; raise ``ExtensionError`` if none has."""
    page, _ = env.get_domain("std").anonlabels.get(figure, ("", ""))
    if not page:
        raise ExtensionError(f"there is no figure {figure!r}")
    return page


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


def frame_of(page: nodes.document, figure: str) -> nodes.container:
    """Return the frame that a live figure is drawn in."""
    name = figure.removeprefix("fig-live-").replace("-", "_")
    for raw in page.findall(nodes.raw):
        if f'data-live="{name}"' in raw.astext():
            return nodes.container("", raw.deepcopy(), classes=["output"])
    raise ExtensionError(f"there is no frame for {figure!r}")


def thumbnail(app: Sphinx, figure: str) -> pending_picture:
    """The small picture of a figure, on the page of its paper."""
    return pending_picture(figure=figure, small=True)


def setup(app: Sphinx) -> None:
    for node in (pending_picture, pending_moving, pending_short):
        app.add_node(node)
    app.add_role("in-short", InShort())
    app.add_directive("finding", Finding)
    app.connect("claim-picture", thumbnail)
    app.add_directive("moving", Moving)
    app.add_post_transform(FillBorrowed)
    app.add_post_transform(LinkStates)
