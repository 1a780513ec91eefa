"""Punctuation stays with its own formula."""

import importlib.util
from pathlib import Path

from docutils import nodes

SOURCE = Path(__file__).parents[2] / "book" / "_ext" / "typography.py"
spec = importlib.util.spec_from_file_location("typography", SOURCE)
typography = importlib.util.module_from_spec(spec)
spec.loader.exec_module(typography)


def test_a_formula_and_its_punctuation_are_one_piece():
    paragraph = nodes.paragraph()
    paragraph += [nodes.math("", "u"), nodes.Text(", and "), nodes.math("", "v"), nodes.Text(" too")]
    typography.join_punctuation(paragraph)
    assert [piece.astext() for piece in paragraph.findall(nodes.inline)] == ["u,"]
    assert paragraph.astext() == "u, and v too"
