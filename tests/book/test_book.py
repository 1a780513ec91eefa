"""The shape of the book: chapters, figures, records and ledger fit together."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import jupytext
import pytest
import yaml

from lib.claims.ledger import read_ledger
from lib.claims.verify import MIME

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
SECTIONS = ["The result", "Why it is true", "Break it", "Further"]
CHAPTERS = sorted(path for path in BOOK.glob("[a-z]*/*.md") if path.parent.name not in ("api", "papers"))
EXECUTED = [*CHAPTERS, BOOK / "how_it_works.md"]
CHECKS = ("verify", "verify_recorded")
TABLE = "verify_all"
BENCHMARKS = BOOK / "benchmarks.md"  # executed, but no cell is compared: they show measured times
PAGES = [*CHAPTERS, BENCHMARKS, BOOK / "comparison.md", BOOK / "drift.md"]


def name(path: Path) -> str:
    return str(path.relative_to(BOOK))


@cache
def cells(path: Path) -> list:
    return jupytext.read(path).cells


def code_cells(path: Path) -> list:
    return [cell for cell in cells(path) if cell.cell_type == "code"]


def calls(source: str, *functions: str) -> list[ast.Call]:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call for call in found if getattr(call.func, "id", None) in functions]


def decided(cell) -> list[str]:
    """The claims that the cell's last expression decides: one that is meant to fail is caught."""
    last = ast.parse(cell.source).body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return []
    table = getattr(last.value.func, "id", None) == TABLE
    found = last.value.args if table else [last.value]
    return [call.args[0].value for call in found if getattr(call.func, "id", None) in CHECKS]


def decided_claims(path: Path) -> list[str]:
    return [claim for cell in code_cells(path) for claim in decided(cell)]


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_a_chapter_has_the_sections_in_order(path):
    prose = "\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    found = re.findall(r"^## (.+)$", prose, re.M)
    assert [section for section in found if section in SECTIONS] == SECTIONS


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_every_check_is_shown_and_compared(path):
    for cell in code_cells(path):
        if found := calls(cell.source, *CHECKS):
            assert len(decided(cell)) == len(found), f"a check is not shown at the end:\n{cell.source}"
            assert "nbval-check-output" in cell.metadata.get("tags", []), f"not compared:\n{cell.source}"


@pytest.mark.parametrize("path", EXECUTED, ids=name)
def test_every_compared_cell_is_recorded_and_no_record_is_left_over(path):
    compared = {
        cell.source for cell in code_cells(path) if "nbval-check-output" in cell.metadata.get("tags", [])
    }
    recorded_at = ROOT / "tests" / "recorded" / path.relative_to(BOOK).with_suffix(".json")
    recorded = json.loads(recorded_at.read_text(encoding="utf-8")) if recorded_at.exists() else {}
    assert set(recorded) == compared, "run: make record"
    assert compared and all(recorded.values()), "a record without text compares nothing"
    for cell in code_cells(path):
        outputs = recorded.get(cell.source, [])
        numbers = [one["claim"] for output in outputs for one in output.get("data", {}).get(MIME, [])]
        assert numbers == decided(cell), "run: make record"


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_every_draw_of_a_chapter_is_moved_by_the_books_seed(path):
    """All randomness comes from `lib.seeds`; generators of torch are made of `book_seed`."""
    for cell in code_cells(path):
        assert not re.search(r"default_rng|manual_seed|RandomState|np\.random\.", cell.source), cell.source
        for call in calls(cell.source, "seed_generators"):
            assert calls(ast.unparse(call), "book_seed"), cell.source
        for call in ast.walk(ast.parse(cell.source)):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", None) == "run":
                assert calls(ast.unparse(call), "book_seed"), cell.source


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_every_figure_has_a_caption_and_a_description(path):
    for cell in code_cells(path):
        if "plt.show" in cell.source:
            about = cell.metadata.get("mystnb", {})
            assert len(about.get("image", {}).get("alt", "")) > 30, cell.source[:300]
            assert len(about.get("figure", {}).get("caption", "")) > 30, cell.source[:300]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_visible_cells_are_short(path):
    for cell in code_cells(path):
        tags = cell.metadata.get("tags", [])
        folded = decided(cell) or any(tag.startswith(("hide", "remove")) for tag in tags)
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert folded or len(lines) <= 24, f"{len(lines)} lines:\n{cell.source}"


def test_no_claim_is_decided_twice_and_at_least_sixty_are_decided():
    found = [claim for path in EXECUTED for claim in decided_claims(path)]
    assert len(found) == len(set(found))
    assert set(found) <= {claim.id for paper in read_ledger() for claim in paper.claims}
    assert len(found) >= 60


def test_the_results_of_the_benchmarks_are_small_and_name_no_machine():
    text = (ROOT / "results" / "benchmarks.json").read_text(encoding="utf-8")
    results = json.loads(text)
    assert len(text) < 30_000 and '"node"' not in text and str(Path.home()) not in text
    for one in results["comparisons"]:
        assert one["ratio"] == one["seconds"]["plain"] / one["seconds"]["ours"] > 0
    assert not any("nbval-check-output" in cell.metadata.get("tags", []) for cell in code_cells(BENCHMARKS))


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    entries += [inner for entry in entries for inner in entry.get("sections", [])]
    listed = {toc["root"]} | {entry["file"] for entry in entries}
    assert listed == {str(path.relative_to(ROOT).with_suffix("")) for path in BOOK.rglob("*.md")}


def test_lib_imports_nothing_from_the_book():
    for path in ROOT.glob("lib/**/*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) book\b", source, re.M)


def test_the_lock_covers_every_dependency():
    text = (ROOT / "pyproject.toml").read_text()
    wanted = {re.match(r"[a-z0-9-]+", entry).group() for entry in re.findall(r'^  "([a-z].*)",$', text, re.M)}
    lock = (ROOT / "constraints.txt").read_text().splitlines()
    locked = {line.split("==")[0].lower().replace("_", "-") for line in lock}
    assert wanted <= locked
