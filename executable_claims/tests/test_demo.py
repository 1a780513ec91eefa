"""Another book: the demo is built and tested where the engine is installed, and neither lib nor torch is."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from installed import run

DEMO = Path(__file__).parent / "demo"
PAGE = "book/logistic_map/two_cycle.md"


def build(environment, folder):
    program = "from jupyter_book.cli.main import main; main()"
    return run(environment, folder.parent, "-c", program, "build", folder.name, "-W", "-n", "--keep-going")


def copied(source, folder):
    """A copy of a demo in a new folder; with what its pages came to, if they have been executed."""
    left_out = shutil.ignore_patterns("html", ".doctrees", "__pycache__")
    return shutil.copytree(source, folder / "demo", ignore=left_out)


def changed(folder, *changes, name=PAGE):
    """Change the text of a page, each old text to a new one."""
    text = (folder / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The demo, with a magic and a module of its own in a chapter."""
    folder = copied(DEMO, tmp_path_factory.mktemp("sources"))
    (folder / "tools.py").write_text("from math import sqrt\n")
    magic = "%matplotlib inline\nfrom tools import sqrt\nimport numpy as np\n"
    changed(folder, ("import numpy as np\n", magic), ("edge = 1 + np.sqrt", "edge = 1 + sqrt"))
    return folder


@pytest.fixture(scope="module")
def built(environment, sources, tmp_path_factory):
    """The demo, built."""
    folder = copied(sources, tmp_path_factory.mktemp("built"))
    code, output = build(environment, folder)
    assert code == 0 and output.count("executed ") == 2, output
    assert "arxiv" not in (folder / "_build" / "html" / "c" / "may1976-two-cycle.html").read_text()
    return folder


def page(built, name):
    return BeautifulSoup((built / "_build" / "html" / name).read_text(encoding="utf-8"), "html.parser")


def test_the_engine_is_the_installed_one_and_neither_lib_nor_torch_can_be_imported(environment, built):
    script = "import executable_claims; print(executable_claims.__file__)\nimport lib"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=built, env=environment, capture_output=True, text=True
    )
    assert environment["PYTHONPATH"] in done.stdout and "lib is not part of the engine" in done.stderr


def test_a_chapter_has_a_card_that_says_how_wrong_a_theory_it_would_notice(built):
    card = page(built, "book/logistic_map/two_cycle.html").select_one("#claim-may1976-two-cycle")
    text = " ".join(card.get_text(" ").split())
    assert "corrected" in text and "would notice a part in 10⁹" in text
    assert "The cycle of two points loses its stability" in card.summary.get_text()
    drawn = page(built, "book/logistic_map/two_cycle.html").select_one("#claim-may1976-fixed-point")
    assert "nine parameters" in drawn.get_text()


def test_clauses_stand_on_the_card_and_at_the_address_and_a_neighbour_is_linked(built):
    card = page(built, "book/logistic_map/two_cycle.html").select_one("#claim-may1976-fixed-point")
    terms = [term.get_text() for term in card.select("dt")]
    assert [terms.count(name) for name in ("Clause", "Resolution", "Control")] == [3, 2, 2]
    assert "2 clauses" in card.summary.get_text() and card.select("a[href$='c/may1976-two-cycle.html']")
    assert "r 1.2 to 2.8 (9 values)" in card.get_text()
    address = page(built, "c/may1976-fixed-point.html")
    assert [one.get_text()[:9] for one in address.select("h3")[:2]] == ["converges", "each step"]
    assert address.select("dd a[href='may1976-two-cycle.html']")


def test_the_pages_of_the_ledger_show_the_verdicts(built):
    board = page(built, "book/index.html").select_one("table.scoreboard")
    assert [cell.get_text() for cell in board.select("tbody tr")[0].select("td")][1:4] == ["2", "1", "1"]
    rows = page(built, "book/scorecard.html").select("tr.scorecard-row")
    assert [row["id"] for row in rows] == [
        f"scorecard-may1976-{name}" for name in ("fixed-point", "two-cycle", "ours-exponent")
    ]
    assert all(re.search("would notice", row.get_text()) for row in rows)
    paper = page(built, "book/paper.html")
    assert {"erratum-may1976-two-cycle", "erratum-may1976-r1", "verdict-may1976-ours-exponent"} <= {
        tag["id"] for tag in paper.select("[id]")
    }


def test_every_claim_has_an_address_and_a_record_with_all_digits(built):
    site = built / "_build" / "html"
    known = json.loads((site / "claims.json").read_text())["claims"]
    assert [record["claim"]["id"] for record in known] == sorted(record["claim"]["id"] for record in known)
    for record in known:
        at_address = page(built, f"c/{record['claim']['id']}.html")
        text = at_address.get_text(" ")
        assert record["claim"]["in_words"] in text and record["verdict"] in text
        assert (
            f"{record['comparison']['measured']:.6g}" in at_address.select_one(".claim-numbers-beside").text
        )
        assert "python -m pytest book/logistic_map/" in at_address.find(id="run").find_next("pre").text
        for link in page(built, f"c/{record['claim']['id']}.html").select("li a"):
            path, _, anchor = link["href"].removeprefix("../").partition("#")
            assert page(built, path).select_one(f"[id='{anchor}']") is not None
    measured = {record["claim"]["id"]: record["comparison"]["measured"] for record in known}
    assert measured["may1976-two-cycle"] == pytest.approx(1 + 6**0.5, rel=1e-10)


def test_nothing_is_executed_or_written_again_when_nothing_has_changed(environment, built):
    site, gone = built / "_build" / "html", built / "_build" / "html" / "c" / "gone.html"
    pages = [*site.glob("book/**/*.html"), *site.glob("c/*.html")]
    before = {path: path.stat().st_mtime_ns for path in pages}
    gone.write_text("a claim that the ledger has no more")
    code, output = build(environment, built)
    assert code == 0 and "executed" not in output and not gone.exists(), output
    after = {path: path.stat().st_mtime_ns for path in before}
    assert before == after


def test_the_site_is_the_same_whoever_executed_the_chapters(environment, sources, built, tmp_path):
    folder = copied(sources, tmp_path)
    code, output = run(environment, folder, "-m", "pytest", "-q", "-n", "2")
    assert code == 0 and "passed" in output, output
    code, output = build(environment, folder)
    assert code == 0 and "executed" not in output, output
    for path in sorted(folder.glob("_build/html/book/**/*.html")):
        assert path.read_text() == (built / path.relative_to(folder)).read_text()


def test_the_demo_passes_its_tests_also_with_another_seed(environment, built):
    code, output = run({**environment, "BOOK_SEED": "7"}, built, "-m", "pytest", "-q")
    assert code == 0 and "passed" in output, output


def test_a_book_begins_with_one_chapter_and_shows_a_paper_that_is_added(environment, built, tmp_path):
    folder = copied(built, tmp_path)
    contents, pages = (folder / "_toc.yml").read_text(), "  - file: book/paper\n  - file: book/scorecard\n"
    (folder / "_toc.yml").write_text(contents.replace(pages, ""))
    code, output = build(environment, folder)
    assert code == 0 and "Among the claims" not in page(folder, "c/may1976-two-cycle.html").text, output
    (folder / "_toc.yml").write_text(contents)
    ledger = folder / "book" / "claims"
    text = (ledger / "may1976.yml").read_text()
    claim = re.search(r"  - id: may1976-ours-exponent.*?not in the paper\n", text, re.S)[0]
    head = "paper: {key: other1980, title: T, authors: A, year: 1980}\nclaims:\n"
    claim = claim.replace("may1976", "other1980").replace("expected: verified", "expected: not yet")
    (ledger / "other1980.yml").write_text(head + claim)
    code, output = build(environment, folder)
    assert code == 0 and "executed" not in output, output
    assert page(folder, "book/scorecard.html").find(id="scorecard-other1980-ours-exponent")
    assert len(page(folder, "book/index.html").select("table.scoreboard tbody tr")) == 4


def test_a_warning_of_a_cell_stands_on_its_page_and_fails_in_continuous_integration(
    environment, built, tmp_path
):
    folder = copied(built, tmp_path)
    line = "    for _ in range(steps):\n"  # of a function that a checked cell calls
    news = f'    import warnings\n\n    warnings.warn("will go", DeprecationWarning)\n{line}'
    changed(folder, (line, news))
    code, output = run(environment, folder, "-m", "pytest", "-q", PAGE)
    assert code == 0, output
    code, output = build({**environment, "CI": "true"}, folder)
    assert code and "stderr was found in the cell outputs" in output, output
    code, output = build({**environment, "CI": ""}, folder)
    assert code == 0 and "executed" not in output, output
    assert "will go" in page(folder, PAGE.replace(".md", ".html")).select_one(".output.stderr").text


# Mistakes

# A change of a chapter each, and what the build says of it.
MISTAKEN = {
    "wrong_law": ("edge = 1 + sqrt(6)", "edge = 1.01 + sqrt(6)", r"may1976-two-cycle \(Section 2.*fails"),
    "control": ("np.sqrt(5)", "np.sqrt(6.0)", "may1976-two-cycle .*the control passes"),
    "printed": (
        "predicted=3.4)",
        "predicted=edge)",
        "may1976-two-cycle .*the printed statement holds after all",
    ),
    "no_claim": ("verify(", "str(", "no_claim.md: decides no claim"),
    "untagged": (":tags: [nbval-check-output]", "", "untagged.md: .* lacks the tag nbval-check-output"),
    "twice": (
        '"may1976-two-cycle"',
        '"may1976-fixed-point"',
        "may1976-fixed-point is decided twice: book/logistic_map",
    ),
}
GONE = "recorded/logistic_map/gone.json is recorded of no page"


@pytest.fixture(scope="module")
def mistaken(environment, built, tmp_path_factory):
    """What the build and the tests say of a book with all these mistakes, each in a chapter of its own."""
    folder = copied(built, tmp_path_factory.mktemp("mistaken"))
    for name, (old, new, _) in MISTAKEN.items():
        place = shutil.copy(folder / PAGE, (folder / PAGE).with_name(f"{name}.md"))
        changed(folder, (old, new), name=place)
        line = "  - file: book/logistic_map/two_cycle\n"
        changed(folder, (line, f"{line}  - file: book/logistic_map/{name}\n"), name="_toc.yml")
    [recorded, *_] = sorted(folder.glob("recorded/logistic_map/*.json"))
    shutil.copy(recorded, recorded.with_name("gone.json"))
    told = {"build": build(environment, folder), "tests": run(environment, folder, "-m", "pytest", "-q")}
    assert all(code for code, _ in told.values()), told
    return {how: output for how, (_, output) in told.items()}


@pytest.mark.parametrize("name", MISTAKEN)
def test_a_mistake_of_a_chapter_fails_the_build_which_says_it(mistaken, name):
    assert re.search(MISTAKEN[name][-1], mistaken["build"]), mistaken["build"]


@pytest.mark.parametrize("name", ["no_claim", "untagged", "twice"])
def test_a_mistake_that_is_seen_without_running_a_chapter_fails_the_tests_too(mistaken, name):
    assert re.search(MISTAKEN[name][-1], mistaken["tests"]), mistaken["tests"]


@pytest.mark.parametrize("how", ["build", "tests"])
def test_what_is_recorded_of_a_page_that_is_gone_is_said(mistaken, how):
    assert GONE in mistaken[how]


def test_a_wrong_theory_fails_the_tests_too_and_what_has_failed_is_not_kept(environment, built, tmp_path):
    folder, (old, new, message) = copied(built, tmp_path), MISTAKEN["wrong_law"]
    changed(folder, (old, new))
    for code, output in (run(environment, folder, "-m", "pytest", "-q", PAGE), build(environment, folder)):
        assert code and re.search(message, output), output


def test_a_cell_that_is_no_python_is_named_by_the_build_and_the_tests(environment, built, tmp_path):
    folder = copied(built, tmp_path)
    changed(folder, ("edge = 1", "edge = = 1"))
    for code, output in (run(environment, folder, "-m", "pytest", "-q", PAGE), build(environment, folder)):
        assert code and re.search(r"two_cycle.md, cell \d, line \d+: invalid syntax", output), output


def test_mistakes_of_the_ledger_are_said_once_and_plainly(environment, tmp_path):
    folder = copied(DEMO, tmp_path)
    kinds = ("kind: convergence", "kind: poem"), ("shown: observed", "shown: observed\n    colour: red")
    changed(folder, *kinds, name="book/claims/may1976.yml")
    code, output = run(environment, folder, "-m", "pytest", "-q")
    assert code and output.count("kind is 'poem', allowed: ") == output.count("unknown field colour") == 1
    code, built = build(environment, folder)
    assert code and "kind is 'poem'" in built and "unknown field colour" in built and "Handler" not in built
    assert re.search(r"may1976\.yml:\d+: may1976-fixed-point: ", built)


def test_a_claim_whose_name_is_computed_is_decided_once_too(environment, built, tmp_path):
    folder = copied(built, tmp_path)
    chaos = folder / "book" / "logistic_map" / "chaos.md"
    again = re.search(r"```{code-cell}.*```", chaos.read_text(), re.S)[0]
    again = again.replace('"may1976-ours-exponent"', 'str("may1976-ours-exponent")')
    (folder / PAGE).write_text(f"{(folder / PAGE).read_text()}\n{again}\n")
    code, output = build(environment, folder)
    assert code and "may1976-ours-exponent is decided on book/logistic_map/" in output, output
