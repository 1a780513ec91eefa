"""How long a page takes to read, and which questions are asked of which chapters."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.parsers.rst import DirectiveError
from hypothesis import given
from hypothesis import strategies as st
from questions import WORDS_A_MINUTE, Questions, duration, minutes, words

from executable_claims.layout import details, summary


def page(*parts):
    tree = nodes.document(None, None)
    tree += parts
    return tree


@given(st.lists(st.integers(0, 30), max_size=5), st.integers(0, 30))
def test_prose_is_counted_and_neither_code_nor_what_is_folded(lengths, folded):
    prose = [nodes.paragraph("", "word " * length) for length in lengths]
    code = nodes.literal_block("", "one two three")
    card = details("", summary("", nodes.Text("a line")), nodes.paragraph("", "word " * folded))
    assert words(page(*prose, code, card)) == sum(lengths)


def test_minutes_are_those_of_all_pages_together():
    pages = {"a": page(nodes.paragraph("", "word " * WORDS_A_MINUTE)), "b": page(nodes.title("", "word"))}
    env = SimpleNamespace(get_doctree=pages.get)
    assert minutes(env, ["a", "b", "a"]) == 2 and minutes(env, ["b"]) == 0
    assert (duration(59), duration(90), duration(100)) == ("59 minutes", "90 minutes", "2 hours")


@pytest.mark.parametrize("asked", [["a: Why?"], ["a: Why?", "b: How?", "c: When?"]])
def test_each_chapter_of_a_part_has_one_question(asked):
    made = Questions.__new__(Questions)
    made.arguments, made.content = ["part"], asked
    env = SimpleNamespace(found_docs={"book/part/a", "book/part/b", "book/other/d"}, docname="here")
    made.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    with pytest.raises(DirectiveError) as refused:
        made.run()
    assert refused.value.msg.endswith(": b" if len(asked) == 1 else ": c")
