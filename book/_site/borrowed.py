"""Parts of pages that say what stands on other pages: made when all pages have been read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from executable_claims.outcomes import outcomes


class borrowed(nodes.Inline, nodes.Element):
    """The place of what a function ``make(app, page, **given)`` returns, nodes on that page."""


def borrow(env: BuildEnvironment, make: Callable[..., list[nodes.Node]], **given) -> borrowed:
    """Return a place for what a module's function makes; the page is written anew when another is read."""
    outcomes(env).borrowing.add(env.docname)
    return borrowed(make=make, given=given)


@cache
def doctree(env: BuildEnvironment, page: str) -> nodes.document:
    """What was read of a page, unpickled once, for those who only look at it."""
    return env.get_doctree(page)


class FillBorrowed(SphinxPostTransform):
    default_priority = 3  # before MyST-NB chooses one of the forms of each output

    def run(self, **options) -> None:
        for place in list(self.document.findall(borrowed)):
            place.replace_self(place["make"](self.app, self.env.docname, **place["given"]))


def setup(app: Sphinx) -> None:
    app.add_node(borrowed)
    app.add_post_transform(FillBorrowed)
