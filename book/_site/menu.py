"""The menu beside a page: the part of the book that the page belongs to is open, the others are closed."""

from __future__ import annotations

from itertools import takewhile

from after_build import on_page
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx


def in_parts(menu: str) -> str:
    """Return the menu with each caption as a line that opens the lists below it."""
    soup = BeautifulSoup(menu, "html.parser")
    parts = []
    for caption in soup.select("p.caption"):
        lists = list(takewhile(lambda one: one.name == "ul", caption.find_next_siblings()))
        parts.append(soup.new_tag("details", attrs={"class": "menu-part"}))
        if any("current" in one["class"] for one in lists):
            parts[-1]["open"] = ""
        caption.insert_before(parts[-1])
        caption.name, caption.attrs = "summary", {}
        parts[-1].extend([caption, *lists])
    if parts and not soup.select_one("details.menu-part[open]"):
        parts[0]["open"] = ""
    return str(soup)


def fold(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.Node | None) -> None:
    made = context.get("generate_toctree_html")

    def folded(*given, **named) -> str:
        return in_parts(str(made(*given, **named)))

    if made:
        context["generate_toctree_html"] = folded


def setup(app: Sphinx) -> None:
    on_page(app, fold)
