"""The contents of the book: the numbers of its pages, and the menu beside them.

Sphinx counts the pages below a chapter on from the chapter's own sections, which have the same names on all
pages, and gives figures, equations and theorems of all of them the number of the chapter.  Here pages are
numbered and sections are not: 10 for a chapter, 10-a and so on for the pages below it, and what they number
begins with that.  In the menu the part of the book that a page belongs to is open, the others are closed.
"""

from __future__ import annotations

from itertools import takewhile
from string import ascii_lowercase
from typing import Any

from bs4 import BeautifulSoup
from docutils import nodes
from look import Context, on_page
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def page_numbers(env: BuildEnvironment) -> dict[str, tuple[Any, ...]]:
    """Return the number of every numbered page, with a letter for one below a chapter."""
    chapters = {
        page: numbers[""] for page, numbers in env.toc_secnumbers.items() if len(numbers.get("", ())) == 1
    }
    numbers: dict[str, tuple[Any, ...]] = {**chapters}
    for chapter, (number,) in chapters.items():
        for letter, page in zip(ascii_lowercase, env.toctree_includes.get(chapter, ()), strict=False):
            numbers[page] = (f"{number}-{letter}",)
    return numbers


def number_pages(app: Sphinx, env: BuildEnvironment) -> None:
    for page, number in page_numbers(env).items():
        sections: dict[str, Any] = dict.fromkeys(env.toc_secnumbers[page])
        env.toc_secnumbers[page] = sections | {"": number}
        env.titles[page]["secnumber"] = number
        for link in env.tocs[page].findall(nodes.reference):
            if link["anchorname"]:
                link.attributes.pop("secnumber", None)
            else:
                link["secnumber"] = number
        for numbers in env.toc_fignumbers.get(page, {}).values():
            numbers |= {name: (*number, k) for k, name in enumerate(numbers, start=1)}


def in_parts(menu: str) -> str:
    """Return the menu with each caption as a line that opens the lists below it."""
    soup = BeautifulSoup(menu, "html.parser")
    parts = []
    for caption in soup.select("p.caption"):
        lists = list(takewhile(lambda tag: tag.name == "ul", caption.find_next_siblings()))
        parts.append(soup.new_tag("details", attrs={"class": "menu-part"}))
        if any("current" in entries["class"] for entries in lists):
            parts[-1]["open"] = ""
        caption.insert_before(parts[-1])
        caption.name, caption.attrs = "summary", {}
        parts[-1].extend([caption, *lists])
    if parts and not soup.select_one("details.menu-part[open]"):
        parts[0]["open"] = ""
    return str(soup)


def fold(app: Sphinx, page: str, context: Context, doctree: nodes.document | None) -> None:
    if made := context.get("generate_toctree_html"):
        context["generate_toctree_html"] = lambda *given, **named: in_parts(str(made(*given, **named)))


def setup(app: Sphinx) -> None:
    # After the environment has been stored: an incremental build compares with the numbers stored there.
    app.connect("env-check-consistency", number_pages)
    on_page(app, fold)
