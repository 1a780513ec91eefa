"""A formula is a symbol of the notation where the tables have its meaning."""

import pytest
from sphinx.errors import ExtensionError
from symbols import SECTIONS, Row, form, forms, meanings

ROWS = [
    Row("networks-and-data", "symbol-1", frozenset({"x_i", r"\lambda", "w_j"}), "λ", "scale"),
    Row(SECTIONS["neuron_clustering"], "symbol-2", frozenset({"w_j"}), "w_j", "neurons"),
]


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"x_i\in\R^d", {"x_i"}),
        (r"D_\pm=\frac1n\sum_k y_k", {r"D_\pm", "D_+", "D_-"}),
        (r"S_+,S_-,S_{\rm dead}", {"S_+", "S_-", r"S_\rmdead"}),
        (r"F(u)=\log u", {"F(u)", "F"}),
    ],
)
def test_a_row_explains_what_stands_before_its_signs(tex, expected):
    assert set(forms(tex)) == expected


def test_a_form_has_no_braces_and_blanks():
    assert form(r"\bar w") == form(r"\bar{w}") != form("w")


def test_a_symbol_that_no_table_has_stops_the_build():
    with pytest.raises(ExtensionError, match="is in no table"):
        meanings("gradient_starvation/two_moons", ROWS)


def test_the_table_of_the_part_comes_first(monkeypatch):
    monkeypatch.setattr("symbols.MEANT", {"neuron_clustering/": r"w_j x_i"})
    found = meanings("neuron_clustering/digits", ROWS)
    assert found == {"w_j": "symbol-2", "x_i": "symbol-1"}
    assert meanings("early_alignment/stages", ROWS) == {}
