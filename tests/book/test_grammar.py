"""Chapters are written in the grammar of CONTRIBUTING.md, but for a list that may only shrink."""

import jupytext
import pytest
from book.grammar import breaches, of_module
from book.test_book import BOOK, CHAPTERS, EXCEPTIONS, ROOT

from executable_claims.run.chapters import code_cells

NOT_YET = EXCEPTIONS["grammar"]
HEAD = "```{code-cell} python3\nimport numpy as np\n```\n\n"
LAW = "```{code-cell} python3\ndef law(x):\n    return 2 * x\n```\n\n"
CHECK = '```{code-cell} python3\n:tags: [hide-input, nbval-check-output]\nverify("a", rows%s)\n```\n'
LONG = "\n".join(f"    x += {k}" for k in range(15))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_chapter_follows_the_grammar_or_is_on_the_list(path):
    name = path.relative_to(BOOK).with_suffix("").as_posix()
    found = list(breaches(code_cells(path)))
    if name in NOT_YET:
        assert found, f"{name} follows the grammar; take it off the list in tests/book/exceptions.yml"
    else:
        assert found == []


def test_the_experiments_of_the_small_print_follow_the_grammar():
    modules = sorted((ROOT / "experiments/small_print").glob("*.py"))
    found = {path.name: list(of_module(path.read_text(encoding="utf-8"))) for path in modules}
    assert not any(found.values()), found


def test_what_breaks_the_grammar_of_an_experiment_is_named():
    lines = "\n".join(f"    x += {k}" for k in range(39))
    assert list(of_module(f'def law(x):\n    """Say."""\n{lines}')) == []
    assert list(of_module(f"def law(x):\n{lines}\n    return x")) == [
        "law has 41 lines, of 40",
        "law has no docstring",
    ]
    inner = "    def slope(x):\n        return 2 * x"
    assert list(of_module(f'def law(x):\n    """Say."""\n{inner}\n    return slope(x)')) == []
    assert list(of_module(inner.replace("    def", "def"))) == ["slope has no docstring"]


def test_the_list_names_chapters():
    assert set(NOT_YET) <= {path.relative_to(BOOK).with_suffix("").as_posix() for path in CHAPTERS}


def test_the_template_of_a_chapter_follows_the_grammar():
    assert list(breaches(code_cells(ROOT / "executable_claims/templates/book/first_part/chapter.md"))) == []


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        (LAW + CHECK % "", None),
        (LAW + CHECK % ', families="three " + "kinds", rtol=1e-9', None),
        (CHECK % "", "0% of the code is visible, of 25%"),
        (LAW + CHECK % ", rtol=tolerance(rows)", "cell 3: a check that calls tolerance"),
        (LAW + CHECK % ", rtol=wide / 2 + narrow", "cell 3: a check that computes wide / 2 + narrow"),
        (LAW + CHECK % ', measured=rows["a"]', "cell 3: a check that computes rows['a']"),
        (LAW.replace("return 2 * x", f"x = 0\n{LONG}"), "cell 2: law has 17 lines, of 15"),
        (LAW.replace("def law(x):\n    return 2 * x", "a = 1\n" * 31), "cell 2: 31 lines, of 30"),
        (LAW + LAW, "law stands for 2 things"),
        (
            LAW + LAW.replace("def law(x):\n    return 2 * x", "for k in a:\n    b.append(k)\n    c += [k]"),
            "cell 3: b, c are parallel lists",
        ),
    ],
)
def test_what_breaks_the_grammar_is_named(text, breach):
    found = list(
        breaches([cell for cell in jupytext.reads(HEAD + text, "md:myst").cells if cell.cell_type == "code"])
    )
    assert found == [] if breach is None else breach in found
