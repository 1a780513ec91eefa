"""Pages are executed again when, and only when, something that they depend on has changed."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from dependencies import READERS, files, files_of, key, modules, with_experiments

from tests.book.test_book import BENCHMARKS, BOOK, CHAPTERS, EXECUTED, ROOT, code_cells, name

PAGES = [*EXECUTED, BENCHMARKS, *(BOOK / f"{page}.md" for page in ("comparison", "drift", "experiments"))]
# Those that train torch networks; those of saddle to saddle are drawn by torch, as in the authors' code.
WITH_TORCH = {
    "sigmoidal_curves/light_effect.md",
    "saddle_to_saddle/high_dimension.md",
    "early_alignment/real_digits.md",
    "early_alignment/one_layer.md",
    "gradient_starvation/forgetting.md",
    "gradient_starvation/common_practices.md",
    "gradient_starvation/coloured_digits.md",
    "gradient_starvation/two_moons.md",
    "gradient_starvation/who_starves_whom.md",
    "gradient_starvation/tangent_features.md",
    "gradient_starvation/rare_groups.md",
    "gradient_starvation/two_margins.md",
    "comparison.md",
    "experiments.md",
}
# What chapters without torch networks import.
WITHOUT_TORCH = "lib.flow lib.claims lib.theory lib.geometry lib.data lib.figures lib.experiments.registry"


def code(path):
    return "\n".join(cell.source for cell in code_cells(path))


def run(*command, **options):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=280, **options)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of what the pages depend on, to be changed."""
    root = tmp_path_factory.mktemp("book")
    for folder in ("lib", "book/_ext", "book/claims", "book/paper_values", "results"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "constraints.txt", root)
    return root


def keys(root):
    return {name(path): key(path.relative_to(ROOT), code(path), root) for path in PAGES}


def changed_by(root, path):
    """The pages whose key is another one after a line was added to a file."""
    before, content = keys(root), path.read_text(encoding="utf-8")
    path.write_text(content + "\n# changed\n", encoding="utf-8")
    after = keys(root)
    path.write_text(content, encoding="utf-8")
    return {page for page in before if before[page] != after[page]}


@pytest.mark.parametrize(
    "file",
    [
        "lib/theory/__init__.py",
        "lib/claims/verify.py",
        "lib/geometry/level_sets.py",
        "lib/training/ensembles.py",
        "lib/experiments/boursier2022.py",
        "book/_ext/paper_values.py",
    ],
)
def test_a_module_changes_the_keys_of_the_pages_that_import_it_and_no_others(copy, file):
    importing = {
        name(path) for path in PAGES if copy / file in files(path.relative_to(ROOT), code(path), copy)
    }
    assert 0 < len(importing) < len(PAGES)
    assert changed_by(copy, copy / file) == importing


@pytest.mark.parametrize(
    ("file", "pages"),
    [
        (
            "book/claims/min2024.yml",
            {"benchmarks.md", "drift.md", "how_it_works.md"}
            | {name(path) for path in CHAPTERS if re.search(r"\bmin2024-", code(path))},
        ),
        (
            "results/records/boursier2022-figure-6",
            {"saddle_to_saddle/high_dimension.md", "comparison.md", "experiments.md"},
        ),
        ("book/paper_values/combes2018.yml", {"comparison.md"}),
        ("results/benchmarks.json", {"benchmarks.md"}),
        ("constraints.txt", {name(path) for path in PAGES}),
        ("book/_ext/offline_site.py", set()),
    ],
)
def test_data_change_the_pages_on_all_papers_that_read_them_and_the_chapters_that_name_them(
    copy, file, pages
):
    path = copy / file
    changed = changed_by(copy, next(path.iterdir()) if path.is_dir() else path)
    assert changed == pages


def test_python_and_the_seed_change_every_key(copy, monkeypatch):
    before = keys(copy)
    monkeypatch.setenv("BOOK_SEED", "7")
    with_seed = keys(copy)
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert all(len({before[page], with_seed[page], now}) == 3 for page, now in keys(copy).items())


def test_what_is_imported_in_a_function_by_a_package_or_relatively_counts(tmp_path):
    package = tmp_path / "lib" / "part"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner import f")
    (package / "inner.py").write_text("def f():\n    import lib.late\n    from torch import nn")
    (tmp_path / "lib" / "late.py").write_text("")
    (package / "other.py").write_text("import numpy")
    inside, outside = modules("%matplotlib inline\nfrom lib.part import f", tmp_path)
    assert set(inside) == {"lib.part", "lib.part.inner", "lib.late"} and outside == {"torch"}


@pytest.mark.parametrize("reader", [reader for reader in READERS.values() if reader])
def test_every_module_that_reads_data_is_there(reader):
    assert [module for module, _ in files_of(reader, ROOT)][-1] == reader


def test_what_the_pages_import_when_they_run_is_what_was_found_in_their_source():
    """The other route: import what each page imports, and look at what has been loaded."""
    program = """
import ast, json, sys
for page, source in json.load(sys.stdin).items():
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lib", *LOCAL)]:
        del sys.modules[name]
    nodes = [node for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    exec(compile(ast.Module(nodes, []), page, "exec"), {})
    print(json.dumps([page, [name for name in sys.modules if name.partition(".")[0] in ("lib", *LOCAL)]]))
"""
    local = tuple(path.stem for path in (BOOK / "_ext").glob("*.py"))
    sources = {name(path): code(path) for path in PAGES}
    found = run(
        "-c",
        f"import sys; sys.path[:0] = {[str(ROOT), str(BOOK / '_ext')]!r}; LOCAL = {local!r}\n{program}",
        input=json.dumps(sources),
    )
    assert not found.returncode, found.stderr
    loaded = dict(map(json.loads, found.stdout.splitlines()))
    assert set(loaded) == set(sources)
    for page, names in loaded.items():
        assert set(names) <= set(modules(sources[page])[0]), page


# torch


def test_only_chapters_that_train_torch_networks_import_torch():
    found = {
        name(path)
        for path in PAGES
        if "torch" in modules(with_experiments(path.relative_to(ROOT), code(path)))[1]
    }
    assert found == WITH_TORCH


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


# A real build

PAGE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# Page

```{code-cell} python3
from lib.NAME import VALUE

print("outcome", VALUE)
```
"""
CONF = f"""
import sys

sys.path.insert(0, {str(BOOK / "_ext")!r})
extensions = ["myst_nb", "execution"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
exclude_patterns = ["_build"]
"""


@pytest.fixture
def tiny(tmp_path):
    """A book of two pages, each with a module of its own; building it returns what was executed and shown."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\none\ntwo\n```\n")
    for page in ("one", "two"):
        (tmp_path / "lib" / f"{page}.py").write_text("VALUE = 1\n")
        (tmp_path / f"{page}.md").write_text(PAGE.replace("NAME", page))

    def build(*options):
        done = run("-m", "sphinx", "-W", "-b", "html", *options, ".", "_build/html", cwd=tmp_path)
        pages = [tmp_path / "_build" / "html" / f"{page}.html" for page in ("one", "two")]
        text = "".join(page.read_text() for page in pages if page.exists())
        return sorted(re.findall(r"executed (\w+) in", done.stdout)), re.findall(r"outcome (\d)", text), done

    build.root = tmp_path
    return build


def test_only_the_pages_that_import_what_has_changed_are_executed_again(tiny):
    executed, shown, done = tiny()
    assert (executed, shown, done.returncode) == (["one", "two"], ["1", "1"], 0), done.stderr
    assert "TCP" not in done.stderr
    (tiny.root / "lib" / "two.py").write_text("VALUE = 2\n")
    assert tiny()[:2] == (["two"], ["1", "2"])
    (tiny.root / "one.md").write_text(PAGE.replace("NAME", "one") + "\nMore prose.\n")
    assert tiny("-E")[:2] == ([], ["1", "2"])
    (tiny.root / "lib" / "two.py").write_text("VALUE = 1\n")
    assert tiny()[:2] == ([], ["1", "1"]), "what was there before is not executed again"


def test_all_pages_run_and_every_failure_is_shown(tiny):
    broken = PAGE.replace("print", "1 / 0\nprint").replace("NAME", "one")
    (tiny.root / "one.md").write_text(broken)
    executed, shown, done = tiny("--keep-going")
    assert (executed, shown) == (["two"], []) and done.returncode
    assert "ZeroDivisionError" in done.stderr and "execution failed of one" in done.stderr


def test_an_outcome_is_not_kept_if_what_it_depends_on_changed_meanwhile(tiny):
    touches = "from pathlib import Path\n\nPath('lib/one.py').write_text('VALUE = 3')\nprint"
    (tiny.root / "one.md").write_text(PAGE.replace("print", touches).replace("NAME", "one"))
    executed, _, done = tiny()
    assert executed == ["two"] and done.returncode and "changed while it was executed" in done.stderr
    executed, shown, done = tiny()
    assert (executed, shown, done.returncode) == (["one"], ["3", "1"], 0)
