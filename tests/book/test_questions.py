"""How long a page takes to read, and which questions are asked of which chapters."""

from itertools import chain
from pathlib import Path
from unittest.mock import Mock

import pytest
from docutils import nodes
from hypothesis import given
from hypothesis import strategies as st
from questions import WORDS_A_MINUTE, duration, minutes, offshoots, parts, question_of, reading

from executable_claims.site.layout import details, summary

ROOT = Path(__file__).parents[2]


def page(*parts):
    tree = nodes.document(None, None)
    tree += parts
    return tree


@given(st.lists(st.integers(0, 30), max_size=5), st.integers(0, 30), st.integers(0, 9))
def test_prose_and_formulas_are_counted_and_neither_code_nor_what_is_folded(lengths, folded, formulas):
    prose = [nodes.paragraph("", "word " * length) for length in lengths]
    inline = nodes.paragraph("", "", *[nodes.math("", "a + b = c") for _ in range(formulas)])
    displays = [nodes.math_block("", "a + b = c") for _ in range(formulas)]
    code = nodes.literal_block("", "one two three")
    inside = [nodes.paragraph("", "word " * folded, nodes.math("", "x")), nodes.math_block("", "x")]
    card = details("", summary("", nodes.Text("a line")), *inside)
    minutes = sum(lengths) / WORDS_A_MINUTE + formulas * (1 / 2 + 1 / 20)
    assert reading(page(*prose, inline, *displays, code, card)) == pytest.approx(minutes)


def test_minutes_are_those_of_all_pages_together():
    pages = {"a": page(nodes.paragraph("", "word " * WORDS_A_MINUTE)), "b": page(nodes.title("", "word"))}
    env = Mock(get_doctree=pages.get)
    assert minutes(env, ["a", "b", "a"]) == 2 and minutes(env, ["b"]) == 0
    assert [duration(total) for total in (59, 61, 89, 130)] == [
        "59 minutes",
        "1 hour",
        "1.5 hours",
        "2 hours",
    ]


CONTENTS = """
root: book/index
parts:
  - chapters: [{file: book/papers/key}]
  - chapters:
      - file: book/part/a
        sections: [{file: book/part/b}, {file: book/part/c}]
  - chapters: [{file: book/other/d}, {file: book/other/e}]
  - chapters: [{file: book/api/names}]
"""


def test_the_chapters_on_a_paper_follow_its_page_and_others_make_a_part(tmp_path):
    (tmp_path / "_toc.yml").write_text(CONTENTS)
    assert parts(tmp_path) == {
        "book/papers/key": ["book/part/a", "book/part/b", "book/part/c"],
        "book/other/d": ["book/other/d", "book/other/e"],
    }
    assert offshoots(tmp_path) == {"book/part/b", "book/part/c"}


def test_every_chapter_and_every_paper_of_the_book_asks_a_question():
    known = parts(ROOT)
    pages = {*known, *chain(*known.values())}
    found = {path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob("book/[a-z]*/*.md")}
    assert pages == {page for page in found if not page.startswith("book/api/")}
    questions = [question_of(ROOT / f"{page}.md") for page in pages]
    assert len({*questions}) == len(questions)


@pytest.mark.parametrize("head", ["---\n---\n", "---\nquestion: None here\n---\n"])
def test_a_page_that_asks_nothing_is_named(tmp_path, head):
    (tmp_path / "page.md").write_text(head + "# Title\n---\n")
    with pytest.raises(ValueError, match=r"page\.md: question is"):
        question_of(tmp_path / "page.md")
