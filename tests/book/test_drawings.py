"""Drawings of Matplotlib become parts of a page."""

import io
import re
from unicodedata import normalize

import drawings
import glyphs
import lettering
import matplotlib.pyplot as plt
import numpy as np
import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

from lib import figures


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        figures.use_style()
        plt.rcParams["figure.dpi"] = 72  # points, as in SVG
        yield
    plt.close("all")


def source(figure):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def drawn(figure, name="a"):
    return BeautifulSoup(drawings.inline(source(figure), name, 'what is "seen"'), "html.parser")


def frame(svg):
    left, top, width, height = map(float, svg["viewbox"].split())
    return drawings.Box(left, top, left + width, top + height)


def test_letters_are_text_where_matplotlib_has_them():
    figure, axes = figures.panels()
    labels = [
        axes.set_xlabel("steps, in $10^{-2}$"),
        axes.set_ylabel(r"loss $\frac{a}{b}$"),
        axes.annotate("office", (0.5, 0.5)),
    ]
    page = drawn(figure)
    texts = [text.get_text() for text in page.find_all("text")]
    assert {"office", "loss ab", "steps, in 10−2"} <= {normalize("NFKC", text) for text in texts}
    assert page.find("path", attrs={"id": re.compile("DejaVu|STIX")}) is None
    boxes = [text.box for text in drawings.texts(drawings.parsed(source(figure)))]
    for label in labels:
        x0, y0, x1, y1 = label.get_window_extent().extents.tolist()
        wanted = (x0, figure.bbox.height - y1, x1, figure.bbox.height - y0)
        assert any(np.allclose(box, wanted, atol=5) for box in boxes), label


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (3, 1), (2, 2)])
def test_a_panel_has_its_axes_and_their_labels(columns, rows):
    figure, axes = figures.panels(columns, rows, squeeze=False)
    for one in axes.flat:
        one.plot([0, 1], [0, 1])
        one.set_ylabel("loss")
    panels = drawn(figure).find_all("svg")
    assert [panel.find(string="loss") for panel in panels] == ["loss"] * columns * rows
    boxes = [frame(panel) for panel in panels]
    for number, box in enumerate(boxes):
        smaller = drawings.Box(box.left + 3, box.top + 3, box.right - 3, box.bottom - 3)
        assert not any(smaller.overlaps(other) for other in boxes[number + 1 :])


def test_axes_that_lie_on_each_other_are_one_panel():
    figure, (left, right) = figures.panels(2)
    left.set_xlabel("one")
    right.set_xlabel("two")
    left.twinx().set_ylabel("too")
    right.inset_axes([0.5, 0.5, 0.4, 0.4])
    first, second = drawn(figure).find_all("svg")
    assert first.find(string="one") and first.find(string="too") and second.find(string="two")


def test_a_drawing_without_frames_is_whole():
    figure, (left, right) = figures.panels(2)
    left.axis("off")
    left.plot([0, 1], [0, 1], color=figures.CONTRAST)
    right.axis("off")
    assert len(drawn(figure).find_all("svg")) == 1


def test_panels_that_share_an_axis_get_its_labels():
    figure, axes = figures.panels(2, 2, sharex=True, sharey=True)
    axes[0, 0].set_ylabel("above")
    axes[1, 1].set_xlabel("right")
    panels = drawn(figure).find_all("svg")
    shared = [[group.get_text() for group in panel.select(".drawing-shared")] for panel in panels]
    assert [len(labels) for labels in shared] == [1, 2, 0, 1]
    assert "above" in "".join(shared[1]) and "right" in "".join(shared[1])
    assert "right" not in "".join(shared[0]) and "above" not in "".join(shared[3])


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
    assert len(page) < len(source(figure)) / 2


def test_names_are_those_of_the_drawing():
    figure, axes = figures.panels()
    axes.plot([0, 1], [0, 1], "o")
    first, second = drawn(figure, "a"), drawn(figure, "b")
    for page, name in ((first, "a"), (second, "b")):
        ids = {element["id"] for element in page.select("[id]")}
        used = {use["xlink:href"][1:] for use in page.find_all("use")}
        clips = {one["clip-path"][5:-1] for one in page.select("[clip-path]")}
        assert ids == used | clips and all(one.startswith(f"{name}-") for one in ids)
    assert first.span["aria-label"] == 'what is "seen"' and first.span["role"] == "img"


def test_fonts_have_the_letters_of_the_drawings(tmp_path):
    figure, axes = figures.panels()
    axes.set_title(r"mean of $\theta$")
    letters = lettering.letters_of(source(figure))
    rules = glyphs.write_fonts(letters, tmp_path / "letters")
    assert (
        rules.count("@font-face") == len({font for font, _ in letters}) == len(list(tmp_path.rglob("*.woff")))
    )
    for font, number in letters:
        characters = TTFont(tmp_path / "letters" / f"{font}.woff").getBestCmap()
        assert ord(glyphs.glyph(font, number).character) in characters


@pytest.mark.parametrize(("font", "number"), [("Comic", 1), ("DejaVuSans", 0)])
def test_what_is_no_letter_is_refused(font, number):
    with pytest.raises(ExtensionError, match=f"{font}.*allowed"):
        glyphs.glyph(font, number)
