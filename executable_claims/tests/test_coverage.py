"""What a check reaches of what a page says and draws, on made-up pages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executable_claims.claims.configuration import Book
from executable_claims.run.coverage import TYPED, covered, shown
from executable_claims.run.moves import ROUNDING, moved

HEAD = "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n---\n# A page\n\n"
START = """import numpy as np
from executable_claims import beside, verify
from own import law, other
from prose import say

x = np.array([1.0, 2.0])


def square(x):
    return scale * x**2


def cube(x):
    return x**3


scale = 2.0
column = law(x)
"""
CHECK = 'verify("made-law", measured=column, predicted=square(x), because="it is so")'


@pytest.fixture
def show(tmp_path):
    """What a page of two cells shows: one computes and checks, the other one is given."""
    book = Book(tmp_path)
    for name in ("own", "prose"):
        (tmp_path / f"{name}.py").write_text("")

    def shows(code, start=f"{START}\n{CHECK}"):
        page = tmp_path / f"page{len([*tmp_path.iterdir()])}.md"
        cells = (f"```{{code-cell}} python3\n{one}\n```\n\n" for one in (start, code))
        page.write_text(HEAD + "".join(cells))
        return shown(book, page)

    return shows


@pytest.mark.parametrize(
    ("code", "unreached"),
    [
        ("say(value=column[0])", ()),
        ("say(value=column.max() / 2)", ()),
        ("half = column / 2\nsay(value=half[0])", ()),
        ("say(value=2.0, word='two')", ()),
        ("say(value=square(0.3))", ()),
        ("say(value=law(0.3))", ()),
        ("say(value=cube(0.3))", ("cube",)),
        ("say(value=other(0.3))", ("other",)),
        ("say(value=2 * np.log(3))", (TYPED,)),
        ("far = 2 * np.log(3)\nsay(value=far)", ("far",)),
        ("far = square(0.3)\nsay(value=far)", ("far",)),
        ("far = cube(column)\nsay(value=far[0], word=column[0])", ("far",)),
        ("say(value=beside(2 * np.log(3), 2.2, atol=0.1))", ()),
        ("far = 2 * np.log(3)\nsay(value=far, near=beside(2.2, far, atol=0.1))", ()),
        ("assert cube(x)[0] == 1\nsay(value=cube(0.3))", ()),
        # A name is what was last made of it, wherever it is made again.
        ("column = cube(x)\nsay(value=column[0])", ("column",)),
        ("far = cube(x)\nfar = column / 2\nsay(value=far[0])", ()),
        ("if x[0] > 2:\n    column = cube(x)\nsay(value=column[0])", ("column",)),
        ("say(value=column[0])\ncolumn = cube(x)", ()),
        ("def f(column):\n    return 2 * column\n\n\ncolumn = cube(x)\nsay(value=column[0])", ("column",)),
        # A loop says in its second round what it made in the first one.
        ("y = 0.0\nfor k in range(3):\n    say(value=y)\n    y = cube(k)", ("y",)),
        ("for k in (0, 1):\n    say(value=column[k])", ()),
        (
            "a, b = [], []\nfor part, k in ((a, 1), (b, 2)):\n    part.append(cube(k))\nsay(value=a[0])",
            ("a",),
        ),
        ("say(**{f'at_{k}': cube(k) for k in (1, 2)})", ("cube",)),
        ("say(**{'at': column[0]})", ()),
        ("glue('value', cube(0.3), display=False)", ("cube",)),
    ],
)
def test_a_value_is_reached_if_what_makes_it_is(show, code, unreached):
    [value, *_] = show(code)
    assert value.unreached == unreached
    assert (value.cell, value.line) == (
        2,
        next(k for k, one in enumerate(code.split("\n"), 1) if "say" in one or "glue" in one),
    )


def test_what_a_check_only_says_or_allows_is_not_reached(show):
    code = "far = 2 * np.log(3)\nsay(value=far)"
    for field in ("because=f'{far}'", "rtol=far", "families=str(far)"):
        check = CHECK.replace('because="it is so"', field)
        assert show(f"{code}\n{check}")[0].unreached == ("far",)


def test_without_a_check_nothing_is_reached_but_typed_numbers(show):
    values = show("say(value=column[0], other=square(1.0), typed=scale)", START)
    assert [value.unreached for value in values] == [("column",), ("square",), ()]


def test_curves_are_found_and_layout_is_none(show):
    code = (
        "grid = np.linspace(0, 1)\n"
        "axes.plot(grid, square(grid))\n"
        "axes.plot(grid, cube(grid), label='a')\n"
        "axes.annotate('a', (0, 1))\n"
        "def draw(axes, y):\n    axes.semilogy(x, y)\n\n\n"
        "draw(axes, cube(x))\n"
        "axes.plot([0, 1], [0, 1])"
    )
    curves = show(code)
    assert [(one.name, one.line, one.unreached) for one in curves] == [
        ("", 2, ()),
        ("", 3, ("cube",)),
        ("", 9, ("cube",)),
    ]
    assert covered(curves) == {"said": 0, "unreached": [], "curves": 3, "curves_unreached": 2}


def test_the_modules_that_are_read_with_a_page_are_looked_into(tmp_path):
    (tmp_path / "small").mkdir()
    functions = ("law(x):\n    return 3 * root(x)", "root(x):\n    return x", "bare(x):\n    return 2 * x")
    (tmp_path / "small/part.py").write_text("".join(f"def {function}\n\n\n" for function in functions))
    check = "column = law(1.0)\nverify('made-law', measured=column, predicted=3.0)"
    code = (
        f"from small.part import bare, law, root\n{check}\nsay(law=law(2.0), root=root(2.0), bare=bare(2.0))"
    )
    page = tmp_path / "page.md"
    page.write_text(f"{HEAD}```{{code-cell}} python3\n{code}\n```\n")
    values = shown(Book(tmp_path, inlined=("small",)), page)
    assert {value.name: value.unreached for value in values} == {"law": (), "root": (), "bare": ("bare",)}


NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=5)


@given(NUMBERS, st.floats(0, 0.5 * ROUNDING))
def test_what_moves_by_rounding_has_not_moved(numbers, part):
    assert not moved([["", {"a": numbers}]], [["", {"a": [number * (1 + part) for number in numbers]}]])


@given(NUMBERS, st.floats(1e-3, 1e3))
def test_what_moves_by_more_is_said_with_its_distance(numbers, by):
    numbers = [*numbers, 1.0]
    size = np.nanmax(np.abs(numbers))
    text = moved([[" of b", {"a": numbers}]], [[" of b", {"a": [*numbers[:-1], 1.0 + by * size]}]])
    assert text == f"a of b by {by * size:.2g} of {size:.2g}"


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ([["", {"a": [1.0]}]], "a in another shape"),
        ([["", {"a": [1.0, np.nan]}]], "a in another shape"),
        ([["", {"b": [1.0, 2.0]}]], "a in another shape; b in another shape"),
        ([], "the claims, values and figures are others"),
        ([[" of x", {"a": [1.0, 2.0]}]], "the claims, values and figures are others"),
        ([["", {"a": [1.0, 2.0]}]], ""),
    ],
)
def test_another_shape_is_a_move(after, text):
    assert moved([["", {"a": [1.0, 2.0]}]], after) == text
