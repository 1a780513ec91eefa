"""Findings: a figure of a chapter, one sentence that says what was found, and the way to the chapter."""

from __future__ import annotations

from claim_cards import dependent_pages
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective


class pending_picture(nodes.General, nodes.Element):
    """Placeholder for the figure of another page, linked to that page."""


class Finding(SphinxDirective):
    """``{finding} page figure``: the figure of that name beside the text, which links to the page."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        dependent_pages(self.env).add(self.env.docname)
        page, figure = self.arguments
        text = nodes.container(classes=["finding-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        picture = pending_picture(page=page, figure=figure)
        return [nodes.container("", picture, text, classes=["finding"])]


class FillPictures(SphinxPostTransform):
    default_priority = 5

    def run(self, **options) -> None:
        for pending in list(self.document.findall(pending_picture)):
            target = self.app.builder.get_relative_uri(self.env.docname, pending["page"])
            link = nodes.reference("", "", internal=True, refuri=f"{target}#{pending['figure']}")
            link += picture_of(self.env.get_doctree(pending["page"]), pending["figure"]).deepcopy()
            pending.replace_self(nodes.container("", link, classes=["finding-picture"]))


def picture_of(page: nodes.document, name: str) -> nodes.image:
    """Return the image of the figure of that name; raise ``ExtensionError`` if the page has none."""
    for figure in page.findall(nodes.figure):
        if name in figure["ids"] or name in figure["names"]:
            return next(figure.findall(nodes.image))
    raise ExtensionError(f"there is no figure {name!r}")


def setup(app: Sphinx) -> dict:
    app.add_node(pending_picture)
    app.add_directive("finding", Finding)
    app.add_post_transform(FillPictures)
    return {"version": "1", "parallel_read_safe": True}
