"""Drawings of Matplotlib become parts of a page."""

import io
import re
from itertools import pairwise

import drawings
import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup

from lib import figures


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        figures.use_style()
        yield
    plt.close("all")


def source(figure):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def drawn(figure, name="a"):
    return BeautifulSoup(drawings.inline(source(figure), name, 'what is "seen"'), "html.parser")


def widths(figure):
    boxes = [list(map(float, svg["viewbox"].split())) for svg in drawn(figure).find_all("svg")]
    assert all(one[0] + one[2] == pytest.approx(after[0]) for one, after in pairwise(boxes))
    return [box[2] for box in boxes]


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (2, 1), (3, 1), (2, 2)])
def test_a_drawing_is_cut_between_its_columns(columns, rows):
    figure, axes = figures.panels(columns, rows, squeeze=False)
    for panel in axes.flat:
        panel.plot([0, 1], [0, 1])
        panel.set_ylabel("loss")
    found = widths(figure)
    assert len(found) == columns
    assert sum(found) == pytest.approx(72 * figures.WIDTH, abs=10)  # tight around what is drawn


def test_what_needs_its_neighbour_is_not_cut_from_it():
    figure, (left, right) = figures.panels(2)
    left.twinx().set_ylabel("too")
    right.inset_axes([0.5, 0.5, 0.4, 0.4])
    assert len(widths(figure)) == 2
    shared, _ = figures.panels(2, sharey=True)
    assert len(widths(shared)) == 1, "the labels of the second stand at the first"
    long, (first, _) = figures.panels(2)
    first.annotate("a text that reaches over the panel beside it", (0.5, 0.5), annotation_clip=False)
    assert len(widths(long)) == 1
    bar, axes = figures.panels()
    bar.colorbar(axes.imshow([[0, 1], [1, 0]]), ax=axes)
    assert len(widths(bar)) == 1


def test_a_drawing_without_frames_is_whole():
    figure, (left, right) = figures.panels(2)
    left.axis("off")
    left.plot([0, 1], [0, 1], color=figures.CONTRAST)
    right.axis("off")
    assert len(widths(figure)) == 1


def test_letters_can_be_told_from_lines():
    figure, axes = figures.panels()
    axes.annotate("in colour", (0.5, 0.5), color=figures.CONTRAST)
    [letters] = [one for one in drawn(figure).select(".letters > g") if "contrast" in one["style"]]
    assert len(letters.find_all("use")) == len("in colour")


def test_colours_are_roles_and_coordinates_short():
    figure, axes = figures.panels()
    for k, colour in enumerate((figures.SIMULATION, figures.CONTRAST, figures.THIRD, figures.FOURTH)):
        axes.plot([0, 1, 2], [k, k + 1 / 3, k], "o-", color=colour)
    axes.plot([0, 2], [1, 2], **figures.DASHED)
    page = str(drawn(figure))
    assert re.search("#[0-9a-f]{6}", page, re.I) is None
    for role in drawings.ROLES.values():
        assert f"var(--figure-{role})" in page
    paths = re.findall(r' d="([^"]*)"', page)
    assert paths and not any(re.search(r"\.\d{3}", path) for path in paths)


def test_a_drawing_says_what_is_seen():
    figure, _ = figures.panels()
    page = drawn(figure)
    assert page.span["aria-label"] == 'what is "seen"' and page.span["role"] == "img"


def svg(*attributes, inside):
    return f"<svg {' '.join(attributes)}>{inside}</svg>"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (svg(inside="<g id='figure_1'/>"), "n is no drawing of Matplotlib, which has a viewBox and"),
        (svg("viewBox='0 0 1 1'", inside="<g id='chart'/>"), "n is no drawing of Matplotlib"),
        (
            svg("viewBox='0 0 1 1'", inside="<g id='figure_1'><g transform='matrix(1 0 0 1 2 3)'/></g>"),
            r"transform of a text is 'matrix\(1 0 0 1 2 3\)', allowed: translate",
        ),
    ],
)
def test_what_matplotlib_has_not_drawn_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        drawings.inline(source, "n", "a picture")
