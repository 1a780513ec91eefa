"""A page of the book is executed again when, and only when, something that it reaches has changed."""

import json
import shutil
import subprocess
import sys

import pytest

from executable_claims.claims import ledger
from executable_claims.claims.configuration import find_book
from executable_claims.run.dependencies import find_module, key, reach
from executable_claims.site.extension import code_of_the_site
from tests.book.test_book import BENCHMARKS, BOOK, EXECUTED, ROOT, code_cells, name

PAGES = [*EXECUTED, BENCHMARKS, *(BOOK / f"{page}.md" for page in ("comparison", "experiments"))]
# Those that train torch networks; those of saddle to saddle are drawn by torch, as in the authors' code.
WITH_TORCH = {
    "sigmoidal_curves/small_print.md",
    "sigmoidal_curves/light_effect.md",
    "saddle_to_saddle/the_papers_75_inputs.md",
    "early_alignment/real_digits.md",
    "early_alignment/what_descent_adds.md",
    "early_alignment/small_print.md",
    "gradient_starvation/small_print.md",
    "gradient_starvation/common_practices.md",
    "gradient_starvation/coloured_digits.md",
    "gradient_starvation/two_moons.md",
    "gradient_starvation/who_starves_whom.md",
    "gradient_starvation/rare_groups.md",
    "gradient_starvation/two_margins.md",
    "synthesis/ordinary_training.md",
    "comparison.md",
    "experiments.md",
}
# What chapters without torch networks import.
WITHOUT_TORCH = (
    "lib.flow lib.theory lib.geometry lib.data.digits lib.data.synthetic lib.data.two_inputs lib.figures "
    "experiments.claims experiments.clusters experiments.fates experiments.regimes"
)
TRACED = (
    "neuron_clustering/digits.md",
    "early_alignment/staircase.md",
    "gradient_starvation/dual_problem.md",
)


def code(path):
    return "\n".join(cell.source for cell in code_cells(path))


def run(*command, **options):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=280, **options)


FOLDERS = ("lib", "experiments", "executable_claims", "book", "results")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the pages depend on, to be changed."""
    root = tmp_path_factory.mktemp("book")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    for file in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / file, root)
    return root


def keys(root):
    book = find_book(root)
    return {name(path): key(root / path.relative_to(ROOT), book) for path in PAGES}


@pytest.fixture(scope="module")
def before(copy):
    """The keys of the copy as it is."""
    return keys(copy)


@pytest.fixture(scope="module")
def changed_by(copy, before):
    """The pages whose key is another one after a change of the text of a file, or of some files."""

    def changed(change, *files):
        contents = {copy / file: (copy / file).read_text(encoding="utf-8") for file in files}
        for path, content in contents.items():
            assert change(content) != content
            path.write_text(change(content), encoding="utf-8")
        ledger._papers.cache_clear()
        after = keys(copy)
        for path, content in contents.items():
            path.write_text(content, encoding="utf-8")
        ledger._papers.cache_clear()
        return {page for page in before if before[page] != after[page]}

    return changed


@pytest.fixture(scope="module")
def reached():
    """What each page reaches."""
    return {name(path): reach(path, find_book(ROOT)) for path in PAGES}


def test_a_remark_and_a_docstring_change_no_key(changed_by):
    def remark(text):
        return text.replace('"""', '"""Another sentence.  ', 1) + "\n# a remark\n"

    files = ("lib/models/deep.py", "lib/flow/weights.py", "executable_claims/claims/verify.py")
    assert changed_by(remark, *files) == set()


@pytest.mark.parametrize(
    ("module", "name"), [("lib.models.deep", "gradients"), ("lib.geometry.level_sets", "zero_level_set")]
)
def test_a_definition_changes_the_pages_that_reach_it(changed_by, reached, module, name):
    changed = changed_by(lambda text: text + f"\n{name} = {name}\n", f"{module.replace('.', '/')}.py")
    assert changed == {page for page, found in reached.items() if (module, name) in found.names}
    assert 0 < len(changed) < len(PAGES)


def test_what_a_module_does_when_it_is_imported_changes_all_that_reach_it(changed_by, reached):
    changed = changed_by(lambda text: text + "\nprint()\n", "lib/training/ensembles.py")
    assert changed == {page for page, found in reached.items() if "lib.training.ensembles" in found.modules}
    assert 0 < len(changed) < len(PAGES)


@pytest.mark.parametrize(
    ("file", "pages"),
    [
        (
            "results/records/boursier2022-figure-6/full.json",
            {
                "saddle_to_saddle/the_papers_75_inputs.md",
                "comparison.md",
                "experiments.md",
            },
        ),
        ("book/paper_values/combes2018.yml", {"comparison.md", "experiments.md"}),
        ("results/benchmarks.json", {"benchmarks.md"}),
        ("constraints.txt", {name(path) for path in PAGES}),
        ("book/_site/lean_pages.py", set()),
    ],
)
def test_data_change_the_pages_on_all_papers_that_read_them_and_the_chapters_that_name_them(
    changed_by, file, pages
):
    assert changed_by(lambda text: text + "\n", file) == pages


def test_a_claim_changes_the_chapter_that_names_it_and_the_pages_on_all_papers(changed_by):
    claim = "min2024-lem3"
    whole = {name(path) for path in PAGES if path.parent == BOOK}
    naming = {name(path) for path in PAGES if f'"{claim}"' in code(path)}
    assert naming

    def moved(text):
        head, line, rest = text.partition(f"id: {claim}\n")
        return head + line + rest.replace('place: "', 'place: "There, ', 1)

    assert changed_by(moved, "book/claims/min2024.yml") == naming | whole


@pytest.mark.parametrize(
    ("file", "change", "reads_anew"),
    [
        ("experiments/evidence.py", ("_build/anew", "_build/new"), True),
        ("book/_site/templates/foot.html", ("<", " <"), True),
        ("executable_claims/site/cards.py", ("as it must", "as is right"), True),
        ("lib/models/deep.py", ("def gradients", "def other"), False),
        ("experiments/evidence.py", ("from __future__", "# a remark\nfrom __future__"), False),
    ],
)
def test_the_pages_are_read_anew_when_what_makes_them_has_changed(copy, file, change, reads_anew):
    path, known = copy / file, code_of_the_site(copy)
    content = path.read_text(encoding="utf-8")
    assert change[0] in content
    path.write_text(content.replace(*change, 1), encoding="utf-8")
    after = code_of_the_site(copy)
    path.write_text(content, encoding="utf-8")
    assert (after != known) == reads_anew


def test_python_and_the_seed_change_every_key(copy, before, monkeypatch):
    monkeypatch.setenv("BOOK_SEED", "7")
    with_seed = keys(copy)
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert all(len({before[page], with_seed[page], now}) == 3 for page, now in keys(copy).items())


@pytest.mark.parametrize("reader", sorted(filter(None, find_book(ROOT).data)))
def test_every_module_that_reads_data_is_there(reader):
    assert find_module(reader, find_book(ROOT)) is not None


TRACE = """
import cProfile, json, os, sys
from pathlib import Path

import matplotlib

page, root = Path(sys.argv[1]), sys.argv[2]
ours = tuple(f"{root}/{name}/" for name in ("lib", "experiments", "executable_claims"))
matplotlib.use("Agg")
os.chdir(page.parent)
sys.path[:0] = [root, f"{root}/book/_site"]
source, profile = compile(json.load(sys.stdin), str(page), "exec"), cProfile.Profile()
profile.runctx(source, {"__name__": "__main__"}, None)
ran = set()
for code in (entry.code for entry in profile.getstats()):
    # The body of a class runs when it is imported; only functions have optimised locals.
    if not isinstance(code, str) and code.co_flags & 1 and code.co_filename.startswith(ours):
        path = Path(code.co_filename).relative_to(root).with_suffix("").as_posix()
        name = code.co_qualname.partition(".")[0]
        ran.add((path.removesuffix("/__init__").replace("/", "."), name))
print(json.dumps(sorted(ran)))
"""


@pytest.mark.parametrize("page", TRACED)
def test_what_a_chapter_runs_is_what_was_found_in_its_source(reached, page):
    """The other route: run the chapter, and note every function of the book that is called."""
    found = reached[page]
    traced = run("-c", TRACE, str(BOOK / page), str(ROOT), input=json.dumps(code(BOOK / page)))
    assert not traced.returncode, traced.stderr
    ran = {tuple(each) for each in json.loads(traced.stdout.splitlines()[-1])}
    assert len(ran) > 10 and {module for module, _ in ran} <= set(found.modules)
    defined = {(module, each) for module, each in ran if each in found.modules[module]}
    assert len(defined) > 5 and defined <= found.names


# torch


def test_only_chapters_that_train_torch_networks_import_torch(reached):
    assert {page for page, found in reached.items() if "torch" in found.outside} == WITH_TORCH


def test_what_other_chapters_import_does_not_load_torch():
    program = f"""
import importlib, pkgutil, sys
for name in {WITHOUT_TORCH.split()!r}:
    module = importlib.import_module(name)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", [])):
        importlib.import_module(f"{{name}}.{{inner.name}}")
    assert "torch" not in sys.modules, name
"""
    found = run("-c", program, cwd=ROOT)
    assert not found.returncode, found.stderr
