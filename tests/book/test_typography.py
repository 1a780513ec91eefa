"""Punctuation stays with its own formula."""

import importlib.util
from pathlib import Path

from docutils import nodes

SOURCE = Path(__file__).parents[2] / "book" / "_ext" / "typography.py"
spec = importlib.util.spec_from_file_location("typography", SOURCE)
typography = importlib.util.module_from_spec(spec)
spec.loader.exec_module(typography)


def test_a_full_stop_stays_where_it_was_written():
    paragraph = nodes.paragraph()
    paragraph += [nodes.Text("See "), nodes.strong("", "this"), nodes.Text("."), nodes.Text(" Then ")]
    paragraph += [nodes.math("", "u"), nodes.Text(".")]
    typography.join_punctuation(paragraph)
    assert paragraph.astext() == "See this. Then u."


def test_a_formula_and_its_punctuation_are_one_piece():
    paragraph = nodes.paragraph()
    paragraph += [nodes.math("", "u"), nodes.Text(", and "), nodes.math("", "v"), nodes.Text(" too")]
    typography.join_punctuation(paragraph)
    assert [piece.astext() for piece in paragraph.findall(nodes.inline)] == ["u,"]
    assert paragraph.astext() == "u, and v too"


def test_a_display_stands_between_paragraphs():
    entry, paragraph = nodes.definition(), nodes.paragraph()
    entry += paragraph
    paragraph += [
        nodes.Text("Then "),
        nodes.math("", "u"),
        nodes.Text(" obeys "),
        nodes.math_block("", "a=b,"),
    ]
    paragraph += [nodes.Text(" "), nodes.math_block("", "c=d"), nodes.Text(" and more.")]
    typography.lift_displays(entry)
    assert [type(child) for child in entry] == [
        nodes.paragraph,
        nodes.math_block,
        nodes.math_block,
        nodes.paragraph,
    ]
    assert [child.astext() for child in entry] == ["Then u obeys ", "a=b,", "c=d", " and more."]
