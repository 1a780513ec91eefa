"""The contents of the book: the numbers of its pages, and the menu beside them.

Sphinx counts the pages below a chapter on from the chapter's own sections, which have the same names on all
pages, and gives figures, equations and theorems of all of them the number of the chapter.  Here pages are
numbered and sections are not: 10 for a chapter, 10-a and so on for the pages below it, and what they number
begins with that.  In the menu the part of the book that a page belongs to is open, the others are closed.
"""

from __future__ import annotations

from itertools import takewhile
from string import ascii_lowercase

from bs4 import BeautifulSoup
from docutils import nodes
from look import on_page
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def page_numbers(env: BuildEnvironment) -> dict[str, tuple[int | str]]:
    """Return the number of every numbered page, with a letter for one below a chapter."""
    numbers = {page: found[""] for page, found in env.toc_secnumbers.items() if len(found.get("", ())) == 1}
    for chapter, number in list(numbers.items()):
        below = env.toctree_includes.get(chapter, [])
        numbers |= {
            page: (f"{number[0]}-{letter}",) for letter, page in zip(ascii_lowercase, below, strict=False)
        }
    return numbers


def number_pages(app: Sphinx, env: BuildEnvironment) -> None:
    for page, number in page_numbers(env).items():
        sections = dict.fromkeys(env.toc_secnumbers[page])
        env.toc_secnumbers[page] = sections | {"": number}
        env.titles[page]["secnumber"] = number
        for link in env.tocs[page].findall(nodes.reference):
            if link["anchorname"]:
                link.attributes.pop("secnumber", None)
            else:
                link["secnumber"] = number
        for kind, found in env.toc_fignumbers.get(page, {}).items():
            env.toc_fignumbers[page][kind] = {name: (*number, k) for k, name in enumerate(found, start=1)}


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
    # After the environment has been stored: an incremental build compares with the numbers stored there.
    app.connect("env-check-consistency", number_pages)
    on_page(app, fold)
