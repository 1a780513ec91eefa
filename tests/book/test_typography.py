"""Punctuation stays with its own formula, what cells return is written for readers, solutions are folded."""

import typography
from docutils import nodes

from executable_claims.site.layout import details, summary


def test_a_formula_and_the_marks_around_it_are_one_piece():
    texts = (nodes.Text(one) for one in (", and ", " too (", ") or [“", " ] and ("))
    line = [each for name in "uvwx" for each in (nodes.math("", name), next(texts))]
    paragraph = nodes.paragraph()
    paragraph += [*line, nodes.math("", "y")]
    typography.join_punctuation(paragraph)
    assert [piece.astext() for piece in paragraph.findall(nodes.inline)] == ["u,", "(w)", "[“x", "(y"]
    assert paragraph.astext() == "u, and v too (w) or [“x ] and (y"


def test_computed_numbers_are_written_with_powers_of_ten():
    paragraph = nodes.paragraph()
    for text in ("3e-07", "1e+12", "-2.5e-03", "0.15", "1e-9 s"):
        paragraph += nodes.inline("", text, classes=["pasted-text"])
    typography.write_powers(paragraph)
    texts = [number.astext() for number in paragraph.findall(nodes.inline)]
    assert texts == ["3\u202f·\u202f10−7", "1012", "−2.5\u202f·\u202f10−3", "0.15", "1e-9 s"]
    assert len(list(paragraph.findall(nodes.superscript))) == 3


def test_a_text_that_a_cell_returns_has_no_quotes():
    texts = ("'four residuals are zero'", '"the paper\'s"', "1.5", "['a', 'b']")
    page = nodes.section("", *(nodes.literal_block(one, one, classes=["text_plain"]) for one in texts))
    source = nodes.literal_block("'a'", "'a'")
    page += source
    typography.unquote(page)
    shown = [(block.astext(), block.rawsource) for block in page.findall(nodes.literal_block)]
    assert shown == [(text, text) for text in ("four residuals are zero", "the paper's", *texts[2:], "'a'")]


def test_solutions_are_folded_and_notes_are_not():
    box = lambda *classes: nodes.admonition(  # noqa: E731
        "", nodes.title("", "", nodes.Text("Solution")), nodes.paragraph("", "It is 2."), classes=[*classes]
    )
    page = nodes.section("", box("dropdown"), box())
    typography.fold(page)
    [folded], [line] = page.findall(details), page.findall(summary)
    assert line.astext() == "Solution" and folded.children[0] is line and "It is 2." in folded.astext()
    assert "open" not in folded and len(list(page.findall(nodes.admonition))) == 1
