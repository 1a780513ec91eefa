"""The README's two commands set up what they need, or say what is missing."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
OLDEST, NEWEST = (re.search(rf"^{name} := (.+)$", MAKEFILE, re.M)[1] for name in ("OLDEST", "NEWEST"))
FIND = "from tests.site.browser import find_browser; print(find_browser())"
WHERE = (
    "from playwright.sync_api import sync_playwright as p\nwith p() as q: print(q.chromium.executable_path)"
)


def run(*command, **variables):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        **{name: str(one) for name, one in variables.items()},
    }
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return done.returncode, (done.stdout + done.stderr).strip()


def test_all_files_name_the_same_versions_of_python():
    for file in ("pyproject.toml", "executable_claims/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
        assert project["project"]["requires-python"] == f">={OLDEST}"
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8"))
    weekly = re.search(r"\[(.*?)\]", workflow["jobs"]["book"]["strategy"]["matrix"]["python"])[1]
    [first, *_, last] = re.findall(r'"(.*?)"', weekly)
    assert (first, last) == (OLDEST, NEWEST)
    for page in ("README.md", "book/run_it.md"):
        assert f"Python {OLDEST} or newer" in (ROOT / page).read_text(encoding="utf-8"), page


def test_a_python_that_is_too_old_is_named_before_anything_is_installed(tmp_path):
    for file in ("pyproject.toml", "executable_claims/pyproject.toml", "constraints.txt"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.version_info = (3, 9, 1)")
    make = ("make", "-C", str(tmp_path), "-f", str(ROOT / "Makefile"), ".venv/installed")
    code, output = run(*make, f"PYTHON={sys.executable}", PYTHONPATH=tmp_path)
    assert code and f"needs Python {OLDEST} or newer, {sys.executable} is 3.9" in output
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def without(tmp_path):
    """Variables of an environment that has no Chromium."""
    return {"PATH": tmp_path / "bin", "PLAYWRIGHT_BROWSERS_PATH": tmp_path / "own"}


def test_the_browser_is_the_system_s_or_else_playwright_s_own(tmp_path, without):
    assert run(sys.executable, "-c", FIND, **without) == (0, "None")
    own = Path(run(sys.executable, "-c", WHERE, **without)[1])
    for path in (own, tmp_path / "bin" / "chromium"):
        path.parent.mkdir(parents=True)
        path.touch(0o755)
        assert run(sys.executable, "-c", FIND, **without) == (0, str(path))


@pytest.mark.parametrize("continuous", [False, True])
def test_tests_without_a_browser_are_counted_and_fail_in_continuous_integration(
    tmp_path, without, continuous
):
    test = tmp_path / "test_opened.py"
    test.write_text("def test_one(browser): pass\n\n\ndef test_another(browser): pass\n")
    command = ("-m", "pytest", "--rootdir", str(tmp_path), "-p", "tests.site.conftest", str(test))
    code, output = run(sys.executable, *command, **without, CI="true" if continuous else "")
    assert "to have one: .venv/bin/python -m playwright install chromium" in output, output
    assert code == continuous and ("2 tests of the site were left out" in output) != continuous
