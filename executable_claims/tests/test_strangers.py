"""Four users: a test file about a law, a notebook, Sphinx alone, a book just begun; and their mistakes."""

import json
import re
import shutil
import tarfile
import zipfile
from pathlib import Path

import jsonschema
import nbformat
import pytest
import yaml
from installed import ENGINE, copy_sources, run

from executable_claims.claims.configuration import find_book
from executable_claims.run.plugin import mistakes, undecided

DEMO = Path(__file__).parent / "demo"
LAW = """import numpy as np

from executable_claims import Variant, verify


def period(length, steps=2000):
    \"\"\"Let a pendulum fall from an angle of a thousandth, in small steps; four falls are a period.\"\"\"
    angle, speed, step = 1e-3, 0.0, np.sqrt(length) / steps
    time = 0.0
    while angle > 0:
        speed -= 9.81 / length * np.sin(angle) * step
        angle += speed * step
        time += step
    return 4 * (time + angle / abs(speed))


def test_the_period_of_a_pendulum():
    lengths = np.array([0.1, 0.5, 2.0])
    verify(
        "The period of a small swing is two pi times the root of length over gravity.",
        measured=[period(length) for length in lengths],
        predicted=2 * np.pi * np.sqrt(lengths / 9.81),
        rtol=2e-3,
        because="steps of a two-thousandth of the root of the length, to first order",
        control=[
            Variant("as the length", predicted=2 * np.pi * lengths / 9.81),
            Variant("half a swing", predicted=np.pi * np.sqrt(lengths / 9.81)),
        ],
    )
"""
WRONG = ("2 * np.pi * np.sqrt(lengths / 9.81)", "6.2 * np.sqrt(lengths / 9.81)")


@pytest.fixture
def project(tmp_path):
    """A folder that is no book."""
    (tmp_path / "test_law.py").write_text(LAW)
    return tmp_path


def run_tests(environment, folder, *options):
    return run(environment, folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options)


# A plain test file


def test_a_plain_test_decides_a_sentence_and_the_run_lists_how_sharply(environment, project):
    code, output = run_tests(environment, project, "--claims")
    assert code == 0, output
    table = output.partition("= claims =")[2]
    assert re.search(r"verified +would notice 0\.2\d? % +\d+ +The period of a small swing", table), output
    assert "= claims =" not in run_tests(environment, project)[1]


def test_a_wrong_law_fails_a_plain_test_which_lists_the_entries_and_shows_the_callers_line(
    environment, project
):
    (project / "test_law.py").write_text(LAW.replace(*WRONG, 1))
    code, output = run_tests(environment, project)
    assert code == 1 and "entry" in output and "(3 of 3 entries outside)" in output, output
    assert all(f"[{k}]" in output for k in range(3)) and "verify.py" not in output


def test_a_forgotten_control_is_told_what_a_control_is(environment, project):
    text = re.sub(r"        control=\[.*?\n        \],\n", "", LAW, flags=re.S)
    (project / "test_law.py").write_text(text)
    code, output = run_tests(environment, project)
    assert code == 1 and "a theory that a reasonable person could have believed" in output, output


def test_an_id_without_a_book_is_told_that_a_sentence_would_do(environment, project):
    text = re.sub(r'"The period of .*?"', '"pendulum"', LAW)
    (project / "test_law.py").write_text(text)
    code, output = run_tests(environment, project)
    assert code == 1 and "claim is 'pendulum', allowed: a sentence" in output, output


def test_a_run_that_is_no_books_brings_nothing_of_the_engine(environment, project):
    test = "import sys\n\n\ndef test_nothing_is_there():\n    assert not wanted & {*sys.modules}\n"
    wanted = '{"executable_claims.claims.verify", "executable_claims.run", "executable_claims.claims.ledger"}'
    (project / "test_law.py").write_text(test.replace("wanted", wanted))
    code, output = run_tests(environment, project)
    assert code == 0, output


# A plain notebook


@pytest.mark.parametrize("wrong", [False, True])
def test_a_plain_notebook_shows_its_verdict(environment, project, wrong):
    text = LAW.replace(*WRONG, 1) if wrong else LAW
    law, _, check = text.partition("def test_the_period_of_a_pendulum():\n")
    cells = [law, re.sub("^    ", "", check, flags=re.M)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, project / "law.ipynb")
    program = "import nbformat as f, nbclient as c; f.write(c.execute(f.read('law.ipynb', 4)), 'law.ipynb')"
    code, output = run(environment, project, "-c", program)
    assert bool(code) == wrong, output
    if wrong:
        assert "fails: measured" in output and "entries outside" in output
    else:
        shown = nbformat.read(project / "law.ipynb", 4).cells[-1].outputs[0].data
        assert shown["text/plain"].startswith("verified: The period of")
        assert "<pre>verified" in shown["text/html"]


# Sphinx alone


def test_sphinx_alone_builds_a_book_and_refuses_to_execute_it_twice(environment, tmp_path):
    folder = shutil.copytree(DEMO, tmp_path / "demo", ignore=shutil.ignore_patterns("_build", "__pycache__"))
    for name in ("_config.yml", "_toc.yml"):
        (folder / name).unlink()
    index, pages = folder / "book/index.md", "logistic_map/two_cycle\nlogistic_map/chaos\npaper\nscorecard"
    index.write_text(f"{index.read_text()}\n```{{toctree}}\n{pages}\n```\n")
    settings = """
project, author = "The logistic map", "The contributors"
extensions = ["myst_nb", "executable_claims.site"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath", "fieldlist"]
nb_execution_mode = "cache"
root_doc = "book/index"
exclude_patterns = ["_build"]
"""
    (folder / "conf.py").write_text(settings)
    command = ("-m", "sphinx", "-W", "--keep-going", "-b", "html", ".", "_build/html")
    code, output = run(environment, folder, *command)
    assert code == 0 and output.count("executed ") == 2, output
    assert "claim-card" in (folder / "_build/html/book/logistic_map/two_cycle.html").read_text()
    (folder / "conf.py").write_text(settings.replace('"cache"', '"auto"'))
    code, output = run(environment, folder, *command)
    assert code and "nb_execution_mode is 'auto', allowed: cache" in output, output


# A book that has just begun


@pytest.fixture(scope="module")
def begun(environment, tmp_path_factory):
    """A book made by ``init``."""
    folder = tmp_path_factory.mktemp("begun") / "law"
    code, output = run(environment, folder.parent, "-m", "executable_claims", "init", "law")
    assert code == 0 and "pytest" in output, output
    return folder


def book(begun, folder, *changes):
    """A copy of the book with texts of files changed."""
    made = shutil.copytree(begun, folder / "law", ignore=shutil.ignore_patterns("_build", "__pycache__"))
    for name, old, new in changes:
        text = (made / name).read_text()
        assert old in text
        (made / name).write_text(text.replace(old, new))
    return made


def test_a_book_that_begins_passes_its_tests_and_builds_and_a_wrong_law_fails(environment, begun, tmp_path):
    code, output = run(environment, begun, "-m", "pytest", "-q")
    assert code == 0 and "passed" in output, output
    program = "from jupyter_book.cli.main import main; main()"
    code, output = run(environment, begun, "-c", program, "build", ".", "-W", "-n", "--keep-going")
    assert code == 0 and "executed" not in output, output
    site = begun / "_build" / "html"
    assert "verified" in (site / "book" / "first_part" / "chapter.html").read_text()
    assert (site / "c" / "paper2024-thm-1.html").exists()
    wrong = book(begun, tmp_path, (CHAPTER, "np.exp(-rate * t)", "np.exp(-rate * t / 1.01)"))
    code, output = run(environment, wrong, "-m", "pytest", "-q")
    assert code == 1 and "paper2024-thm-1 (Theorem 1, rate) fails at family" in output, output


def test_a_book_is_not_written_over_another(environment, begun):
    code, output = run(environment, begun.parent, "-m", "executable_claims", "init", "law")
    assert code == 2 and "is not empty, allowed: a new or an empty one" in output, output


CHAPTER = "book/first_part/chapter.md"
LEDGER = "book/claims/paper2024.yml"


def said(folder):
    """What is wrong with a book, without running it."""
    found = find_book(folder)
    return [*(text for _, text in mistakes(found)), *undecided(found)]


def test_verdicts_that_are_shown_otherwise_are_understood_or_named(begun, tmp_path):
    assert said(begun) == []
    dotted = ("from executable_claims import Variant, verify", "import executable_claims as ec")
    named = book(begun, tmp_path / "a", (CHAPTER, *dotted), (CHAPTER, "\nverify(", "\nec.verify("))
    assert said(named) == []
    shown = (CHAPTER, "share=0.5),\n)\n", "share=0.5),\n)\nv\n")
    kept = (CHAPTER, "\nverify(", "\nv = verify(")
    assert said(book(begun, tmp_path / "b", kept, shown)) == []
    texts = said(book(begun, tmp_path / "c", kept))
    assert any("v keeps a verdict; allowed: a cell that ends with it" in text for text in texts)


def test_a_claim_that_nobody_decides_is_named_unless_it_is_said_or_the_book_is_not_strict(begun, tmp_path):
    more = (
        "errata: []",
        """  - id: paper2024-thm-2
    place: Theorem 2
    about: Theorem 2
    kind: identity
    in_words: Something else is true, and nobody has looked.
    statement: Something else.
    expected: verified

errata: []""",
    )
    folder = book(begun, tmp_path / "a", (LEDGER, *more))
    assert said(folder) == ["paper2024-thm-2 is expected: verified, and no cell decides it; allowed: not yet"]
    loose = ("pyproject.toml", "[tool.executable-claims]", "[tool.executable-claims]\nstrict = false")
    assert said(book(begun, tmp_path / "b", (LEDGER, *more), loose)) == []
    later = (
        LEDGER,
        "nobody has looked.\n    statement: Something else.\n    expected: verified",
        "nobody has looked.\n    statement: Something else.\n    expected: not yet",
    )
    assert said(book(begun, tmp_path / "c", (LEDGER, *more), later)) == []


def test_the_tests_of_a_whole_book_fail_for_a_claim_that_nobody_decides(environment, begun, tmp_path):
    twice = (LEDGER, "id: paper2024-thm-1", "id: paper2024-thm-2")
    folder = book(begun, tmp_path, twice)
    code, output = run(environment, folder, "-m", "pytest", "-q")
    assert code and "paper2024-thm-2 is expected: verified, and no cell decides it" in output, output


def test_what_looks_like_a_chapter_and_is_not_run_is_named(begun, tmp_path):
    headless = book(begun, tmp_path / "a", (CHAPTER, "    format_name: myst\n", ""))
    assert any(f"{CHAPTER} has cells and is not run" in text for text in said(headless))
    folder = book(begun, tmp_path / "b")
    (folder / "book/other.ipynb").write_text("{}")
    assert said(folder) == ["book/other.ipynb is not run, allowed: what 'jupytext --to md:myst' makes of it"]
    sentence = book(begun, tmp_path / "c", (CHAPTER, '"paper2024-thm-1"', '"What decays is left."'))
    assert any(
        "decides 'What decays is left.', allowed: the id of an entry" in text for text in said(sentence)
    )


@pytest.mark.parametrize("command", ["attack", "seeds", "kernels"])
def test_a_command_that_finds_no_chapter_fails_and_one_beside_the_index_is_found(
    environment, begun, tmp_path, command
):
    module = f"executable_claims.run.{command}"
    folder = book(begun, tmp_path)
    (folder / CHAPTER).rename(folder / "book/chapter.md")
    if command == "seeds":
        code, output = run(environment, folder, "-m", module)
        assert code == 0 and "chapter: no verdict changed under 20 shifts" in output, output
    (folder / "book/chapter.md").unlink()
    code, output = run(environment, folder, "-m", module)
    assert code == 2 and "no chapter lies in" in output, output


def test_a_colon_in_a_text_of_the_ledger_is_told_to_stand_in_quotes(environment, begun, tmp_path):
    folder = book(begun, tmp_path, (LEDGER, 'place: "Theorem 1, rate"', "place: Theorem 1: rate"))
    code, output = run(environment, folder, "-m", "pytest", "-q")
    assert code and "stands in quotes" in output, output


# The package


def test_the_wheel_and_the_source_hold_what_is_needed_and_leave_nothing_behind(environment, tmp_path):
    source = tmp_path / "executable_claims"
    copy_sources(source)
    program = "from setuptools import build_meta as b; b.build_wheel('..'); b.build_sdist('..')"
    code, output = run(environment, source, "-c", program)
    assert code == 0, output
    [wheel], [archive] = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    names = {*zipfile.ZipFile(wheel).namelist()}
    wanted = {
        path.relative_to(ENGINE).as_posix() for path in (ENGINE / "templates").rglob("*") if path.is_file()
    }
    wanted |= {"py.typed", "schemas/ledger.json", "schemas/claims.json", "site/static/executable_claims.css"}
    assert {f"executable_claims/{name}" for name in wanted} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    with tarfile.open(archive) as packed:
        assert any(name.endswith("/LICENSE") for name in packed.getnames())
    assert not (source / "build").exists()
    script = (
        "from executable_claims import Variant, verify\n"
        "one = {'measured': 1.0, 'predicted': 1.0, 'rtol': 1e-9, 'because': 'it is'}\n"
        "print(verify('It is one.', **one, control=Variant('two', predicted=2.0)))"
    )
    code, output = run({**environment, "PYTHONPATH": str(wheel)}, tmp_path, "-c", script)
    assert code == 0 and output.startswith("verified: It is one."), output


def test_ledgers_and_what_a_build_found_are_as_their_schemas_say(environment, begun):
    schema = json.loads((ENGINE / "schemas/ledger.json").read_text())
    for path in (DEMO / "book/claims/may1976.yml", begun / LEDGER):
        ledger = yaml.safe_load(path.read_text())
        jsonschema.validate(ledger, schema)
        ledger["claims"][0]["kind"] = "poem"
        with pytest.raises(jsonschema.ValidationError, match="'poem' is not one of"):
            jsonschema.validate(ledger, schema)
    found = json.loads((begun / "_build/html/claims.json").read_text())
    schema = json.loads((ENGINE / "schemas/claims.json").read_text())
    jsonschema.validate(found, schema)
    del found["claims"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError, match="'verdict' is a required"):
        jsonschema.validate(found, schema)
