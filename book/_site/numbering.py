"""Numbers pages, not sections: 10 for a chapter, 10.1 and so on for the pages below it.

Sphinx counts the pages below a chapter on from the chapter's own sections, which have the same names on all
pages, and gives figures, equations and theorems of all of them the number of the chapter.  Here their number
begins with that of their page.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def page_numbers(env: BuildEnvironment) -> dict[str, tuple[int, ...]]:
    """Return the number of every numbered page."""
    numbers = {page: found[""] for page, found in env.toc_secnumbers.items() if len(found.get("", ())) == 1}
    for chapter, number in list(numbers.items()):
        below = env.toctree_includes.get(chapter, [])
        numbers |= {page: (*number, k) for k, page in enumerate(below, start=1)}
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


def setup(app: Sphinx) -> None:
    # After the environment has been stored: an incremental build compares with the numbers stored there.
    app.connect("env-check-consistency", number_pages)
