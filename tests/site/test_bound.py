"""The book on paper: one PDF with an outline, links that lead inside, text and formulas that are text."""

import os
import subprocess
import sys

import pytest
from bound import parts
from provenance import ROOT
from pypdf import PdfReader

CHAPTERS = ("book/index", "book/sigmoidal_curves/closed_form", "book/sigmoidal_curves/clock")


@pytest.fixture(scope="module")
def paper(site, tmp_path_factory):
    file = tmp_path_factory.mktemp("paper") / "book.pdf"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "book" / "_site"), str(ROOT)))}
    subprocess.run(
        [sys.executable, "-m", "bound", site, file, *CHAPTERS], cwd=ROOT, env=environment, check=True
    )
    return PdfReader(file)


def entries(outline):
    """The entries of an outline, those of a part in the list after it."""
    return [entries(entry) if isinstance(entry, list) else entry.title for entry in outline]


def test_the_outline_has_the_chapters_below_their_parts_and_the_solutions_at_the_end(paper):
    title, part, chapters, solutions = entries(paper.outline)
    assert title == "Learning Dynamics, Executed" and part == "Sigmoidal curves" and solutions == "Solutions"
    assert [chapter.partition(".")[0] for chapter in chapters] == ["1", "3"]
    every = [page for _, pages in parts(ROOT) for page in pages]
    assert len(every) == len(set(every)) > 70 and set(CHAPTERS) <= set(every)


def test_every_page_has_text_and_what_is_searched_is_found(paper):
    texts = [page.extract_text() for page in paper.pages]
    assert all(len(text) > 80 for text in texts)
    assert paper.metadata.title == "Learning Dynamics, Executed" and "commit" in texts[0]
    whole = " ".join(texts)
    assert "closed form" in whole and "σ" in whole, "formulas are text too"


def test_links_between_pages_lead_to_pages_of_the_book(paper):
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(paper.pages)}
    last = [number for number, page in enumerate(paper.pages) if "Solutions" in page.extract_text()[:400]]
    ends, addresses = set(), []
    for page in paper.pages:
        for link in (link.get_object() for link in page.get("/Annots", ())):
            if "/Dest" in link:
                ends.add(numbers[link["/Dest"][0].idnum])
            else:
                addresses.append(link["/A"]["/URI"])
    assert len(ends) > 5 and max(ends) < len(paper.pages) and last
    assert all(address.startswith("http") for address in addresses)
