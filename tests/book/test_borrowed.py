"""Pages that show parts of others: written anew when these parts have changed, and only then."""

from types import SimpleNamespace

import borrowed
from docutils import nodes
from docutils.utils import new_document


def quoted(app, here, page):
    """What a borrower shows of a page."""
    return [nodes.Text(app.env.said[page])]


class Environment(SimpleNamespace):
    """As much of Sphinx's as a borrower asks for; every one is another for a cache."""

    __hash__ = object.__hash__


def test_a_borrower_is_written_anew_when_what_it_shows_has_changed():
    env = Environment(docname="front", said={"chapter": "a title", "other": "a title"})
    page = new_document("front")
    page += nodes.paragraph("", "", borrowed.borrow(env, quoted, page="chapter"))
    env.get_doctree = {"front": page}.get
    app = SimpleNamespace(env=env)
    assert borrowed.pages_to_rewrite(app, env) == ["front"]
    assert borrowed.pages_to_rewrite(app, env) == []
    env.said["other"] = "another title"
    assert borrowed.pages_to_rewrite(app, env) == []
    env.said["chapter"] = "another title"
    assert borrowed.pages_to_rewrite(app, env) == ["front"]
    borrowed.forget_page(app, env, "front")
    assert borrowed.pages_to_rewrite(app, env) == []
