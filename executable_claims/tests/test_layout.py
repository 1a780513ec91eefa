"""Templates become nodes: what stands in them, and what code and the ledger put there."""

import pytest
from docutils import nodes
from jinja2 import DictLoader
from jinja2.exceptions import UndefinedError

from executable_claims.site.layout import TEMPLATES, details, lay_out, powers


@pytest.fixture
def laid_out(monkeypatch):
    """Lay out a template that is given as text."""

    def made(text, **data):
        monkeypatch.setattr(TEMPLATES, "loader", DictLoader({text: text}))
        return lay_out(text, lambda said: [nodes.emphasis("", said)], **data)

    return made


def test_elements_are_nodes_with_their_attributes(laid_out):
    [box] = laid_out(
        '<details classes="a b" ids="c"><summary>{{ said }}</summary></details>', said="x < y & z"
    )
    assert isinstance(box, details) and box["classes"] == ["a", "b"] and box["ids"] == ["c"]
    assert box.astext() == "x < y & z"


def test_texts_of_the_ledger_are_parsed_and_nodes_of_code_inserted_where_they_stand(laid_out):
    figure = nodes.image(uri="a.png")
    [text, shown] = laid_out(
        "<paragraph>It is {{ myst(said) }}.</paragraph>{{ insert([figure]) }}", said="*true*", figure=figure
    )
    assert text.astext() == "It is *true*." and isinstance(text[1], nodes.emphasis) and shown is figure


def test_white_space_counts_within_text_and_not_between_blocks(laid_out):
    [box] = laid_out(
        """
        <container>
          <paragraph><strong>One</strong>
            <literal>two</literal></paragraph>
          <paragraph>three</paragraph>
        </container>
        """
    )
    assert [child.astext() for child in box] == ["One two", "three"]


def test_a_name_that_nothing_has_is_refused(laid_out):
    with pytest.raises(UndefinedError, match="missing"):
        laid_out("<paragraph>{{ missing }}</paragraph>")
    with pytest.raises(ValueError, match="paragraph has the attribute 'clases', allowed: backrefs, classes"):
        laid_out('<paragraph clases="a">b</paragraph>')


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("measured -2.5e-08", "measured -2.5·10⁻⁸"),
        ("1e-07 absolute, 1e+12", "10⁻⁷ absolute, 10¹²"),
        ("rtol 1e-9: within 3e2", "rtol 10⁻⁹: within 3·10²"),
        ("0.25 of fig2e1 and v1.5e3x", "0.25 of fig2e1 and v1.5e3x"),
    ],
)
def test_numbers_are_written_with_powers_of_ten(said, shown):
    assert powers(said) == shown
