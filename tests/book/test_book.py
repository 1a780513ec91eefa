"""The shape of the book: chapters, figures, records and ledger fit together."""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
import yaml

from executable_claims.claims.configuration import find_book, read_json
from executable_claims.claims.ledger import find_claim, read_ledger
from executable_claims.run.chapters import CHECK_TAG, cells, code_cells, tree_of
from executable_claims.run.chapters import decided as decided_by_code
from executable_claims.run.coverage import covered, shown
from executable_claims.run.recorded import read_record, record_path, recorded_claims

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
SECTIONS = ["The result", "Why it is true", "Break it", "Further"]
CHAPTERS = sorted(path for path in BOOK.glob("[a-z]*/*.md") if path.parent.name not in ("api", "papers"))
EXECUTED = [*CHAPTERS, BOOK / "how_it_works.md"]
EXCEPTIONS = yaml.safe_load((Path(__file__).parent / "exceptions.yml").read_text(encoding="utf-8"))
NO_PROSE = re.compile(
    r"^\([\w-]+\)=$|^[ \t]*(?:`{3}|:{3}|:[\w-]+:)[^\n]*$|\{[\w:-]+\}|\$\$.*?\$\$|\$[^$]*\$", re.M | re.S
)
WORDS = {False: 1400, True: 1800}  # the core of a part, and one chapter more, may be longer
# The largest error of the theory that a check may overlook, by what it is.
FINEST = {"law": 0.01, "statistical": 0.05, "bound": 0.1}
ROOT_FILES = {
    *(".ci", ".github", ".gitignore", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"),
    *("_config.yml", "_toc.yml", "constraints.txt", "environment.yml", "jupytext.toml", "postBuild"),
    *("pyproject.toml", "benchmarks", "book", "executable_claims", "experiments", "lib", "results", "tests"),
}
CHECKS = find_book(ROOT).checks
BENCHMARKS = BOOK / "benchmarks.md"  # executed, but no cell is compared: they show measured times
PAGES = [*CHAPTERS, BENCHMARKS, BOOK / "comparison.md"]


def name(path: Path) -> str:
    return str(path.relative_to(BOOK))


def calls(source: str, *functions: str) -> list[ast.Call]:
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call for call in found if getattr(call.func, "id", None) in functions]


def decided(cell) -> list[str]:
    return decided_by_code(tree_of(cell), CHECKS)


def decided_claims(path: Path) -> list[str]:
    return [claim for cell in code_cells(path) for claim in decided(cell)]


@pytest.mark.parametrize(
    "path", [one for one in CHAPTERS if not one.stem.startswith("small_print")], ids=name
)
def test_a_chapter_has_the_sections_in_order(path):
    prose = "\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    found = re.findall(r"^## (.+)$", prose, re.M)
    assert [section for section in found if section in SECTIONS] == SECTIONS


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_every_check_is_shown(path):
    for cell in code_cells(path):
        if found := calls(cell.source, *CHECKS):
            assert len(decided(cell)) == len(found), f"a check is not shown at the end:\n{cell.source}"


@pytest.mark.parametrize("path", EXECUTED, ids=name)
def test_every_compared_cell_is_recorded_and_no_record_is_left_over(path):
    record = read_record(record_path(find_book(ROOT), path))
    compared = [decided(cell) for cell in code_cells(path) if CHECK_TAG in cell.metadata.get("tags", [])]
    assert [*record["claims"]] == [*chain.from_iterable(compared)], "run: make record"
    assert len(record["printed"]) == compared.count([]) and all(record["printed"]), "run: make record"
    assert compared and all(entry["text"] for entry in record["claims"].values())
    assert record["kernels"], "of unknown kernels nothing is asked"


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


def test_every_claim_is_decided_by_one_cell_or_says_why_not():
    found = [claim for path in EXECUTED for claim in decided_claims(path)]
    expected = {claim.id: claim.expected for paper in read_ledger() for claim in paper.claims}
    assert sorted(found) == sorted(name for name, verdict in expected.items() if verdict != "not here")


def test_the_ledger_lists_the_claims_of_every_paper_that_has_a_page():
    assert {paper.key for paper in read_ledger()} == {path.stem for path in BOOK.glob("papers/*.md")}
    for paper in read_ledger():
        assert sum(not claim.ours for claim in paper.claims) >= 50
        assert all(claim.shown for claim in paper.claims if claim.expected != "not here")


def test_the_root_holds_only_what_is_listed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.partition("/")[0] for line in listed.splitlines()} == ROOT_FILES


def words(path: Path) -> int:
    """How many words of prose and captions a page has, formulas and code left out."""
    prose = [cell.source for cell in cells(path) if cell.cell_type == "markdown"]
    prose += [
        cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "") for cell in code_cells(path)
    ]
    return len(NO_PROSE.sub(" ", "\n".join(prose)).split())


def test_pages_keep_to_their_number_of_words():
    longer = EXCEPTIONS["longer"]
    assert max(Counter(page.partition("/")[0] for page in longer).values()) <= 2
    counts = {name(path): words(path) for path in CHAPTERS}
    assert {page: count for page, count in counts.items() if count > WORDS[page in longer]} == {}


def coarse(claim: str, record: dict) -> bool:
    """Whether the check of a claim would overlook a larger error of the theory than it may."""
    if any(coarse(claim, one) for one in record.get("others", {}).values()):
        return True
    kind = "bound" if "predicted" not in record else "law"
    if kind == "law" and find_claim(claim).kind == "statistical":
        kind = "statistical"
    return record["resolution"] is None or record["resolution"] > FINEST[kind]


def test_checks_have_the_resolution_asked_for():
    found = {claim for claim, entry in recorded_claims(find_book(ROOT)).items() if coarse(claim, entry)}
    assert found == set(EXCEPTIONS["resolution"]), "the list may only shrink: a check that is fine leaves it"


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_checks_reach_what_a_chapter_says(path):
    missed = covered(shown(find_book(ROOT), path))["unreached"]
    listed = EXCEPTIONS["unreached"].get(name(path).removesuffix(".md"), 0)
    assert len(missed) <= listed, f"no check reaches {'; '.join(missed)}; allowed: {listed}"
    assert len(missed) == listed, f"the list may only shrink: {len(missed)} are left"


def test_the_results_of_the_benchmarks_are_small_and_name_no_machine():
    text = (ROOT / "results" / "benchmarks.json").read_text(encoding="utf-8")
    results = read_json(ROOT / "results" / "benchmarks.json")
    assert len(text) < 30_000 and '"node"' not in text and str(Path.home()) not in text
    for one in results["comparisons"]:
        assert one["ratio"] == one["seconds"]["plain"] / one["seconds"]["ours"] > 0
    assert not any("nbval-check-output" in cell.metadata.get("tags", []) for cell in code_cells(BENCHMARKS))


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    entries = [entry for part in toc["parts"] for entry in part["chapters"]]
    for entry in entries:
        entries += entry.get("sections", [])
    listed = {toc["root"]} | {entry["file"] for entry in entries}
    pages = (path.relative_to(ROOT) for path in BOOK.rglob("*.md"))
    assert listed == {str(path.with_suffix("")) for path in pages if "/." not in str(path)}


@pytest.mark.parametrize(
    ("package", "others"),
    [
        ("lib", "book|experiments|executable_claims|tests|benchmarks"),
        ("experiments", "book|tests|benchmarks"),
        ("executable_claims", "book|lib|experiments|tests|torch|matplotlib"),
        ("executable_claims/claims", r"executable_claims\.(run|site)"),
        ("executable_claims/run", r"executable_claims\.site"),
    ],
)
def test_a_package_imports_nothing_from_those_that_use_it(package, others):
    for path in (path for path in (ROOT / package).rglob("*.py") if "tests" not in path.parts):
        source = path.read_text(encoding="utf-8")
        assert not re.search(rf"^\s*(import|from) ({others})\b", source, re.M), path


def test_the_lock_covers_every_dependency():
    wanted, own = set(), {"executable-claims"}  # of which an extra asks for another
    for file in ("pyproject.toml", "executable_claims/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]
        listed = [*project["dependencies"], *chain(*project.get("optional-dependencies", {}).values())]
        wanted |= {re.match(r"[a-z0-9-]+", entry).group() for entry in listed}
    lock = (ROOT / "constraints.txt").read_text().splitlines()
    locked = {line.split("==")[0].lower().replace("_", "-") for line in lock}
    assert wanted - own <= locked
