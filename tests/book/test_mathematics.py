"""Formulas that are typeset while the site is built."""

from pathlib import Path
from types import SimpleNamespace

import mathematics
import pytest
from bs4 import BeautifulSoup

FORMULAS = {
    r"a_1\le\frac bc": "a1≤bc",
    r"\begin{aligned}x&=1\\y&=2\end{aligned}": "x=1y=2",
    r"\operatorname{sign}\lVert w\rVert^2": "sign‖w‖2",
}


@pytest.mark.parametrize("tex", FORMULAS)
@pytest.mark.parametrize("display", [False, True])
def test_a_formula_is_seen_once_and_read_once(tex, display):
    soup = BeautifulSoup(mathematics.typeset(tex, display), "html.parser")
    [container] = soup.find_all("mjx-container")
    [seen], [read] = container.find_all("mjx-math"), container.find_all("math")
    assert seen["aria-hidden"] == "true" and seen.find("mjx-c") is not None
    assert read.get_text("", strip=True) == FORMULAS[tex]
    assert container.has_attr("display") == display


def test_macros_of_the_book_are_known():
    macros = '{"R": "\\\\mathbb{R}"}'
    assert mathematics.typeset(r"\R", False, macros) != mathematics.typeset("R", False, macros)


@pytest.mark.parametrize(("tex", "reason"), [(r"\frac{a", "Missing close brace"), (r"\nosuch", "Undefined")])
def test_what_is_no_formula_is_refused_with_the_reason(tex, reason):
    with pytest.raises(ValueError, match=reason):
        mathematics.typeset(tex, False)


def test_a_formula_that_sphinx_writes_otherwise_is_refused():
    app = SimpleNamespace(config=SimpleNamespace(mathjax3_config={"tex": {"macros": {}}}), srcdir=Path())
    with pytest.raises(ValueError, match="a/page has a formula that is not written as"):
        mathematics.with_formulas(app, '<p class="math notranslate nohighlight">x</p>', "a/page")


def test_a_remembered_formula_is_what_was_typeset(tmp_path):
    remembered = mathematics.remembered_formulas(tmp_path)
    assert [remembered("x^2", False, "{}") for _ in range(2)] == [mathematics.typeset("x^2", False)] * 2
    assert remembered("x^2", True, "{}") != remembered("x^2", False, "{}")
