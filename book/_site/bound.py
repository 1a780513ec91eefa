"""Binds the built site into one PDF: the pages as they are printed, one outline, links that lead inside.

``python book/_site/bound.py SITE FILE [page ...]``.  What the site folds on paper stays folded, but for the
solutions of the exercises, which stand at the end.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlparse

import yaml
from look import render
from playwright.sync_api import Page, sync_playwright
from provenance import LICENCE, ROOT, citation, commit, now
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NullObject
from questions import REFERENCE, listed

LINK = re.compile(r'href="([^"#:]*)#([^"]+)"')
# Chromium notes where an element is if something on its page leads there.
NOTED = """names => {
  for (const image of document.images) image.loading = "eager";
  const box = document.createElement("div");
  box.style.cssText = "position: absolute; font-size: 1px";
  for (const name of names) {
    const link = document.createElement("a");
    link.href = "#" + name;
    link.textContent = ".";
    link.style.cssText = "color: transparent; text-decoration: none";
    box.append(link);
  }
  document.querySelector("article").append(box);
  const shown = [...document.images].map(image => image.decode().catch(() => 0));
  return Promise.all([document.fonts.ready, ...shown]).then(() => null);
}"""
SOLUTIONS = """() => [...document.querySelectorAll("article details.solution")]
  .map(box => [...box.children].slice(1).map(child => child.outerHTML).join(""))"""
SHOWN = """html => {
  const article = document.querySelector("article");
  article.innerHTML = html + '<style>@page { @top-right { content: "Solutions" } }</style>';
}"""


@dataclass
class Leaves:
    """The printed pages of one chapter: where they begin, and where its elements are, by their ids."""

    first: int
    places: dict[str, tuple[int, float, float]] = field(default_factory=dict)


def parts(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The parts of the book as its table of contents has them, without the reference."""
    contents = yaml.safe_load((folder / "_toc.yml").read_text(encoding="utf-8"))
    yield "", [contents["root"]]
    title, pages = "", list[str]()
    for part in contents["parts"]:
        if "caption" in part and pages:
            yield title, pages
            pages = []
        title = part.get("caption", title)
        pages += [page for page, _ in listed([part]) if Path(page).parent != REFERENCE]
    yield title, pages


def wanted(site: Path, pages: Sequence[str]) -> dict[str, set[str]]:
    """The ids of a page that other pages lead to, by page."""
    ids: dict[str, set[str]] = {page: set() for page in pages}
    for page in pages:
        path = site / f"{page}.html"
        for target, name in LINK.findall(path.read_text(encoding="utf-8")):
            home = (path.parent / target).resolve() if target else path.resolve()
            other = home.relative_to(site.resolve()).with_suffix("").as_posix()
            if other in ids:
                ids[other].add(unquote(name))
    return ids


def printed(tab: Page) -> PdfReader:
    """What is open, as it is printed."""
    return PdfReader(io.BytesIO(tab.pdf(prefer_css_page_size=True, print_background=True)))


def bind(writer: PdfWriter, reader: PdfReader) -> Leaves:
    """Add the pages of a chapter to the book."""
    leaves = Leaves(len(writer.pages))
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        if number is not None:
            corner = float(place.left or 0), float(place.top or 0)
            leaves.places[name.lstrip("/")] = (leaves.first + number, *corner)
    for page in reader.pages:
        writer.add_page(page)
    return leaves


def lead_inside(writer: PdfWriter, site: Path, chapters: Mapping[str, Leaves]) -> None:
    """Let links between pages of the site lead to their place in the book, and drop others."""
    ends = [*[leaves.first for leaves in chapters.values()][1:], len(writer.pages)]
    for (own, leaves), end in zip(chapters.items(), ends, strict=True):
        for page in writer.pages[leaves.first : end]:
            links = page.get("/Annots", ArrayObject())
            kept = [link for link in links if redirect(link.get_object(), own, writer, site, chapters)]
            page[NameObject("/Annots")] = ArrayObject(kept)


def redirect(
    link: DictionaryObject, own: str, writer: PdfWriter, site: Path, chapters: Mapping[str, Leaves]
) -> bool:
    """Whether a link leads somewhere, once it leads to a place of the book where it can."""
    name, home = link.pop("/Dest", None), own
    if name is None:
        address = urlparse(str(link.get("/A", {}).get("/URI", "")))
        if address.scheme != "file":
            return bool(address.scheme)
        path = Path(unquote(address.path))
        if not path.is_relative_to(site.resolve()):
            return False
        home, name = path.relative_to(site.resolve()).with_suffix("").as_posix(), unquote(address.fragment)
        link.pop("/A")
    if home not in chapters:
        return False
    leaves = chapters[home]
    number, left, top = leaves.places.get(str(name).lstrip("/"), (leaves.first, 0.0, 1e4))
    target = [writer.pages[number].indirect_reference, NameObject("/XYZ")]
    link[NameObject("/Dest")] = ArrayObject([*target, FloatObject(left), FloatObject(top), NullObject()])
    return True


def heading(tab: Page) -> str:
    """The title of the page that is open, with its number."""
    text = tab.locator("article h1").first.inner_text()
    return " ".join(text.replace("#", "").split())


def make(site: Path, file: Path, only: Sequence[str] = ()) -> int:
    """Print the pages of a site, or only some, into one file; return how many pages it has."""
    from tests.site.browser import find_browser

    of_parts = [(title, [page for page in pages if page in (only or pages)]) for title, pages in parts(ROOT)]
    pages = [page for _, some in of_parts for page in some]
    ids, writer, chapters, solved = wanted(site, pages), PdfWriter(), dict[str, Leaves](), list[str]()
    chromium = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        tab = browser.new_page()
        origin = {"made": f"{now():%Y-%m-%d}", "commit": commit(), "licence": LICENCE}
        tab.set_content(render("cover.html", book=citation()["title"], **origin))
        bind(writer, printed(tab))
        for title, some in of_parts:
            above = None
            for page in some:
                tab.goto((site / f"{page}.html").resolve().as_uri())
                tab.evaluate(NOTED, sorted(ids[page]))
                name, found = heading(tab), tab.evaluate(SOLUTIONS)
                chapters[page] = bind(writer, printed(tab))
                if title and above is None:
                    above = writer.add_outline_item(title=title, page_number=chapters[page].first)
                writer.add_outline_item(title=name, page_number=chapters[page].first, parent=above)
                solved += [f"<h2>{name}</h2>{''.join(found)}"] if found else []
        if solved:
            tab.evaluate(SHOWN, f"<h1>Solutions</h1>{''.join(solved)}")
            chapters["solutions"] = bind(writer, printed(tab))
            writer.add_outline_item(title="Solutions", page_number=chapters["solutions"].first)
        browser.close()
    lead_inside(writer, site, chapters)
    writer.add_metadata({"/Title": citation()["title"], "/Subject": f"Commit {commit()}"})
    writer.compress_identical_objects()
    file.parent.mkdir(parents=True, exist_ok=True)
    writer.write(file)
    return len(writer.pages)


if __name__ == "__main__":
    site, file, *only = sys.argv[1:]
    print(f"{make(Path(site), Path(file), only)} pages are in {file}.")
