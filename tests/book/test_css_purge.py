"""Style sheets that keep what the site uses, and fonts that keep the icons it shows."""

import css_purge
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

PAGE = (
    '<html data-theme="dark"><body id="top" class="a b"><P class="c">x</P><mjx-box></mjx-box></body></html>'
)
KNOWN = " ".join(css_purge.names_in(PAGE))


def test_the_names_of_a_page_are_its_tags_classes_and_ids():
    assert {"html", "body", "top", "a", "b", "c", "p", "mjx-box"} == set(KNOWN.split())


@pytest.mark.parametrize(
    "rule",
    [
        "p.c { color: red }",
        "*, ::before { margin: 0 }",
        "#top > P:hover::after { content: 'x' }",
        'html[data-theme="light"] .a:not(.nowhere) { color: red }',
        ".b:is(.nowhere, .c) { color: red }",
        "@media print { .a { color: red } }",
        "@supports (display: grid) { @media screen { mjx-Box { color: red } } }",
        "@keyframes turn { from { left: 0 } to { left: 1px } }",
        "@font-face { font-family: x; src: url(x.woff) }",
        ":root { --x: 1 }",
    ],
)
def test_what_can_match_is_kept(rule):
    assert css_purge.purged(rule, KNOWN).replace(" ", "") == rule.replace(" ", "").replace("'", '"')


@pytest.mark.parametrize(
    "rule",
    [
        ".nowhere { color: red }",
        "#nowhere p { color: red }",
        "p.c.nowhere:hover { color: red }",
        ".a :is(.nowhere, p.nowhere) { color: red }",
        "@media print { .nowhere { color: red } }",
        "/* nothing */",
    ],
)
def test_what_matches_nothing_is_left_out(rule):
    assert css_purge.purged(rule, KNOWN) == ""


def test_of_a_list_the_selectors_stay_that_can_match():
    assert css_purge.purged("video, .c, .nowhere p{color:red}", KNOWN) == " .c{color:red}"


def test_a_font_keeps_its_icons_alone(tmp_path):
    pen = TTGlyphPen(None)
    for step in (pen.moveTo, pen.lineTo, pen.lineTo):
        step({0: (0, 0), 1: (500, 0), 2: (0, 500)}[len(pen.points)])
    pen.closePath()
    shape = pen.glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "sun", "moon"])
    builder.setupCharacterMap({0xF185: "sun", 0xF186: "moon"})
    builder.setupGlyf(dict.fromkeys([".notdef", "sun", "moon"], shape))
    builder.setupHorizontalMetrics(dict.fromkeys([".notdef", "sun", "moon"], (500, 0)))
    builder.setupHorizontalHeader()
    builder.setupNameTable({"familyName": "Icons"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "icons.ttf")
    (tmp_path / "icons.woff2").touch()
    css_purge.subset(tmp_path / "icons.ttf", {0xF186})
    assert [path.name for path in tmp_path.iterdir()] == ["icons.woff"]
    assert set(TTFont(tmp_path / "icons.woff").getBestCmap()) == {0xF186}
