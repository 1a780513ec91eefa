"""A chapter is quiet until one asks: code is a bar, a check is a line, and notes leave the contents alone."""

from statistics import median

import pytest

from tests.site.conftest import boxes, visits

CHAPTERS = [
    "early_alignment/alignment_time",
    "sigmoidal_curves/phase_diagram",
    "gradient_starvation/coloured_digits",
]


@visits(*CHAPTERS)
def test_code_is_a_bar_and_a_check_a_line(visited):
    wide = visited.viewport_size["width"] == 1280
    for folded, highest in (("details.hide", 36), ("details.claim-card", 80 if wide else 115)):
        heights = [box["height"] for box in boxes(visited.locator(folded))]
        assert heights and max(heights) <= highest


@visits("how_it_works", "run_it", "early_alignment/real_digits", devices=["desktop"])
def test_prose_has_sixty_to_seventy_five_characters_a_line(visited):
    prose = visited.locator(".bd-article section > p:not(:has(.math))")
    lines = "p.offsetHeight / parseFloat(getComputedStyle(p).lineHeight)"
    found = prose.evaluate_all(f"all => all.map((p) => [p.innerText.length, {lines}])")
    assert 60 <= median(length / (lines - 0.5) for length, lines in found if lines > 4) <= 76


@pytest.mark.parametrize("width", [1280, 1440])
def test_a_margin_note_covers_neither_the_prose_nor_the_contents(open_page, disk, width):
    page = open_page(f"{disk}/book/early_alignment/alignment_time.html", width=width)
    note = page.locator("aside.margin").first
    note.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    contents = page.locator(".bd-sidebar-secondary").bounding_box()
    place, theorem = note.bounding_box(), page.locator("div.proof").first.bounding_box()
    assert theorem["x"] + theorem["width"] <= place["x"]
    assert place["x"] + place["width"] <= contents["x"]
    links = page.locator(".bd-sidebar-secondary nav.page-toc a")
    shown = links.last.bounding_box()
    assert shown["y"] + shown["height"] <= contents["y"] + contents["height"], "the contents are folded"
