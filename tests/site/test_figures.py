"""Figures are parts of their pages: named, of the theme's colours, and legible on a phone."""

from itertools import pairwise

import pytest

from tests.site import conftest

PAGES = [
    "sigmoidal_curves/closed_form",
    "saddle_to_saddle/off_orthogonality",
    "early_alignment/staircase",
    "neuron_clustering/digits",
    "gradient_starvation/spectral_decoupling",
]
ROLES = ["simulation", "contrast", "third", "fourth", "theory"]
# The colours that letters and lines have in a role.
COLOURS = """(role) => ["letters", "line"].map((kind) => {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "g");
  document.querySelector(".drawing svg").append(drawn);
  drawn.setAttribute("class", kind);
  drawn.style.fill = `var(--figure-${role})`;
  return getComputedStyle(drawn).fill;
})"""
# Panels: their place, and the size of the smallest letters of their figure.
PANELS = """() => [...document.querySelectorAll("figure:not(:has(.live-drawn)) .drawing")].map((drawing) => {
  const letters = [...drawing.querySelectorAll(".letters > g")];
  const scales = letters.map((one) => parseFloat(one.getAttribute("transform").match(/scale\\(([^ ]+)/)[1]));
  return [...drawing.children].map((panel) => {
    const { left, top, right, bottom, width } = panel.getBoundingClientRect();
    const scrolls = panel.closest("figure").scrollWidth > panel.closest("figure").clientWidth;
    const least = 100 * Math.min(...scales) * width / panel.viewBox.baseVal.width;
    return { left, top, right, bottom, scrolls, least };
  });
})"""


def test_every_figure_is_drawn_in_the_page_and_all_pictures_say_what_is_seen(soups):
    drawings = [
        one for soup in soups.values() for one in soup.select(".bd-article figure .drawing[role=img]")
    ]
    assert len(drawings) > 100 and all(drawing.find("svg") for drawing in drawings)
    for path in conftest.PAGES:
        assert soups[path].select(".bd-article figure img") == [], path
        for picture in soups[path].select(".bd-article :is(img, .drawing)"):
            assert len(picture.get("alt") or picture.get("aria-label", "")) > 20, f"{path}: {picture}"


def test_what_figures_refer_to_is_on_the_page_and_once(soups):
    for path, soup in soups.items():
        ids = [element["id"] for element in soup.select(".drawing [id]")]
        used = [use["xlink:href"].removeprefix("#") for use in soup.select(".drawing use")]
        clips = [one["clip-path"][5:-1] for one in soup.select(".drawing [clip-path]")]
        assert len(ids) == len(set(ids)) and {*used, *clips} <= set(ids), path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_roles_can_be_told_from_the_ground(open_page, address, scheme):
    page = open_page(f"{address}/book/{PAGES[0]}.html", color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for role in ROLES:
        text, line = page.evaluate(COLOURS, role)
        assert conftest.contrast(text, ground) >= 4.5 and conftest.contrast(line, ground) >= 3, role


@pytest.mark.parametrize("name", PAGES)
def test_on_a_phone_panels_stack_and_can_be_read(open_page, address, name):
    page = open_page(f"{address}/book/{name}.html", width=360)
    figures = page.evaluate(PANELS)
    assert figures
    for panels in figures:
        for panel, below in pairwise(panels):
            assert below["top"] >= panel["bottom"] and below["left"] == panel["left"]
        for panel in panels:
            assert panel["left"] >= 0 and (panel["right"] <= 360 or panel["scrolls"])
            assert panel["least"] >= 8.99


def test_on_a_desktop_panels_stand_side_by_side(open_page, address):
    [(left, right), *_] = [
        panels for panels in open_page(f"{address}/book/{PAGES[0]}.html").evaluate(PANELS) if len(panels) == 2
    ]
    assert abs(right["left"] - left["right"]) < 1 and right["top"] == left["top"]
