"""Chapters as notebooks that read well without MyST."""

import re

import notebooks
import pytest

from tests.book.test_book import CHAPTERS, cells

MYST = re.compile(r"\{[a-z:]+\}`|^(?:```+|:::+)\{|^\([\w-]+\)=|^:label:", re.M)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_nothing_of_myst_is_left_in_a_notebook(path):
    prose = [cell.source + "\n" for cell in cells(path) if cell.cell_type == "markdown"]
    assert any(MYST.search(source) for source in prose)
    left = [found[0] for source in prose for found in MYST.finditer(notebooks.plain(source, {}, {}))]
    assert left == []


def test_numbers_titles_and_boxes_are_filled_in():
    source = (
        "(a-label)=\n"
        "The rate is {glue:text}`rate:.1e`, see {doc}`../part/page` and {eq}`eq-a-b`.\n\n"
        "```{prf:theorem} Rates\n:label: thm-a\n\n$x=1$\n```\n\n"
        "```{margin}\nIn the paper: {cite:t}`key`.\n```\n"
    )
    text = notebooks.plain(source, {"rate": 1.26e-7}, {"page": "A page"})
    assert text == (
        "The rate is 1.3e-07, see *A page* and (a-b).\n\n"
        "> **Theorem (Rates).**\n>\n> $x=1$\n\n> **Note.**\n>\n> In the paper: [key].\n"
    )
