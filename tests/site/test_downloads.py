"""A downloaded chapter runs where it lands: in an empty folder, in an environment without the book."""

import os
import shutil
import subprocess
import sysconfig
import venv

import nbformat
import pytest

CHAPTERS = (
    "sigmoidal_curves/closed_form",
    "saddle_to_saddle/two_points",
    "neuron_clustering/smoothed_margin",
)
RUN = "import nbformat as f, nbclient as c; f.write(c.execute(f.read('chapter.ipynb', 4)), 'chapter.ipynb')"


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """The Python of an environment with the packages of this one, without the book."""
    folder = tmp_path_factory.mktemp("jupyter")
    venv.create(folder, with_pip=True, symlinks=True)
    base = {"base": str(folder), "platbase": str(folder)}
    # Lines of this file are not read for links to what is being edited, as the book's own are.
    beside = os.path.join(sysconfig.get_path("purelib", vars=base), "packages.pth")
    with open(beside, "w") as file:
        file.write(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return folder / "bin" / "python"


def verdicts(notebook):
    """What the checks of a notebook say."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    texts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    return [text for text in texts if text.startswith(("verified", "corrected", "refuted", "stand-in"))]


def run_in(jupyter, folder, *arguments):
    known = ("PYTHONPATH", "EXECUTABLE_CLAIMS_BOOK", "JUPYTER_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in known}
    environment |= {
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_INDEX": "1",
        "PATH": f"{jupyter.parent}:{os.environ['PATH']}",
    }
    command = [jupyter, *(arguments or ("-c", RUN))]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs_where_it_lands_and_says_what_the_page_says(site, jupyter, tmp_path, name):
    shutil.copy(site / "_sources" / "book" / f"{name}.ipynb", tmp_path / "chapter.ipynb")
    known = verdicts(nbformat.read(tmp_path / "chapter.ipynb", 4))
    assert known
    done = run_in(jupyter, tmp_path)
    assert done.returncode and "beside this notebook has to lie learning_dynamics_executed-" in done.stderr
    [wheel] = (site / "_static" / "wheels").glob("*.whl")
    assert wheel.stat().st_size < 1e6
    shutil.copy(wheel, tmp_path)
    done = run_in(jupyter, tmp_path)
    assert done.returncode == 0, done.stderr
    assert verdicts(nbformat.read(tmp_path / "chapter.ipynb", 4)) == known
    run_in(
        jupyter, tmp_path, "-m", "pip", "uninstall", "--yes", "learning-dynamics-executed"
    ).check_returncode()


def test_the_labels_of_a_notebook_are_numbers(site):
    for path in sorted((site / "_sources").rglob("*.ipynb")):
        prose = "\n".join(
            cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"
        )
        assert "$$ (" not in prose and "the theorem the theorem" not in prose, path.name
