"""Chapters as notebooks that read well without MyST."""

import re

import notebooks
import pytest

from executable_claims.run.chapters import is_executed
from tests.book.test_book import BOOK, cells

PAGES = [path for path in sorted(BOOK.glob("**/[a-z]*.md")) if is_executed(path)]

MYST = re.compile(r"\{[a-z:]+\}`|^(?:```+|:::+)\{|^\([\w-]+\)=|^:label:", re.M)


class Anything(dict):
    """A table that has every name."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return 1.0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_of_myst_is_left_in_a_notebook(path):
    prose = [cell.source + "\n" for cell in cells(path) if cell.cell_type == "markdown"]
    assert any(MYST.search(source) for source in prose)
    left = [
        rest[0] for source in prose for rest in MYST.finditer(notebooks.plain(source, Anything(), Anything()))
    ]
    assert left == []


def test_numbers_titles_and_boxes_are_filled_in():
    source = (
        "(a-label)=\n"
        "The rate is {glue:text}`rate:.1e`, see {doc}`../part/page` and {eq}`eq-a-b`.\n\n"
        "```{prf:theorem} Rates\n:label: thm-a\n\n$x=1$\n```\n\n"
        "```{margin}\nIn the paper: {cite:t}`key`.\n```\n\n"
        "```{code-block} sh\nmake\n```\n"
    )
    text = notebooks.plain(source, {"rate": 1.26e-7}, {"page": "A page"})
    assert text == (
        "The rate is 1.3e-07, see *A page* and (a-b).\n\n"
        "> **Theorem (Rates).**\n>\n> $x=1$\n\n> **Note.**\n>\n> In the paper: [key].\n\n```sh\nmake\n```\n"
    )


def test_what_is_referred_to_has_its_number_and_what_is_cited_its_names_and_year():
    source = (
        "By {eq}`eq-a`, {numref}`fig-a`, {prf:ref}`thm-a`, {cite:t}`first, second`, [a](?a=1#fig-b):\n\n"
        "$$\nx=1\n$$ (eq-a)\n\n```{prf:theorem}\n:label: thm-a\n\n$$x=1$$ (eq-b)\n```\n"
    )
    labels = {"eq-a": "(3.1)", "eq-b": "(3.2)", "fig-a": "Figure 3.4", "thm-a": "Theorem 3.5"}
    text = notebooks.plain(source, {}, {}, labels, {"first": "A and B (2001)"})
    assert text == (
        "By (3.1), Figure 3.4, Theorem 3.5, A and B (2001), [second], a:\n\n"
        "$$\nx=1\n\\tag{3.1}$$\n\n> **Theorem 3.5.**\n>\n> $$x=1\\tag{3.2}$$\n"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{glue:text}`rates:.1e`", "number is 'rates', allowed: 'rate'"),
        ("{doc}`../part/other`", "page is 'other', allowed: 'page'"),
        ("```{figure} a.png\nA caption.\n```\n", "box is 'figure', allowed: 'margin', .*'prf:theorem'"),
    ],
)
def test_what_a_notebook_cannot_show_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        notebooks.plain(source, {"rate": 1.0}, {"page": "A page"})
