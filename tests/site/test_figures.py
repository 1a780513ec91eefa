"""Figures are parts of their pages: named, of the theme's colours, and legible on a phone."""

import re
from itertools import pairwise

from tests.site import conftest

PAGES = [
    "sigmoidal_curves/closed_form",
    "saddle_to_saddle/off_orthogonality",
    "early_alignment/staircase",
    "neuron_clustering/digits",
    "gradient_starvation/spectral_decoupling",
]
ID, USE, CLIP = r' id="([^"]*)"', r'<use [^>]*xlink:href="#([^"]*)"', r' clip-path="url\(#([^"]*)\)"'
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


def test_what_figures_refer_to_is_on_the_page_and_once(sources):
    seen = 0
    for path, source in sources.items():
        drawn = "".join(found[0] for found in conftest.DRAWN.finditer(source))
        ids, used, clips = (re.findall(pattern, drawn) for pattern in (ID, USE, CLIP))
        assert len(ids) == len(set(ids)) and {*used, *clips} <= set(ids), path
        seen += bool(used) + bool(clips)
    assert seen > 100


@conftest.visits(PAGES[0])
def test_roles_can_be_told_from_the_ground(visited):
    ground = visited.evaluate("getComputedStyle(document.body).backgroundColor")
    for role in ROLES:
        text, line = visited.evaluate(COLOURS, role)
        assert conftest.contrast(text, ground) >= 4.5 and conftest.contrast(line, ground) >= 3, role


@conftest.visits(*PAGES, devices=["phone"])
def test_on_a_phone_panels_stack_and_can_be_read(visited):
    visited.set_viewport_size({"width": 360, "height": 900})
    figures = visited.evaluate(PANELS)
    assert figures
    for panels in figures:
        for panel, below in pairwise(panels):
            assert below["top"] >= panel["bottom"] and below["left"] == panel["left"]
        for panel in panels:
            assert panel["left"] >= 0 and (panel["right"] <= 360 or panel["scrolls"])
            assert panel["least"] >= 8.99


@conftest.visits(PAGES[0], devices=["desktop"])
def test_on_a_desktop_panels_stand_side_by_side(visited):
    [(left, right), *_] = [panels for panels in visited.evaluate(PANELS) if len(panels) == 2]
    assert abs(right["left"] - left["right"]) < 1 and right["top"] == left["top"]
